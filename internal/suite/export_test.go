package suite

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/doc"
)

// section is a table of docs/migrate.md.
type section struct {
	title  string // of its first column
	within string // before keys
	rows   []row
}

// MigrateTables returns the tables of a format for docs/migrate.md, and the types of graders that none of their rows
// has, or several have.
func MigrateTables(format string) (page string, amiss []string) {
	sections := map[string][]section{
		"agentv": {
			{"key of the suite", "", agentvKeys},
			{"key of a test", "", agentvTestKeys},
			{"assertion", "", agentvFates},
		},
		"promptfoo": {
			{"key of the configuration", "", promptfooKeys},
			{"key of a test", "", testKeys},
			{"key of `options`", "", testOptionKeys},
			{"key of an assertion", "", assertKeys},
			{"assertion", "", slices.Concat(assertFates, refusals(unmapped))},
		},
		"waza": {
			{"key of eval.yaml", "", wazaKeys},
			{"key of `config`", "config.", wazaConfigKeys},
			{"key of a task", "", wazaTaskKeys},
			{"key of `inputs`", "inputs.", wazaInputKeys},
			{"key of `expected`", "expected.", wazaExpectedKeys},
			{"key of a grader", "", wazaGraderKeys},
			{"grader", "", wazaFates()},
		},
	}[format]
	var out strings.Builder
	for i, s := range sections {
		if i > 0 {
			out.WriteByte('\n')
		}
		out.WriteString("| " + s.title + " | here |\n|---|---|\n")
		var lines []doc.Pair // names, and what becomes of them
		for _, r := range s.rows {
			names := "`" + s.within + strings.Join(strings.Fields(r.key), "`, `"+s.within) + "`"
			what := r.becomes
			switch {
			case r.left != "":
				what = "left out, which is told: " + r.left
			case r.refused != "":
				what = "**an error**: " + r.refused
			}
			at := slices.IndexFunc(lines, func(l doc.Pair) bool { return l.Value == what })
			if what == "the same" {
				at = len(lines) - 1
			}
			if at >= 0 {
				lines[at].Key += ", " + names
			} else {
				lines = append(lines, doc.Pair{Key: names, Value: what})
			}
		}
		for _, l := range lines {
			fmt.Fprintf(&out, "| %s | %s |\n", l.Key, l.Value)
		}
	}
	for _, types := range []struct {
		format string
		names  []string
		rows   []row
	}{
		{"agentv", slices.Sorted(maps.Keys(agentvTypes())), agentvFates},
		{"promptfoo", slices.Sorted(maps.Keys(assertTypes)), assertFates},
	} {
		var told []string
		for _, r := range types.rows {
			told = append(told, strings.Fields(r.key)...)
		}
		if slices.Sort(told); types.format == format && !slices.Equal(told, types.names) {
			amiss = append(told, types.names...)
		}
	}
	return out.String(), amiss
}

// refusals are types with the same reason in one row each.
func refusals(reasons map[string]string) (rows []row) {
	for _, name := range slices.Sorted(maps.Keys(reasons)) {
		i := slices.IndexFunc(rows, func(r row) bool { return r.refused == reasons[name] })
		if i < 0 {
			rows = append(rows, row{name, no(reasons[name])})
			continue
		}
		rows[i].key += " " + name
	}
	return rows
}

// wazaFates are the types of graders of waza.
func wazaFates() (rows []row) {
	types := wazaTypes()
	for _, name := range slices.Sorted(maps.Keys(types)) {
		rows = append(rows, row{name, types[name].fate})
	}
	return rows
}
