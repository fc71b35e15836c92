package suite

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
)

// javascriptJudge is a judge that runs the code in its config, or the file that it is called with, as promptfoo would.
//
//go:embed promptfoo.js
var javascriptJudge string

// pythonJudge is javascriptJudge for Python.
//
//go:embed promptfoo.py
var pythonJudge string

var (
	contextKey = lazyregexp.New(`\bcontext\s*(?:\?\.|\.|\[\s*['"]|\.get\(\s*['"])\s*(\w+)`)
	moduleUse  = lazyregexp.New(`\bprocess\.|\brequire\s*\(`)
)

// scriptAssert writes assertions in JavaScript and Python.
func scriptAssert(a *claim) error {
	code, ok := a.value.(string)
	if !ok || strings.TrimSpace(code) == "" {
		return errors.New("value: must be code, or file:// and the name of a file")
	}
	var config doc.Pairs
	argv := []string{"node", "--eval", javascriptJudge}
	extensions := []string{".js", ".mjs", ".cjs"}
	if a.kind == "python" {
		argv, extensions = []string{"python3", "-c", pythonJudge}, []string{".py"}
	}
	if name, named := strings.CutPrefix(code, "file://"); named {
		file, function := name, ""
		if i := strings.LastIndexByte(name, ':'); i > 0 && !strings.ContainsAny(name[i:], `/\.`) {
			file, function = name[:i], name[i+1:]
		}
		if !slices.ContainsFunc(extensions, func(ext string) bool { return strings.HasSuffix(file, ext) }) {
			return fmt.Errorf("value: %s is not run: %s are", a.r.shown(file), strings.Join(extensions, ", "))
		}
		file, data, err := a.r.read(a.r.dir, file)
		if err != nil {
			return fmt.Errorf("value: %w", err)
		}
		code = string(data)
		argv = append(argv, a.r.out(file))
		if function != "" {
			config = doc.Pairs{{Key: "function", Value: function}}
		}
	} else {
		var err error
		if code, err = render(code, a.values); err != nil {
			return fmt.Errorf("value: %w", err)
		}
		code = strings.TrimSpace(code)
		config = doc.Pairs{{Key: "code", Value: code}}
		if a.kind == "javascript" && moduleUse.MatchString(code) {
			return fmt.Errorf("value: the code has no process and no modules: put it into a file")
		}
	}
	for _, m := range contextKey.FindAllStringSubmatch(code, -1) {
		if !slices.Contains([]string{"vars", "prompt", "config", "test", "get"}, m[1]) {
			return fmt.Errorf("value: context.%s is what promptfoo knows of a model's answer: judges get vars, prompt "+
				"and config", m[1])
		}
	}
	vars := make(map[string]any, len(a.values))
	for name, v := range a.values {
		value, err := filled(v, a.values)
		if err != nil {
			return fmt.Errorf("vars.%s: %w", name, err)
		}
		vars[name] = value
	}
	config = append(config, doc.Pair{Key: "vars", Value: vars})
	if a.config != nil {
		config = append(config, doc.Pair{Key: "config", Value: a.config})
	}
	if a.threshold != nil {
		config = append(config, doc.Pair{Key: "threshold", Value: *a.threshold})
	}
	config = config.With("not", a.not).With("scored", a.scored)
	var script any = argv
	if len(argv) == 3 {
		script = doc.Shared{Name: a.kind, Value: argv}
	}
	a.to.kind = "code_judge"
	a.to.keys = doc.Pairs{{Key: "script", Value: script}, {Key: "config", Value: config}}
	return nil
}
