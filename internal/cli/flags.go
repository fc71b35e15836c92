package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/sdd-eval/sdd-eval/internal/doc"
)

// kind is what a flag's value or an argument is; completion offers it.
type kind string

const (
	kindText    kind = "text"
	kindFile    kind = "file"
	kindDir     kind = "dir"
	kindRun     kind = "run"
	kindChoice  kind = "choice"
	kindList    kind = "list" // of choices, with commas between
	kindCommand kind = "command"
)

// value is a flag's value: a string that is neither empty nor given twice, and that is one of the choices if it is of a
// kind that has some.
type value struct {
	p       *string
	kind    kind
	choices []string
	set     bool
}

func (v *value) String() string { return *v.p }

// Type implements [pflag.Value].
func (v *value) Type() string { return string(v.kind) }

// Set implements [pflag.Value].
func (v *value) Set(s string) error {
	switch {
	case v.set:
		return errors.New("the flag is given twice")
	case s == "":
		return errors.New("the value is empty")
	}
	v.set = true
	*v.p = s
	switch v.kind {
	case kindChoice:
		return v.check(s)
	case kindList:
		seen := make(map[string]bool)
		for s := range strings.SplitSeq(s, ",") {
			if err := v.check(s); err != nil {
				return err
			}
			if seen[s] {
				return fmt.Errorf("%q is given twice", s)
			}
			seen[s] = true
		}
	}
	return nil
}

func (v *value) check(s string) error {
	if slices.Contains(v.choices, s) {
		return nil
	}
	if hint := doc.DidYouMean(s, v.choices); hint != "" {
		return fmt.Errorf("unknown value%s", hint)
	}
	return fmt.Errorf("use %s", alternatives(v.choices))
}

// alternatives returns "a, b or c".
func alternatives(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// flags are a command's flags. Help texts have the value's name in backquotes.
type flags struct {
	*pflag.FlagSet
	required []string
}

// text defines a flag whose value is a string of that kind, p's value being the default.
func (f *flags) text(p *string, name string, k kind, help string) {
	f.Var(&value{p: p, kind: k}, name, help)
}

// choice defines a flag whose value is one of the choices, p's value being the default.
func (f *flags) choice(p *string, name, help string, choices ...string) {
	f.Var(&value{p: p, kind: kindChoice, choices: choices}, name, help)
}

// list defines a flag whose value is a list of choices with commas between, p's value being the default.
func (f *flags) list(p *string, name, help string, choices ...string) {
	f.Var(&value{p: p, kind: kindList, choices: choices}, name, help)
}

// root defines the flag --root.
func (f *flags) root(p *string) {
	f.text(p, "root", kindDir, "The project's root `DIR`; default: CLAUDE_PROJECT_DIR, else the git root above the working directory, "+
		"else the working directory.")
}

// require makes flags necessary.
func (f *flags) require(names ...string) { f.required = append(f.required, names...) }

// number is the value of a flag that is a whole number with a least value. It cannot be given twice.
type number struct {
	p   *int
	min int
	set bool
}

func (n *number) String() string { return strconv.Itoa(*n.p) }

// Type implements [pflag.Value].
func (*number) Type() string { return string(kindText) }

// Set implements [pflag.Value].
func (n *number) Set(s string) error {
	v, err := strconv.Atoi(s)
	switch {
	case n.set:
		return errors.New("the flag is given twice")
	case err != nil || v < n.min:
		return fmt.Errorf("use a whole number of at least %d", n.min)
	}
	n.set = true
	*n.p = v
	return nil
}

// number defines a flag whose value is a whole number, p's value being the default.
func (f *flags) number(p *int, name string, least int, help string) {
	f.Var(&number{p: p, min: least}, name, help)
}

// explain says more clearly than pflag what is wrong with a flag.
func (f *flags) explain(err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		name := "--" + unknown.GetSpecifiedName()
		tried := name
		if short := unknown.GetSpecifiedShortnames(); short != "" {
			name, tried = "-"+short, "--"+short // -name is a slip of --name
		}
		known := []string{"--help"}
		f.VisitAll(func(flag *pflag.Flag) { known = append(known, "--"+flag.Name) })
		return fmt.Errorf("unknown flag %s%s", name, doc.DidYouMean(tried, known))
	}
	if noValue, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		arg, _ := pflag.UnquoteUsage(noValue.GetFlag())
		return fmt.Errorf("--%s needs a value: --%[1]s %s", noValue.GetSpecifiedName(), arg)
	}
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		cause := errors.Unwrap(invalid)
		if invalid.GetFlag().Value.Type() == "bool" {
			cause = errors.New("use true or false")
		}
		return fmt.Errorf("%s: %w", strings.TrimSpace("--"+invalid.GetFlag().Name+" "+invalid.GetValue()), cause)
	}
	return err
}
