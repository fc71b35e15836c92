package cli

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/sdd-eval/sdd-eval/internal/doc"
)

// kind says what a flag's value or an argument is, for completion.
type kind string

const (
	kindText    kind = "text"
	kindFile    kind = "file"
	kindDir     kind = "dir"
	kindRun     kind = "run"
	kindChoice  kind = "choice"
	kindList    kind = "list" // choices, separated by commas
	kindCommand kind = "command"
)

// value is the value of a flag: a string that is neither empty nor given twice. If its kind has choices, it is one of
// them.
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
		return errors.New("duplicate flag")
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
				return fmt.Errorf("duplicate value %q", s)
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

// flags are the flags of a command. Their help texts have the name of the value in backquotes.
type flags struct {
	*pflag.FlagSet
	required []string
}

// text defines a flag whose value is a string of kind k. Its default is the value of p.
func (f *flags) text(p *string, name string, k kind, help string) {
	f.Var(&value{p: p, kind: k}, name, help)
}

// choice defines a flag whose value is one of the choices. Its default is the value of p.
func (f *flags) choice(p *string, name, help string, choices ...string) {
	f.Var(&value{p: p, kind: kindChoice, choices: choices}, name, help)
}

// list defines a flag whose value is a list of choices, separated by commas. Its default is the value of p.
func (f *flags) list(p *string, name, help string, choices ...string) {
	f.Var(&value{p: p, kind: kindList, choices: choices}, name, help)
}

// root defines the flag --root.
func (f *flags) root(p *string) {
	f.text(p, "root", kindDir, "The project's root `DIR`; default: CLAUDE_PROJECT_DIR, else the git root above the "+
		"working directory, else the working directory.")
}

// configDir defines the flag --config-dir.
func (f *flags) configDir(p *string) {
	f.text(p, "config-dir", kindDir, "The `DIR` with the account presets; default: LLMAN_CONFIG_DIR, else llman in "+
		"the user's configuration directory.")
}

// untrusted defines the flag --untrusted.
func (f *flags) untrusted(p *bool) {
	f.BoolVar(p, "untrusted", false, "Refuse playbooks that widen what agents, and the code they write, may read, "+
		"reach or get, like EVALTEST_UNTRUSTED=1.")
}

// require makes flags mandatory.
func (f *flags) require(names ...string) { f.required = append(f.required, names...) }

// number is the value of a flag: a whole number of at least min. It cannot be given twice.
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
		return errors.New("duplicate flag")
	case err != nil || v < n.min:
		return fmt.Errorf("use a whole number of at least %d", n.min)
	}
	n.set = true
	*n.p = v
	return nil
}

// number defines a flag whose value is a whole number of at least least. Its default is the value of p.
func (f *flags) number(p *int, name string, least int, help string) {
	f.Var(&number{p: p, min: least}, name, help)
}

// portion is the value of a flag: a number above 0 and up to 1.
type portion struct{ p *float64 }

func (s *portion) String() string { return strconv.FormatFloat(*s.p, 'g', -1, 64) }

// Type implements [pflag.Value].
func (*portion) Type() string { return string(kindText) }

// Set implements [pflag.Value].
func (s *portion) Set(text string) error {
	v, err := strconv.ParseFloat(text, 64)
	switch {
	case *s.p != 0:
		return errors.New("duplicate flag")
	case err != nil || !(v > 0 && v <= 1):
		return errors.New("use a number above 0 and up to 1")
	}
	*s.p = v
	return nil
}

// span is the value of a flag: how long something may take. It cannot be given twice.
type span struct {
	p   *time.Duration
	set bool
}

func (s *span) String() string { return s.p.String() }

// Type implements [pflag.Value].
func (*span) Type() string { return string(kindText) }

// Set implements [pflag.Value].
func (s *span) Set(text string) error {
	d, err := time.ParseDuration(text)
	switch {
	case s.set:
		return errors.New("duplicate flag")
	case err != nil || d <= 0:
		return errors.New("use a time such as 90s")
	}
	s.set = true
	*s.p = d
	return nil
}

// patience is the value of a flag: how long to wait, or 0. It cannot be given twice.
type patience struct{ p *string }

func (w *patience) String() string { return *w.p }

// Type implements [pflag.Value].
func (*patience) Type() string { return string(kindText) }

// Set implements [pflag.Value].
func (w *patience) Set(text string) error {
	d, err := time.ParseDuration(text)
	switch {
	case *w.p != "":
		return errors.New("duplicate flag")
	case err != nil || d < 0:
		return errors.New("use a time such as 10m, or 0 to not wait")
	}
	*w.p = text
	return nil
}

// dollars is the value of a flag: a sum of money, above 0 if positive. It cannot be given twice.
type dollars struct {
	p        *string
	positive bool
}

func (d *dollars) String() string { return *d.p }

// Type implements [pflag.Value].
func (*dollars) Type() string { return string(kindText) }

// Set implements [pflag.Value].
func (d *dollars) Set(text string) error {
	v, err := strconv.ParseFloat(text, 64)
	bad := err != nil || !(v >= 0) || math.IsInf(v, 1)
	switch {
	case *d.p != "":
		return errors.New("duplicate flag")
	case d.positive && (bad || v == 0):
		return errors.New("use US dollars above 0, such as 2.50")
	case bad:
		return errors.New("use US dollars, such as 0.50, or 0 for what costs nothing")
	}
	*d.p = text
	return nil
}

// explain replaces pflag's errors by clearer ones.
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
