// Package activation is the evaluator kind activation: which skills and tools the agent used, and which it left alone.
// How an agent shows that is in its profile, in package agent.
package activation

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/expect"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
	"github.com/sdd-eval/sdd-eval/internal/mcpname"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/wildcard"
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

// Evaluate compares what the agent used with what it should use. Of what its variant does not have nothing is judged.
// If it is not known of one whether the agent used it, nothing is known.
func (es expectations) Evaluate(_ context.Context, in evaluator.Input) evaluator.Verdict {
	var (
		t       expect.Tally
		all     []result.Activation
		unknown string
		lacks   []string
	)
	s := newSession(in.Run)
	for _, e := range es {
		if !slices.Contains(e.Variants, in.Variant) {
			lacks = append(lacks, e.Name)
			continue
		}
		a := result.Activation{Name: e.Name, Wanted: e.fires}
		fired, err := s.fired(e.Activated)
		switch {
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
		if err == nil {
			a.Fired = &fired
		}
		all = append(all, a)
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
	default:
		v = t.Verdict()
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
}

func newSession(run *trajectory.Run) session {
	profile, _ := agent.Lookup(run.Agent.Kind)
	return session{run, run.ToolCalls(), profile}
}

// fired reports whether the agent used a skill or a tool. An error says why that is not known.
func (s session) fired(a plan.Activated) (bool, error) {
	if a.Skill {
		return s.usedSkill(a.Name)
	}
	return s.calledTool(a.Name)
}

// usedSkill reports whether the agent called for a skill, or read its file, whatever came of it.
func (s session) usedSkill(name string) (bool, error) {
	var unclear error
	file := fileOf(s.profile.Skills, name)
	for i, c := range s.calls {
		if own := s.profile.Activation; own != nil && own.Tool != "" && c.Name == own.Tool {
			switch loaded := loads(c, own.Argument); {
			case loaded == name || strings.HasSuffix(loaded, ":"+name): // plugin:skill
				return true, nil
			case loaded == "" && unclear == nil:
				unclear = fmt.Errorf("call %d of the session, %s, does not say which skill it loads", i+1, c.Name)
			}
		}
		if slices.Contains(c.Does(), "read") && mentions(c, file) {
			return true, nil
		}
	}
	if unclear != nil {
		return false, unclear
	}
	return false, s.shows("skills")
}

// shows returns an error if the agent may have used skills or tools that it did not show.
func (s session) shows(what string) error {
	if s.profile.Activation == nil {
		return fmt.Errorf("it is not known how agents of kind %s show which %s they use", s.run.Agent.Kind, what)
	}
	return evaluator.Unseen(s.run)
}

var quoted = lazyregexp.New(`^"([^"]+)"`)

// loads returns the skill that a call of the tool for that names, empty if it names none.
func loads(c trajectory.ToolCall, argument string) string {
	args, _ := c.Args.(map[string]any)
	if name, ok := args[argument].(string); ok {
		return name
	}
	if m := quoted.FindStringSubmatch(c.Title); m != nil {
		return m[1]
	}
	return ""
}

// skillFile finds the file of a skill in texts: by its path, also one of all files or of all texts beside it, or by its
// name and the path of its directory, as in "cd .agents/skills/pdf && cat SKILL.md".
type skillFile struct{ path, dir *regexp.Regexp }

var bareName = lazyregexp.New(`(?:^|[^\w/.-]|[^\w/.-]\./)` + plan.SkillFile + `(?:$|[^\w.-])`)

// fileOf returns what finds the file of a skill in the place of skills, nil if that is not known.
func fileOf(place, name string) *skillFile {
	if place == "" {
		return nil
	}
	dir := `(?:^|[^\w.-])` + regexp.QuoteMeta(place) + `/+(?:` + regexp.QuoteMeta(name) + `|\*)`
	return &skillFile{
		path: regexp.MustCompile(dir + `/+(?:` + plan.SkillFile + `(?:$|[^\w.-])|\*(?:\.md)?(?:$|[^\w./*-]))`),
		dir:  regexp.MustCompile(dir + `/*(?:$|[^\w./*-])`),
	}
}

// mentions reports whether what is shown of a call names a file.
func mentions(c trajectory.ToolCall, file *skillFile) bool {
	if file == nil {
		return false
	}
	texts := []string{c.Title}
	for _, l := range c.Locations {
		texts = append(texts, l.Path)
	}
	if args, err := json.Marshal(c.Args); err == nil {
		texts = append(texts, strings.ReplaceAll(string(args), `\\`, "/"))
	}
	return slices.ContainsFunc(texts, func(text string) bool {
		return file.path.MatchString(text) || file.dir.MatchString(text) && bareName.MatchString(text)
	})
}

// calledTool reports whether the agent called a tool, whatever came of it.
func (s session) calledTool(name string) (bool, error) {
	for _, c := range s.calls {
		if wildcard.Match(name, c.Name) {
			return true, nil
		}
	}
	server, isServers := strings.CutPrefix(name, mcpname.Prefix)
	asked := false // servers are seen
	for _, e := range s.run.Events {
		if m, ok := e.Body.(trajectory.MCPCall); ok {
			asked = asked || isServers && strings.HasPrefix(server, m.Server+"__")
			if m.Tool != "" && wildcard.Match(name, mcpname.Of(m.Server, m.Tool)) {
				return true, nil
			}
		}
	}
	if asked {
		return false, nil
	}
	if err := s.shows("tools"); err != nil || isServers {
		return false, err
	}
	for i, c := range s.calls { // whose names may be mere titles
		if !strings.HasPrefix(c.Name, mcpname.Prefix) && !slices.Contains(s.profile.Tools, c.Name) {
			return false, fmt.Errorf("call %d of the session, %q, may be of any tool", i+1, c.Name)
		}
	}
	return false, nil
}
