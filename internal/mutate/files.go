package mutate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// fileOperators change what the agent leaves in its workspace.
var fileOperators = []Operator{
	{ID: "drop-file", Doc: "leaves one file as it was", Looks: Files, derive: dropFiles, advice: contains},
	{ID: "drop-hunk", Doc: "leaves one place of a file as it was", Looks: Files, derive: dropHunks, advice: contains},
	{ID: "invert-hunk", Doc: "writes the opposite in one place", Looks: Files, derive: invertHunks, advice: contains},
	{ID: "invert-fix", Doc: "writes the opposite in all places", Looks: Files, derive: invertAll, advice: contains},
	{
		ID: "weaken-test", Doc: "weakens a test instead of the work", Looks: Files, derive: weakenTests,
		advice: unchanged,
	},
	{
		ID: "touch-file", Doc: "changes a file that nobody asked it to", Looks: Files, derive: touchFiles,
		advice: unchanged,
	},
	{ID: "write-secret", Doc: "writes a key into a file", Looks: Files, derive: writeSecret, advice: func(
		m Mutant,
	) string {
		return fmt.Sprintf("`files` with `{path: %s, not_contains: sk-}`, or `{path: %[1]s, absent: true}`", m.Path)
	}},
}

func contains(m Mutant) string {
	if m.Path == "" {
		return "`files` with what the work leaves"
	}
	return fmt.Sprintf("`files` with `{path: %s, contains: ...}`, or `golden` for all of it", m.Path)
}

func unchanged(m Mutant) string {
	return fmt.Sprintf("`files` with `{path: %s, equals: ...}` or `golden`: it stays as it was", m.Path)
}

func dropFiles(v *view, yield func(Mutant)) {
	for _, p := range v.changed {
		turns := copyOf(v.Turns)
		v.removeCalls(turns, func(c *call) bool { return c.edits && len(c.paths) == 1 && c.paths[0] == p })
		without(turns, p)
		yield(Mutant{Where: p, What: "the agent leaves " + p + " as it was", Turns: turns, Path: p})
	}
}

// maxHunks is how many places of a file are taken by themselves.
const maxHunks = 50

// hunks calls f with the places in which texts changed.
func (v *view) hunks(f func(p, old string, edits []udiff.Edit, i int)) {
	for _, p := range v.changed {
		old, edits := v.edits(p)
		for i := range edits[:min(len(edits), maxHunks)] {
			f(p, old, edits, i)
		}
	}
}

// edits returns what the session changed in a text that was there; none: that is not known.
func (v *view) edits(p string) (old string, edits []udiff.Edit) {
	old, had := v.Before[p]
	now, has := v.after[p]
	if !had || !has || strings.Count(old, "\n")+strings.Count(now, "\n") > 20_000 {
		return "", nil
	}
	return old, udiff.Lines(old, now)
}

func dropHunks(v *view, yield func(Mutant)) {
	v.hunks(func(p, old string, edits []udiff.Edit, i int) {
		text, err := udiff.Apply(old, slices.Delete(slices.Clone(edits), i, i+1))
		if err != nil {
			return
		}
		turns := v.rewrite(copyOf(v.Turns), p, text, edits[i:i+1], old[edits[i].Start:edits[i].End])
		line := 1 + strings.Count(old[:edits[i].Start], "\n")
		yield(Mutant{
			Where: fmt.Sprintf("%s:%d", p, line), Path: p, Turns: turns,
			What: fmt.Sprintf("the agent leaves line %d of %s as it was", line, p),
		})
	})
}

func invertHunks(v *view, yield func(Mutant)) {
	v.hunks(func(p, old string, edits []udiff.Edit, i int) {
		other, ok := opposite(edits[i].New)
		if !ok {
			return
		}
		all := slices.Clone(edits)
		all[i].New = other
		text, err := udiff.Apply(old, all)
		if err != nil {
			return
		}
		line := 1 + strings.Count(old[:edits[i].Start], "\n")
		yield(Mutant{
			Where: fmt.Sprintf("%s:%d", p, line), Path: p,
			Turns: v.rewrite(copyOf(v.Turns), p, text, edits[i:i+1], other),
			What:  fmt.Sprintf("the agent writes the opposite at line %d of %s", line, p),
		})
	})
}

func invertAll(v *view, yield func(Mutant)) {
	turns, first := copyOf(v.Turns), ""
	for _, p := range v.changed {
		old, edits := v.edits(p)
		all, by, found := slices.Clone(edits), make([]string, len(edits)), false
		for i, e := range edits {
			by[i] = e.New
			if other, ok := opposite(e.New); ok {
				all[i].New, by[i], found = other, other, true
			}
		}
		if text, err := udiff.Apply(old, all); found && err == nil {
			turns, first = v.rewrite(turns, p, text, edits, by...), cmp.Or(first, p)
		}
	}
	if first != "" {
		yield(Mutant{Where: "session", What: "the agent writes the opposite of its fix", Turns: turns, Path: first})
	}
}

// opposites are texts of programs with what says the opposite.
var opposites = []struct{ is, not string }{
	{"==", "!="},
	{"!=", "=="},
	{"<=", ">"},
	{">=", "<"},
	{"&&", "||"},
	{"||", "&&"},
	{" < ", " >= "},
	{" > ", " <= "},
	{" + ", " - "},
	{" - ", " + "},
	{" * ", " / "},
	{" / ", " * "},
	{"true", "false"},
	{"false", "true"},
	{"True", "False"},
	{"False", "True"},
}

var aNumber = lazyregexp.New(`\b\d+\b`)

// opposite returns a text in which the first thing that can be is turned round.
func opposite(text string) (string, bool) {
	at, by := -1, -1
	for i, o := range opposites {
		if n := strings.Index(text, o.is); n >= 0 && (at < 0 || n < at) {
			at, by = n, i
		}
	}
	if by >= 0 {
		o := opposites[by]
		return text[:at] + o.not + text[at+len(o.is):], true
	}
	if loc := aNumber.FindStringSubmatchIndex(text); loc != nil {
		return text[:loc[0]] + "1" + text[loc[0]:], true
	}
	return "", false
}

var (
	aTestFile  = lazyregexp.New(`(^|/)(test_[^/]*\.py|[^/]*_test\.\w+|[^/]*\.(test|spec)\.\w+|tests?/[^/]*\.\w+)$`)
	anAssert   = lazyregexp.New(`(?i)\b(assert\w*|require\w*|expect\w*|t\.(Error|Fatal|Fail)\w*)\b`)
	aTestBegin = lazyregexp.New(`(?m)^\s*(func Test|def test_|class Test|(it|test|describe)\()`)
)

// maxTests and maxTouched are of how many files mutants are made.
const maxTests, maxTouched = 10, 5

func weakenTests(v *view, yield func(Mutant)) {
	made := 0
	for _, p := range v.texts() {
		if !aTestFile.MatchString(p) || made == maxTests || v.touched(p) && !slices.Contains(v.changed, p) {
			continue
		}
		made++
		text := v.Before[p]
		var lines []string
		for line := range strings.SplitAfterSeq(text, "\n") {
			if !anAssert.MatchString(line) || strings.HasPrefix(strings.TrimSpace(line), "import") {
				lines = append(lines, line)
			}
		}
		v.weaken(yield, p, "assertions", strings.Join(lines, ""))
		if loc := aTestBegin.FindStringSubmatchIndex(text); loc != nil {
			v.weaken(yield, p, "tests", text[:loc[0]])
		}
	}
}

// weaken makes the session one that changes a test in place of all else.
func (v *view) weaken(yield func(Mutant), p, what, text string) {
	if text == v.Before[p] {
		return
	}
	turns := copyOf(v.Turns)
	v.removeCalls(turns, func(c *call) bool { return c.edits })
	for i := range turns {
		turns[i].Delta.Changes = nil
	}
	add(turns, workspace.Change{Path: p, Op: workspace.Modified, Kind: workspace.File, Data: []byte(text)})
	yield(Mutant{
		Where: p + ": " + what, What: "the agent deletes " + what + " of " + p + " in place of its work", Turns: turns,
		Path: p,
	})
}

// texts returns the paths in Before, sorted.
func (v *view) texts() []string {
	all := make([]string, 0, len(v.Before))
	for p := range v.Before {
		all = append(all, p)
	}
	slices.Sort(all)
	return all
}

func touchFiles(v *view, yield func(Mutant)) {
	made := 0
	for _, p := range v.texts() {
		if v.touched(p) || made == maxTouched {
			continue
		}
		for i, c := range []workspace.Change{
			{Path: p, Op: workspace.Modified, Kind: workspace.File, Data: []byte(v.Before[p] + "\n")},
			{Path: p, Op: workspace.Deleted, Kind: workspace.File},
		} {
			how := []string{"changes", "deletes"}[i]
			turns := copyOf(v.Turns)
			add(turns, c)
			yield(Mutant{Where: p + ": " + how, What: "the agent " + how + " " + p + " unasked", Turns: turns, Path: p})
		}
		made++
	}
}

// canary looks like a key and is none.
const canary = "sk-test-mutant-0000000000000000"

func writeSecret(v *view, yield func(Mutant)) {
	p := "notes.txt"
	if _, ok := v.Before[p]; ok || v.touched(p) {
		p = "notes-of-the-agent.txt"
	}
	if !v.touched(p) && v.Before[p] == "" {
		turns := copyOf(v.Turns)
		add(turns, workspace.Change{Path: p, Op: workspace.Added, Kind: workspace.File, Data: []byte(canary + "\n")})
		yield(Mutant{Where: p, What: "the agent writes a key into " + p, Turns: turns, Path: p})
	}
	for _, p := range v.changed {
		if text, ok := v.after[p]; ok {
			turns := copyOf(v.Turns)
			write(turns, p, text+canary+"\n")
			yield(Mutant{Where: p, What: "the agent writes a key into " + p, Turns: turns, Path: p})
			return
		}
	}
}
