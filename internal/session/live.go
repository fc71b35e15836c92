package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/claude"
	"github.com/sdd-eval/sdd-eval/internal/interaction/clienttools"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/localtools"
	"github.com/sdd-eval/sdd-eval/internal/observe"
	"github.com/sdd-eval/sdd-eval/internal/panics"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
)

// startTimeout bounds the agent's start, up to its first session.
const startTimeout = 2 * time.Minute

// live is a conversation with an agent's process over the Agent Client Protocol.
type live struct {
	processSession
	child     child
	client    *acp.Client
	session   *acp.Session
	files     *localtools.Files
	terminals *localtools.Terminals
	methods   []acp.AuthMethod // ways to authenticate
	env       []string         // of what is started for the agent: without its account
	observer  observe.Observer
	noise     noise
	limitTold bool // that the agent met a limit of the machine
}

// startLive starts the unit's agent and opens a session in its workspace.
func startLive(ctx context.Context, of *Session) (conversation, error) {
	s := &live{processSession: newProcessSession(of, nil)}
	s.overdue = s.waiting
	late := fmt.Errorf("the agent took longer than %v to start", startTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, late)
	defer cancel()
	if err := s.start(ctx); err != nil {
		if broken := s.setInterrupt(nil); broken != nil {
			err = broken // what the agent says is what it made of that
		}
		if cause := context.Cause(ctx); cause != nil {
			err = fmt.Errorf("%w (%w)", err, cause)
		}
		return nil, errors.Join(err, s.close(context.WithoutCancel(ctx), nil))
	}
	s.deadline = time.Now().Add(s.Playbook.UnitTimeout())
	return s, nil
}

// start makes everything that the session consists of; what it made before an error, Close ends.
func (s *live) start(ctx context.Context) error {
	if err := writeFiles(s.Dirs.Home, s.Launch.Files); err != nil {
		return err
	}
	s.env = s.agentEnviron()
	var err error
	if s.files, err = localtools.OpenFiles(s.Dirs.Workspace, s.Dirs.Seen); err != nil {
		return err
	}
	s.files.OnDeny = func(d localtools.Denied) { s.Log.denied(&d) }
	s.terminals = localtools.NewTerminals(s.files, localtools.TerminalConfig{
		Env:   s.environ(s.Playbook.Sandbox.Network != plan.NetworkAll),
		Allow: s.Playbook.AllowedCommands(), Confined: s.Confined,
		Start: func(ctx context.Context, c supervise.Command) (*supervise.Process, error) {
			return s.Start(ctx, c, s.commandPolicy())
		},
	})

	policy := s.agentPolicy()
	path, args := s.Launch.Command, append([]string{s.Launch.Command}, s.Launch.Args...)
	if s.Profile.Kind == fakeKind {
		policy.Read = s.Launch.Args
		if path, args, err = fakeCommand(s.Launch.Args); err != nil {
			return err
		}
	}
	if err := s.reachRelays(&policy); err != nil {
		return err
	}
	servers, err := s.servers(s.diverged, func(c trajectory.MCPCall) { s.observer.MCP(time.Now(), c) })
	if err != nil {
		return err
	}
	if path := s.Profile.MCPFile; path != "" && len(servers) > 0 {
		if err := writeFiles(s.Dirs.Home, []agent.File{{Path: path, Data: mcpFile(servers)}}); err != nil {
			return err
		}
		servers = []acp.McpServer{}
	}
	s.stderr = s.Log.stderr()
	s.child, err = s.startAgent(context.WithoutCancel(ctx), supervise.Command{
		Path: path, Args: args, Env: s.env, PipeStdin: true, PipeStdout: true, Stderr: s.stderr, Grace: s.Profile.Grace,
	}, policy)
	if err != nil {
		return err
	}
	if err := s.connect(ctx, servers); err != nil {
		return fmt.Errorf("start %s: %w", s.Launch.Command, err)
	}
	return nil
}

// connect speaks with the started agent until there is a session with these MCP servers.
func (s *live) connect(ctx context.Context, servers []acp.McpServer) error {
	s.observer.OnCall, s.observer.OnTold = s.countCall, s.told
	for _, server := range s.Playbook.MCP {
		s.observer.Servers = append(s.observer.Servers, server.Name)
	}
	cfg := acp.ClientConfig{
		Info: acp.Implementation{Name: "sdd-eval", Title: "sdd-eval", Version: s.Version},
		Tap: func(f acp.Frame) {
			s.Log.frame(f)
			s.noise.take(f)
			s.observer.Frame(f)
			if err := s.observer.Err(); err != nil {
				s.interruptTurn(err)
			}
		},
		Update:      s.update,
		Panicked:    func(v any, stack []byte) { s.interruptTurn(&panics.Error{Value: v, Stack: stack}) },
		CancelGrace: s.Grace / 4,
	}
	client := clienttools.Client{Permission: s.decide}
	if s.Profile.ClientFiles {
		client.Files = s.files.Handler()
	}
	if s.Profile.ClientTerminals {
		client.Terminals = s.terminals.Handler()
	}
	client = s.serve(client)
	cfg.Files, cfg.Terminals, cfg.Permission = client.Files, client.Terminals, client.Permission
	s.client = acp.NewClient(s.child.stdout, s.child.stdin, cfg)
	init, err := s.client.Initialize(ctx)
	if err != nil {
		return s.notStarted(err)
	}
	s.who.Protocol = init.ProtocolVersion
	if init.AgentInfo != nil {
		s.who.Agent.Name, s.who.Agent.Version = init.AgentInfo.Name, init.AgentInfo.Version
	}
	s.methods = init.AuthMethods
	if err := s.login(ctx); err != nil {
		return err
	}
	request := acp.NewSessionRequest{Cwd: s.Dirs.seen(), McpServers: servers}
	if plugins := s.plugins(); plugins != nil {
		request.Meta = pluginsMeta(plugins)
	}
	s.session, err = s.client.NewSession(ctx, request)
	if err != nil {
		err = fmt.Errorf("open a session: %w", err)
		if wantsLogin(err) {
			return s.refusedLogin(err)
		}
		return s.notStarted(err)
	}
	s.normalise.Session(s.session.ID())
	return s.configure(ctx)
}

// pluginsMeta tells an adapter of Claude Code of directories with plugins: both take options of its SDK so.
func pluginsMeta(dirs []string) []byte {
	type plugin struct {
		Type string `json:"type"`
		Path string `json:"path"`
	}
	all := make([]plugin, len(dirs))
	for i, dir := range dirs {
		all[i] = plugin{"local", dir}
	}
	options := map[string]any{"options": map[string]any{"plugins": all}}
	data, err := jsonvalue.Marshal(map[string]any{"claudeCode": options})
	if err != nil {
		panic("session: a message of our own: " + err.Error())
	}
	return data
}

// mcpFile returns a configuration of MCP servers for an agent that starts what its own file names.
func mcpFile(servers []acp.McpServer) []byte {
	type local struct {
		Type    string   `json:"type"`
		Command string   `json:"command"`
		Args    []string `json:"args"`
		Tools   []string `json:"tools"`
	}
	all := make(map[string]local, len(servers))
	for _, s := range servers {
		if s, ok := s.(acp.McpServerStdio); ok {
			all[s.Name] = local{"local", s.Command, append([]string{}, s.Args...), []string{"*"}}
		}
	}
	data, err := jsonvalue.Marshal(map[string]any{"mcpServers": all})
	if err != nil {
		panic("session: a configuration of our own: " + err.Error())
	}
	return data
}

// mcpServers are the playbook's, for the agent to start as its children.
func mcpServers(servers []plan.MCPServer) []acp.McpServer {
	all := make([]acp.McpServer, len(servers))
	for i, s := range servers {
		all[i] = acp.McpServerStdio{
			Name: s.Name, Command: s.Command[0], Args: append([]string{}, s.Command[1:]...), Env: []acp.EnvVariable{},
		}
	}
	return all
}

// configure selects the mode and the model that the playbook asks for. Without a mode in the playbook, the agent gets
// one in which it asks, so that permissions decide.
func (s *live) configure(ctx context.Context) error {
	initial, offered := s.session.Mode()
	s.who.Agent.Modes = addMode(nil, initial)
	mode := cmp.Or(s.Unit.Variant.Agent.Mode, firstOf(s.Profile.AskingModes, offered))
	if mode == "" {
		if mode = firstOf(s.Profile.UnaskingModes, offered); mode != "" {
			if err := s.allowsUnasked(mode); err != nil {
				return err
			}
		}
	}
	if mode != "" && mode != initial {
		if err := s.session.SetMode(ctx, mode); err != nil {
			return err
		}
		s.who.Agent.Modes = addMode(s.who.Agent.Modes, acp.ModeName(mode))
	}
	_ = s.observer.Modes() // told before, or because of this
	if model := s.Unit.Variant.Agent.Model; model != "" {
		return s.session.SetModel(ctx, model)
	}
	return nil
}

// firstOf returns the first of the wanted modes that is offered, empty if none is.
func firstOf(wanted, offered []string) string {
	for _, w := range wanted {
		if slices.Contains(offered, w) {
			return w
		}
	}
	return ""
}

// prompt implements [conversation].
func (s *live) prompt(ctx context.Context, text string) (cassette.Turn, error) {
	limit, err := s.turn(ctx, func(ctx context.Context) error { return s.ask(ctx, text) })
	if o, ok := errors.AsType[*outage](err); ok {
		return cassette.Turn{Events: s.normalise.Events(s.observer.Turn())}, s.advise(o)
	}
	if err != nil {
		return cassette.Turn{}, err
	}
	events := s.observer.Turn()
	s.noteModes(s.observer.Modes())
	if limit != "" {
		events = endedBy(events, limit, s.observer.At(time.Now()))
	}
	if err := s.observer.Err(); err != nil {
		return cassette.Turn{}, err
	}
	if err := s.tools.replayChanges(ctx); err != nil {
		return cassette.Turn{}, err
	}
	return s.settle(ctx, events)
}

// ask prompts the agent and waits for its answer. An agent that does not give one is killed: it may still be at work,
// and what it does now belongs to no turn. Close reports what cannot be killed.
func (s *live) ask(ctx context.Context, text string) error {
	resp, err := s.session.Prompt(ctx, acp.TextContent{Text: text})
	if answer, ok := errors.AsType[*acp.Error](err); ok && claude.OutOfTokens(answer.Message) {
		return limitReached{string(acp.StopMaxTokens)} // it has told what it could do until then
	}
	if err != nil {
		if ctx.Err() == nil {
			err = s.exited(err)
		}
		_, _ = s.child.Kill()
		if wantsLogin(err) {
			err = s.refusedLogin(err)
		}
		return refusedPrompt(err)
	}
	if !slices.Contains(stopReasons, resp.StopReason) {
		return fmt.Errorf("the agent ended its turn with the unknown stop reason %q",
			resp.StopReason)
	}
	return nil
}

// stopReasons are those of the protocol.
var stopReasons = []acp.StopReason{
	acp.StopEndTurn, acp.StopMaxTokens, acp.StopMaxTurnRequests, acp.StopRefusal, acp.StopCancelled,
}

// update takes what the agent says of its session. The turn ends in which that becomes too expensive.
func (s *live) update(n acp.SessionNotification) {
	switch u := n.Update.(type) {
	case acp.ToolCall:
		s.watch.note(func(a *Activity) { a.Tool = u.Title })
	case acp.UsageUpdate:
		if u.Cost == nil || u.Cost.Currency != usd {
			return
		}
		s.watch.note(func(a *Activity) { a.Cost = &u.Cost.Amount })
		if limit := s.Playbook.Limits.MaxCostUSD; limit > 0 && u.Cost.Amount > limit {
			s.interruptTurn(limitReached{result.StopCostLimit})
		}
	}
}

// close implements [conversation]: it ends the agent and everything it started.
func (s *live) close(ctx context.Context, last *cassette.Turn) error {
	if err := s.end(ctx); err != nil || last == nil {
		return err
	}
	late := slices.DeleteFunc(s.observer.Turn(), func(e trajectory.Event) bool {
		_, isStop := e.Body.(trajectory.Stop) // to a turn that a limit has ended
		return isStop
	})
	s.noteModes(s.observer.Modes())
	return errors.Join(s.complete(ctx, last, late), s.observer.Err())
}

// end ends what was started, and what was not is nil.
func (s *live) end(ctx context.Context) error {
	var errs []error
	if s.client != nil {
		s.client.Close()
	}
	if s.child.process != nil {
		// How the agent ends once its work is done says nothing: many ignore the end of their input and have to be
		// killed. That something of it could not be ended does.
		if _, err := s.child.Stop(ctx); err != nil && !(s.limitTold && metLimit(err)) {
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
