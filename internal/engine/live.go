package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/observe"
	"github.com/sdd-eval/sdd-eval/internal/sandbox"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
	"github.com/sdd-eval/sdd-eval/internal/toolcache"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// startTimeout bounds the agent's start, up to its first session.
const startTimeout = 2 * time.Minute

// live is a session with an agent's process.
type live struct {
	unit     playbook.Unit
	limits   playbook.Limits
	dirs     unitDirs
	manifest workspace.Manifest // after the last turn
	before   workspace.Manifest // before the last turn
	maxDelta int64
	records  bool // the session

	process   *supervise.Process
	client    *acp.Client
	session   *acp.Session
	files     *sandbox.Files
	terminals *sandbox.Terminals
	tools     *tools
	env       []string // of what is started for the agent: without its account
	observer  observe.Observer
	normalise *cassette.Normaliser

	agent    trajectory.Agent
	endpoint string
	protocol int

	stderr *stderrWriter
	spent  spending

	deadline time.Time // of the session, by the playbook's limit

	mu sync.Mutex
	// interrupt ends the current turn and says why, nil between turns.
	interrupt context.CancelCauseFunc
	// broken is what should have ended a turn when there was none.
	broken error
}

// limitReached is why the harness ended a turn.
type limitReached struct{ name string }

func (l limitReached) Error() string { return "limit reached: " + l.name }

// startLive starts the unit's agent and opens a session in its workspace.
func startLive(ctx context.Context, a *attempt) (*live, error) {
	profile, ok := agent.Lookup(a.unit.Variant.Agent.Kind)
	if !ok {
		return nil, fmt.Errorf("unknown kind of agent %q", a.unit.Variant.Agent.Kind)
	}
	launch, err := a.account(profile, a.unit.Variant.Agent)
	if err != nil {
		return nil, err
	}
	s := &live{
		unit: a.unit, limits: a.pb.Limits, dirs: a.dirs, manifest: a.manifest, maxDelta: a.pb.Cassette.MaxDelta, records: a.records, tools: a.tools,
		agent:    trajectory.Agent{Kind: profile.Kind, Model: a.unit.Variant.Agent.Model},
		endpoint: launch.Endpoint,
		normalise: cassette.NewNormaliser(map[string]string{
			a.dirs.workspace: "$WORKSPACE", a.dirs.home: "$HOME", a.dirs.tmp: "$TMPDIR",
		}, a.pb.Cassette.Normalise, profile.Volatile),
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("the agent took longer than %v to start", startTimeout))
	defer cancel()
	if err := s.start(ctx, a, profile, launch); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = fmt.Errorf("%w (%w)", err, cause)
		}
		return nil, errors.Join(err, s.Close(context.WithoutCancel(ctx)))
	}
	s.deadline = time.Now().Add(a.timeout())
	return s, nil
}

// start makes everything that the session consists of; what it made before an error, Close ends.
func (s *live) start(ctx context.Context, a *attempt, profile agent.Profile, launch agent.Launch) error {
	if err := writeFiles(s.dirs.home, launch.Files); err != nil {
		return err
	}
	env := sandbox.Environment(sandbox.EnvironmentSpec{
		Environ: a.cfg.Environ, Home: s.dirs.home, Tmp: s.dirs.tmp, Workspace: s.dirs.workspace, Pass: a.pb.Env.Pass,
	})
	env = append(env, toolcache.Find(a.cfg.Environ).Variables(s.dirs.home, false)...)
	s.env = slices.Clip(env)
	var err error
	if s.files, err = sandbox.OpenFiles(s.dirs.workspace); err != nil {
		return err
	}
	s.files.OnDeny = func(d sandbox.Denied) { a.journal.denied(&d) }
	s.terminals = sandbox.NewTerminals(s.files, sandbox.TerminalConfig{
		Env: env, Allow: a.pb.AllowedCommands(),
		Start: func(ctx context.Context, c supervise.Command) (*supervise.Process, error) {
			return a.Runner.start(ctx, c, a.commandPolicy())
		},
	})

	policy := a.agentPolicy()
	path, args := launch.Command, append([]string{launch.Command}, launch.Args...)
	if profile.Kind == fakeKind {
		if path, args, policy.Read, err = a.fakeCommand(a.unit.Variant.Agent); err != nil {
			return err
		}
	}
	if a.pb.Cassette.Level.MCP() {
		if err := a.showRelays(&policy); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(launch.Env)) {
		env = append(env, name+"="+launch.Env[name])
	}
	s.stderr = a.journal.stderr()
	s.process, err = a.Runner.start(context.WithoutCancel(ctx), supervise.Command{
		Path: path, Args: args, Dir: s.dirs.workspace, Env: env,
		PipeStdin: true, PipeStdout: true, Stderr: s.stderr, Grace: profile.Grace, Scratch: s.dirs.base,
	}, policy)
	if Advice(err) != "" {
		return err
	}
	if err != nil {
		return advised{err, fmt.Sprintf("install %s, or name another program under variants.%s.agent.command", launch.Command, a.unit.Variant.ID)}
	}
	if err := s.connect(ctx, a, profile, launch); err != nil {
		return fmt.Errorf("start %s: %w", launch.Command, err)
	}
	return nil
}

func writeFiles(home string, files []agent.File) error {
	for _, f := range files {
		path := filepath.Join(home, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.Data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Agent implements [session].
func (s *live) Agent() (trajectory.Agent, string) { return s.agent, s.endpoint }

// Close implements [session]: it ends the agent and everything it started.
func (s *live) Close(ctx context.Context) error {
	var errs []error
	if s.client != nil {
		s.client.Close()
	}
	if s.process != nil {
		// How the agent ends once its work is done says nothing: many ignore the end of their input and have to be killed.
		// That something of it could not be ended does.
		if _, err := s.process.Stop(ctx); err != nil {
			errs = append(errs, fmt.Errorf("end the agent: %w", err))
		}
	}
	if s.stderr != nil {
		errs = append(errs, s.stderr.Close())
	}
	if s.client != nil {
		select { // handlers may be at work until then
		case <-s.client.Done():
		case <-ctx.Done():
			errs = append(errs, errors.New("the agent is gone, but its connection did not end"))
		}
	}
	if s.terminals != nil {
		errs = append(errs, s.terminals.Close())
	}
	errs = append(errs, s.tools.close())
	if s.files != nil {
		errs = append(errs, s.files.Close())
	}
	return errors.Join(errs...)
}
