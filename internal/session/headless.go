package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/evaltest/capture"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/claude/claudecli"
	"github.com/sdd-eval/sdd-eval/internal/claude/hook"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/helper"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
	"github.com/sdd-eval/sdd-eval/internal/testrun"
	"github.com/sdd-eval/sdd-eval/internal/words"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// headless is a conversation with an agent that is started anew for each prompt and goes on with its session.
type headless struct {
	processSession
	options  claudecli.Options // of each prompt
	hooks    hooks
	observer claudecli.Observer
	ran      []string // the tools of all calls that the hooks must have captured
	asked    requests
}

// requests are what MCP servers were asked in a turn, from many goroutines.
type requests struct {
	mu  sync.Mutex
	all []request
}

type request struct {
	at   time.Time
	call trajectory.MCPCall
}

// add adds a request, unless it asks what a server has.
func (r *requests) add(c trajectory.MCPCall) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !c.IsDiscovery() {
		r.all = append(r.all, request{time.Now(), c})
	}
}

// take moves the requests to where they were made among the events of a turn, which has begun and may have ended.
func (r *requests) take(events []trajectory.Event, at func(time.Time) time.Duration) []trajectory.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, asked := range r.all {
		e := trajectory.Event{Turn: events[0].Turn, At: at(asked.at), Body: asked.call}
		i := 1
		for ; i < len(events) && events[i].At <= e.At; i++ {
			if _, end := events[i].Body.(trajectory.Stop); end {
				e.At = events[i].At
				break
			}
		}
		events = slices.Insert(events, i, e)
	}
	r.all = nil
	return events
}

// startHeadless makes ready what the unit's agent is started with.
func startHeadless(ctx context.Context, of *Session) (conversation, error) {
	c := &of.config
	if level := c.Playbook.Cassette.Level; level.RunsAgent() {
		return nil, fault.Advise(fmt.Errorf("cassette.level: %s: agents of kind %s work in their own process, "+
			"and ask us for nothing that could be replayed", level, c.Profile.Kind), "use `level: run`")
	}
	h, err := installHooks(c)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("install the agent's hooks: %w", err), h.remove())
	}
	s := &headless{processSession: newProcessSession(of, h.paths()), hooks: h}
	if err := s.prepare(); err != nil {
		return nil, errors.Join(err, s.close(ctx, nil))
	}
	s.deadline = time.Now().Add(c.Playbook.UnitTimeout())
	return s, nil
}

// prepare makes the files that the agent is given, and the arguments that all prompts have in common.
func (s *headless) prepare() error {
	if err := writeFiles(s.Dirs.Home, s.Launch.Files); err != nil {
		return err
	}
	g, err := s.grant()
	if err != nil {
		return err
	}
	chosen := s.Unit.Variant.Agent
	s.options = claudecli.Options{
		Args: s.Launch.Args, Settings: s.hooks.settings, Model: chosen.Model, Mode: chosen.Mode, Allow: g.allow,
		Deny: g.deny, Plugins: s.plugins(),
		MaxCostUSD: s.Playbook.Limits.MaxCostUSD,
	}
	if g.unasked {
		s.options.Unasked = s.Profile.Headless.Unasked
	}
	if s.Confined {
		env := maps.Clone(s.Profile.Headless.UnaskedEnv)
		maps.Copy(env, s.Launch.Env)
		s.Launch.Env = env
	}
	servers, err := s.servers(s.interruptTurn, s.asked.add)
	if err != nil {
		return err
	}
	if len(servers) > 0 {
		const name = "mcp.json"
		s.options.MCP = filepath.Join(s.hooks.given, name)
		if err := writeFiles(s.hooks.given,
			[]agent.File{{Path: name, Data: claudecli.MCPConfig(servers)}}); err != nil {
			return err
		}
	}
	s.stderr = s.Log.stderr()
	s.observer = claudecli.Observer{
		Cwd: s.Dirs.seen(), OnCall: s.called, OnDenied: s.denied,
		Continues: slices.ContainsFunc(s.Launch.Args, continues.MatchString),
	}
	return nil
}

// continues matches an argument that has the agent go on with an older session. One word may have several short options
// and the value of the last.
var continues = lazyregexp.New(`^(--(resume|continue)(=|$)|-[hpv]*[cr])`)

// called is called with each tool call.
func (s *headless) called(total int, c trajectory.ToolStart) {
	s.watch.note(func(a *Activity) { a.Tool = cmp.Or(c.Title, c.Name) })
	s.countCall(total)
	s.told(c)
}

// denied is called with each tool that the agent had no permission to use.
func (s *headless) denied(tool string) {
	if s.Playbook.Decide(tool, nil) == playbook.DecideError {
		s.interruptTurn(fmt.Errorf("%w: %s", errPermission, tool))
	}
}

// prompt implements [conversation].
func (s *headless) prompt(ctx context.Context, text string) (cassette.Turn, error) {
	s.observer.Prompt(time.Now(), text)
	limit, err := s.turn(ctx, func(ctx context.Context) error { return s.run(ctx, text) })
	if err != nil {
		return cassette.Turn{}, err
	}
	turn := s.observer.Turn()
	events := s.asked.take(turn.Events, s.observer.At)
	if limit != "" {
		events = endedBy(events, limit, s.observer.At(time.Now()))
	} else if turn.Err != nil {
		err := headlessOutage(turn.Err)
		if _, ok := errors.AsType[*outage](err); ok {
			return cassette.Turn{Events: s.normalise.Events(events)}, s.advise(err)
		}
		return cassette.Turn{}, err
	}
	reported := s.observer.Session()
	s.who.Agent.Name, s.who.Agent.Version = "claude-code", reported.Version
	s.who.Agent.Modes = addMode(s.who.Agent.Modes, reported.Mode)
	if err := s.checkCapture(turn); err != nil {
		return cassette.Turn{}, err
	}
	whole, err := s.settle(ctx, events)
	if cost := s.spent.Cost; cost != nil {
		s.watch.note(func(a *Activity) { a.Cost = &cost.Amount }) // in USD, as the program has it
	}
	return whole, err
}

// run runs the agent's program for a prompt, to its end. When the context ends, the program is killed.
func (s *headless) run(ctx context.Context, text string) error {
	o := s.options
	o.Session = s.observer.Session().ID
	if limit := s.Playbook.Limits.MaxToolCalls; limit > 0 {
		// Each turn of the model but the last one makes a call, so this ends no session that keeps to the limit.
		o.MaxTurns = max(limit-s.observer.Calls(), 0) + 1
	}
	policy := s.agentPolicy()
	if err := errors.Join(s.startServersAnew(), s.reachRelays(&policy)); err != nil {
		return err
	}
	policy.Read = append(policy.Read, s.hooks.program, s.hooks.given)
	process, err := s.startAgent(context.WithoutCancel(ctx), supervise.Command{
		Path: s.Launch.Command, Args: append([]string{s.Launch.Command}, o.Argv()...),
		Env:   append(s.agentEnviron(), s.hooks.environ...),
		Stdin: strings.NewReader(text), PipeStdout: true, Stderr: s.stderr, Grace: s.Profile.Grace,
	}, policy)
	if err != nil {
		s.notAsked()
		return err
	}
	stop := context.AfterFunc(ctx, func() { _, _ = process.Kill() })
	defer stop()
	err = s.observer.Read(process.stdout, func(at time.Time, line []byte) {
		s.Log.frame(acp.Frame{Time: at, Direction: acp.ToClient, Raw: line})
	})
	if err != nil {
		if claudecli.IsSetup(err) {
			s.notAsked()
		}
		_, killed := process.Kill()
		return errors.Join(cmp.Or(s.checkServers(), err), killed)
	}
	select { // what closed its output says no more
	case <-process.Done():
	case <-time.After(lingers):
		_, _ = process.Kill()
	}
	exit, err := process.Wait()
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("end the agent: %w", err)
	}
	s.normalise.Session(s.observer.Session().ID)
	if s.observer.Ended() {
		return nil
	}
	return s.unanswered(exit)
}

// notAsked takes the prompt back: it has cost nothing.
func (s *headless) notAsked() { s.watch.note(func(a *Activity) { a.Iteration-- }) }

// lingers is how long a program may take to end once it has closed its output.
const lingers = 5 * time.Second

// unanswered says that the program ended without an answer. Before there was a session, another attempt may get one.
func (s *headless) unanswered(exit supervise.Exit) error {
	err := s.stderr.explain(fmt.Errorf("the agent ended without a result: %s", exit))
	if s.observer.Session().ID == "" {
		return fault.Transient(err)
	}
	return err
}

// checkCapture makes sure that the hooks saw all that the agent reported: a session in which they did not work is one
// of which nobody knows whether its agent reported everything.
func (s *headless) checkCapture(turn claudecli.Turn) error {
	s.ran = append(s.ran, turn.Ran...)
	captured, err := capture.Check(s.hooks.capture, s.ran)
	if err != nil {
		return fmt.Errorf("check what the agent's hooks captured: %w", err)
	}
	for _, note := range captured.Notes {
		s.Log.Notef("hooks: %s", note)
	}
	return nil
}

// warnings implements [conversation]. A line that is no message is an error of its own.
func (s *headless) warnings() []string { return nil }

// close implements [conversation]. All that the agent does ends with its turn.
func (s *headless) close(ctx context.Context, last *cassette.Turn) error {
	var err error
	if s.stderr != nil {
		err = s.stderr.Close()
	}
	if err = errors.Join(err, s.tools.close(), s.hooks.remove()); err != nil || last == nil {
		return err
	}
	return s.complete(ctx, last, nil)
}

// settingsFile is the file with the hooks, in the directory of what the agent is given.
const settingsFile = "settings.json"

// hooks are those of one session: what its agent is given to read, and where they write.
type hooks struct {
	program  string // the helper
	given    string // a directory of files that the agent may read and not write
	settings string // the file with the hooks
	capture  string // the file that they write
	environ  []string
}

// installHooks makes the hooks of the unit's agent.
func installHooks(c *Config) (h hooks, err error) {
	p, err := helper.Find()
	if err != nil {
		return h, err
	}
	h.program = p.Path
	if h.given, err = disk.MkdirTemp(c.TempDir); err != nil {
		return h, err
	}
	id, err := testrun.ID(c.Getenv)
	if err != nil {
		return h, err
	}
	h.settings = filepath.Join(h.given, settingsFile)
	h.capture = filepath.Join(c.Dirs.Base, "hooks", "tool-calls.jsonl")
	h.environ = hook.Target{RunID: id, Project: c.Dirs.seen(), Capture: h.capture}.Environment()
	argv := p.Command() // to which the settings add the hook and its phase
	argv[0] = filepath.ToSlash(argv[0])
	settings := hook.Settings(hook.Handlers{Command: words.Join(argv...)})
	if err := os.Mkdir(filepath.Dir(h.capture), 0o700); err != nil {
		return h, err
	}
	return h, writeFiles(h.given, []agent.File{{Path: settingsFile, Data: settings}})
}

// paths are the directories of the hooks, with their names in recordings.
func (h hooks) paths() map[string]string {
	return map[string]string{h.given: "$HOOKS", filepath.Dir(h.capture): "$CAPTURE"}
}

// remove deletes what was made for the hooks outside of the unit's directories.
func (h hooks) remove() error {
	if h.given == "" {
		return nil
	}
	return disk.RemoveAll(h.given)
}
