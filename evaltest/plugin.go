package evaltest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/sdd-eval/sdd-eval/evaltest/internal/door"
	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/suite"
	"github.com/sdd-eval/sdd-eval/internal/words"
)

// Plugin runs the evals of a plugin of Claude Code, as `sdd-eval run --from` does, from its recordings, with the agent
// that these have. Dir is the plugin's directory, relative to the test's. Each case is a subtest <playbook>/<case>,
// with one for the plugin and one without it, as [Describe] makes them; what holds without it decides nothing. A
// failure names the file and line of the grader.
//
// Recordings are below the evals, in .sdd-eval, and only the command makes them: in the modes record and live the test
// fails, in others it replays. No evals, no recordings, and a case that cannot be run are errors.
func Plugin(t *testing.T, dir string, opts ...Option) {
	t.Helper()
	h, err := newHarness(opts...)
	if err != nil {
		door.Of(t).Fatalf("evaltest.Plugin: %v", err)
	}
	s, err := h.plugin(t, dir)
	if err != nil {
		door.Of(t).Fatalf("evaltest.Plugin: %s: %v", dir, withAdvice(err))
	}
	for _, p := range s.Notes {
		door.Of(t).Logf("%s: note: %s: %s: %s", h.position(p.At.File, p.At.Line), p.Case, p.Key, p.What)
	}
	for _, p := range s.Problems {
		door.Of(t).Errorf("%s: %s: %s: %s", h.position(p.At.File, p.At.Line), p.Case, p.Key, p.What)
	}
	for _, p := range s.Playbooks {
		pb, err := h.read(plan.Source{Path: p.File, Name: filepath.ToSlash(h.fromRoot(p.File)), Data: p.Text})
		if err != nil {
			door.Of(t).Errorf("evaltest.Plugin: %s: %v", dir, err)
			continue
		}
		own := *h
		own.cite = func(planned *plan.Plan) {
			p.Cite(planned, func(file string) string { return h.position(file, 0).File })
		}
		t.Run(door.Name(pb.Name), func(t *testing.T) {
			t.Helper()
			own.describe(t, pb)
		})
	}
}

// From are the flags of `sdd-eval run --from` with which the evals of a plugin were recorded, for [Plugin].
type From struct {
	// Ignore are settings of sessions that are left out, JudgeModel the model that judges in the place of the agent.
	Ignore     []string
	JudgeModel string
	// Trials, if it is not 0, is how often each case is tried.
	Trials int
	// Threshold, if it is not 0, is up to 1: a case fails if its score with the plugin, the mean over its trials, is
	// below.
	Threshold float64
	// Scaffold runs the author's scripts that prepare workspaces, confined, in each replay. AllowRealServers says that
	// the plugin's MCP servers without a mock were started.
	Scaffold, AllowRealServers bool
}

func (f From) apply(s *settings) { s.from = f }

// options are what these flags say to the reader of the evals.
func (f From) options() suite.Options {
	return suite.Options{
		Ignore: f.Ignore, JudgeModel: f.JudgeModel, Trials: f.Trials, Threshold: f.Threshold,
		Scripts: f.Scaffold, Servers: f.AllowRealServers,
	}
}

// plugin reads the evals of the plugin in a directory, whose project the harness then runs.
func (h *harness) plugin(t *testing.T, dir string) (*suite.Suite, error) {
	t.Helper()
	format, dir, ok := suite.Recognise(filepath.Join(h.dir, dir))
	if !ok || format.Name != "plugin-evals" {
		return nil, errors.New("it has no evals of a plugin: no evals/CASE/prompt.md, and no case.yaml")
	}
	rel, err := filepath.Rel(h.module, dir)
	if err != nil || !filepath.IsLocal(rel) {
		return nil, fmt.Errorf("it is outside the module %s: go test does not see changes there", h.module)
	}
	o := h.from.options()
	h.front = words.Join(append([]string{"sdd-eval", "run", "--from", filepath.ToSlash(rel)}, o.Flags()...)...)
	switch h.mode() {
	case engine.Record, engine.Live:
		return nil, fault.Advise(errors.New("a test starts no agents for the evals of a plugin"),
			h.front+" --mode "+string(h.mode()))
	}
	h.environment.Mode = engine.Replay
	if h.root, err = rundir.ProjectRoot(h.module, "", os.Getenv); err != nil {
		return nil, err
	}
	if o.Out, h.dirs.Cassettes, err = format.Places(h.root, dir); err != nil {
		return nil, err
	}
	who, ok := suite.RecordedAgent(disk.Tree(h.root), h.cassettes())
	if !ok {
		return nil, fault.Advise(fmt.Errorf("there are no recordings in %s", h.dirs.Cassettes),
			"record them where an agent has a login: "+h.front+" --mode record")
	}
	o.Agent, o.Command, o.Args = who.Kind, who.Command, who.Args
	if profile, ok := agent.Lookup(who.Kind); ok && profile.NeedsPreset {
		o.Preset = agent.Login
	}
	s, err := format.Convert(t.Context(), dir, o)
	if err != nil {
		return nil, err
	}
	for i := range s.Playbooks {
		s.Playbooks[i].File = filepath.Join(o.Out, s.Playbooks[i].File)
	}
	return s, nil
}
