// Package activation is the evaluator kind activation: which skills and tools the agent used, and which it left alone.
// How an agent shows that is in its profile, in package agent.
package activation

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/expect"
	"github.com/sdd-eval/sdd-eval/internal/mcpname"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// keys are the evaluator's own keys in a playbook.
type keys struct {
	Fires  []string `yaml:"fires" min:"1" doc:"Skills and tools that the agent must use."`
	Silent []string `yaml:"silent" min:"1" doc:"Skills and tools that the agent must not use."`
}

// Kind returns the kind of evaluator.
func Kind() plan.Kind { return plan.Kind{Decode: decode, Keys: keys{}, NoFiles: true} }

func decode(n *doc.Node) any {
	n.Decode(new(keys))
	var all expectations
	seen := make(map[string]bool)
	for _, key := range []string{"fires", "silent"} {
		for _, item := range n.Get(key).Items() {
			if item.Kind() == doc.String && seen[item.Text()] {
				item.Errorf("", "duplicate %q", item.Text())
			}
			seen[item.Text()] = true
			all = append(all, expectation{plan.Activate(item), key == "fires"})
		}
	}
	if n.Get("fires") == nil && n.Get("silent") == nil {
		n.Errorf("", "needs `fires` or `silent`, the skills and tools that the agent must, or must not use")
	}
	return all
}

// expectations implement [evaluator.Evaluator].
type expectations []expectation

// expectation says whether a skill or a tool must be used.
type expectation struct {
	plan.Activated
	fires bool
}

func (e expectation) String() string {
	what := "tool "
	if e.Skill {
		what = "skill "
	}
	if e.fires {
		return what + e.Name + " fires"
	}
	return what + e.Name + " is silent"
}

// Judges implements [plan.Narrow].
func (es expectations) Judges(variant string) bool {
	return slices.ContainsFunc(es, func(e expectation) bool { return slices.Contains(e.Variants, variant) })
}

// Arm implements [plan.Narrow].
func (es expectations) Arm(arm plan.Variant) {
	for i := range es {
		es[i].Activated.Arm(arm)
	}
}

func (expectations) Needs() evaluator.Needs { return 0 }

// of returns the expectations of what a variant has.
func (es expectations) of(variant string) (own expectations) {
	for _, e := range es {
		if slices.Contains(e.Variants, variant) {
			own = append(own, e)
		}
	}
	return own
}

// Evaluate compares what the agent used with what it should use. Of what its variant does not have nothing is judged.
// If it is not known of one whether the agent used it, nothing is known, unless the others decide.
func (es expectations) Evaluate(_ context.Context, in evaluator.Input) evaluator.Verdict {
	var (
		t       expect.Tally
		all     []result.Activation
		unknown string
		open    expectations // of which nobody knows, since the session ended before
	)
	s, own := newSession(in.Run), es.of(in.Variant)
	used := make([]bool, len(own))
	for i, e := range own {
		a := result.Activation{Name: e.Name, Wanted: e.fires}
		fired, err := s.fired(e.Activated)
		used[i] = fired
		switch {
		case s.cut && !fired:
			open = append(open, e)
		case err != nil:
			if unknown == "" {
				unknown = fmt.Sprintf("whether %s: cannot measure: %v", e, err)
			}
		case fired == e.fires:
			t.Hold(1, e.String())
		case fired:
			t.Miss(1, e.String(), "the agent used it")
		default:
			t.Miss(1, e.String(), "the agent did not use it")
		}
		if err == nil && (fired || !s.cut) {
			a.Fired = &fired
		}
		all = append(all, a)
	}
	var lacks []string
	for _, e := range es {
		if !slices.Contains(e.Variants, in.Variant) {
			lacks = append(lacks, e.Name)
		}
	}
	var v evaluator.Verdict
	switch {
	case unknown != "":
		v = evaluator.Verdict{Outcome: result.Error, Reason: unknown}
	case all == nil:
		v = evaluator.Verdict{
			Outcome: result.Skip,
			Reason:  fmt.Sprintf("variant %s does not have %s", in.Variant, strings.Join(lacks, ", ")),
		}
	case s.cut && !own.sure(used, in.Threshold):
		v = evaluator.Verdict{
			Outcome: result.Error,
			Reason:  "the session ended once something else was sure (limits.until): record it anew",
		}
	default:
		v = t.Verdict()
		for _, e := range open {
			v.Detail += fmt.Sprintf("\n- %s: not known, since the session ended once the verdict was sure", e)
		}
		for _, name := range lacks {
			v.Detail += fmt.Sprintf("\n- %s: variant %s does not have it", name, in.Variant)
		}
	}
	v.Activations = all
	return v
}

// session is what an agent did.
type session struct {
	run     *trajectory.Run
	calls   []trajectory.ToolCall
	profile agent.Profile
	// cut says that the session ended when verdicts were sure: of what was not used until then nothing is known.
	cut bool
}

func newSession(run *trajectory.Run) session {
	profile, _ := agent.Lookup(run.Agent.Kind)
	return session{run, run.ToolCalls(), profile, slices.Contains(run.StopReasons(), result.StopDecided)}
}

// fired reports whether the agent used a skill or a tool. An error says why that is not known.
func (s session) fired(a plan.Activated) (bool, error) {
	sign := signOf(a, s.profile)
	if slices.ContainsFunc(s.calls, sign.call) {
		return true, nil
	}
	for _, e := range s.run.Events {
		if m, ok := e.Body.(trajectory.MCPCall); ok && sign.request(m) {
			return true, nil
		}
	}
	if a.Skill {
		return false, s.hidesSkill()
	}
	return false, s.hidesTool(a.Name)
}

// hidesSkill returns an error if the agent may have used a skill that it does not show.
func (s session) hidesSkill() error {
	for i, c := range s.calls {
		if name, loads := loaded(c, s.profile); loads && name == "" {
			return fmt.Errorf("call %d of the session, %s, does not say which skill it loads", i+1, c.Name)
		}
	}
	return s.shows("skills")
}

// hidesTool returns an error if the agent may have used a tool that it does not show.
func (s session) hidesTool(name string) error {
	server, isServers := strings.CutPrefix(name, mcpname.Prefix)
	for _, e := range s.run.Events { // of servers that are seen
		if m, ok := e.Body.(trajectory.MCPCall); ok && isServers && strings.HasPrefix(server, m.Server+"__") {
			return nil
		}
	}
	if err := s.shows("tools"); err != nil || isServers {
		return err
	}
	for i, c := range s.calls { // whose names may be mere titles
		if !strings.HasPrefix(c.Name, mcpname.Prefix) && !slices.Contains(s.profile.Tools, c.Name) {
			return fmt.Errorf("call %d of the session, %q, may be of any tool", i+1, c.Name)
		}
	}
	return nil
}

// shows returns an error if the agent may have used skills or tools that it did not show.
func (s session) shows(what string) error {
	if s.profile.Activation == nil {
		return fmt.Errorf("it is not known how agents of kind %s show which %s they use", s.run.Agent.Kind, what)
	}
	return evaluator.Unseen(s.run)
}
