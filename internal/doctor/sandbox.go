package doctor

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/sdd-eval/sdd-eval/internal/confine"
)

// measured is what a kind of sandbox was found to have, by the one check that was first to ask.
type measured struct {
	once       sync.Once
	properties confine.Properties
	err        error
}

func (m *machine) sandbox(ctx context.Context, kind confine.Kind) (confine.Properties, error) {
	shared, _ := m.measured.LoadOrStore(kind, new(measured))
	of := shared.(*measured)
	of.once.Do(func() {
		var s *confine.Sandbox
		if s, of.err = confine.New(kind, nil); of.err == nil {
			of.properties, of.err = s.Properties(ctx)
		}
	})
	return of.properties, of.err
}

// sandboxVariable names the kind of sandbox that the user wants.
const sandboxVariable = "EVALTEST_SANDBOX"

// inUse is the sandbox of a run that does not choose another.
func inUse(ctx context.Context, m *machine) []Finding {
	f := Finding{Name: "in use"}
	kind, err := confine.ParseKind(cmp.Or(m.Getenv(sandboxVariable), string(confine.Auto)))
	switch {
	case err != nil:
		f.State, f.Text, f.Next = Bad, sandboxVariable+": "+err.Error(), "unset "+sandboxVariable
		return []Finding{f}
	case kind == confine.None:
		f.State, f.Text = Noted, sandboxVariable+" is none: nothing confines agents and their code"
		f.Next = "unset " + sandboxVariable
		return []Finding{f}
	case kind == confine.Wrapper:
		f.State, f.Text = Well, "a command that the playbook names; it was not tried"
		return []Finding{f}
	}
	properties, err := m.chosen(ctx, kind)
	if err != nil {
		f.State, f.Text, f.Next = Bad, err.Error(), adviceOf(err)
		return []Finding{f}
	}
	f.State, f.Text = Well, string(properties.Kind)
	f.Facts = map[string]any{"kind": properties.Kind}
	if kind == confine.Auto && properties.Kind != confine.Bwrap {
		f.Text += ", the strongest that works here"
	}
	return []Finding{f}
}

// chosen returns what a run's sandbox has. What Auto would choose is measured anyway.
func (m *machine) chosen(ctx context.Context, kind confine.Kind) (confine.Properties, error) {
	if kind != confine.Auto {
		return m.sandbox(ctx, kind)
	}
	for _, k := range []confine.Kind{confine.Bwrap, confine.Landlock} {
		if properties, err := m.sandbox(ctx, k); err == nil {
			return properties, nil
		}
	}
	return m.sandbox(ctx, confine.Auto)
}

// adviceOf returns what a person can do about a sandbox that does not work.
func adviceOf(err error) string {
	if unavailable, ok := errors.AsType[*confine.UnavailableError](err); ok {
		return cmp.Or(unavailable.Advice(), "try again: the sandbox was not tested to the end")
	}
	return "see docs/confinement.md"
}

func bubblewrap(ctx context.Context, m *machine) []Finding {
	return m.properties(ctx, confine.Bwrap,
		"install bubblewrap (Debian: apt-get install bubblewrap), see docs/confinement.md")
}

func landlock(ctx context.Context, m *machine) []Finding {
	return m.properties(ctx, confine.Landlock, "see docs/confinement.md")
}

// properties says what a kind of sandbox leaves open, and what to do where it does not work.
func (m *machine) properties(ctx context.Context, kind confine.Kind, next string) []Finding {
	f := Finding{Name: string(kind)}
	p, err := m.sandbox(ctx, kind)
	if err != nil {
		f.State, f.Text, f.Next = Absent, err.Error(), next
		if unavailable, ok := errors.AsType[*confine.UnavailableError](err); ok {
			f.Text = strings.TrimPrefix(strings.Join(unavailable.Reasons, "; "), string(kind)+": ")
		}
		return []Finding{f}
	}
	open := make([]string, len(p.Open))
	for i, property := range p.Open {
		open[i] = string(property)
	}
	f.State, f.Text = Well, p.Version+": all holds"
	if len(open) > 0 {
		f.Text = p.Version + "; open: " + strings.Join(open, ", ")
	}
	f.Facts = map[string]any{"version": p.Version, "holds": p.Holds, "open": p.Open}
	return []Finding{f}
}

// engineOf returns the check of a program that runs containers. Nothing of ours needs one.
func engineOf(name string) func(context.Context, *machine) []Finding {
	return func(ctx context.Context, m *machine) []Finding {
		line, err := m.version(ctx, name)
		if err != nil {
			return []Finding{{Name: name, State: Absent, Text: err.Error() + "; no run needs it"}}
		}
		return []Finding{{Name: name, State: Well, Text: cmp.Or(numberIn(line), line) + "; no run needs it"}}
	}
}
