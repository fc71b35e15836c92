package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/helper"
	"github.com/sdd-eval/sdd-eval/internal/interaction"
	"github.com/sdd-eval/sdd-eval/internal/interaction/clienttools"
	"github.com/sdd-eval/sdd-eval/internal/interaction/mcpproxy"
	"github.com/sdd-eval/sdd-eval/internal/interaction/mcpproxy/relay"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
)

// tools is what stands between the agent and those it asks, where the playbook's level says that the agent runs in
// replay, too. With the zero value, nothing does.
type tools struct {
	// overrides are answers of the playbook's.
	overrides *interaction.Overrides
	// player makes the changes of the recorded turns in the workspace, which commands made that do not run again; nil:
	// the agent's own are made.
	player *cassette.Player
	// client has the answers of the client; nil: it answers itself.
	client *interaction.Recording
	// servers have the answers of MCP servers; nil: they answer themselves.
	servers *mcpproxy.Replay
	// proxy stands for MCP servers; nil: the agent starts them.
	proxy *mcpproxy.Proxy
}

// newTools opens what the agent is answered from.
func newTools(c *Config, overrides *interaction.Overrides) tools {
	t, level, recorded := tools{overrides: overrides}, c.Playbook.Cassette.Level, c.Recording.Cassette
	if recorded == nil {
		return t
	}
	if level.Client() {
		t.client = interaction.NewRecording(clienttools.Interactions(recorded.Turns))
		t.player = cassette.NewPlayer(recorded, c.Dirs.Workspace)
	}
	if level.MCP() {
		t.servers = mcpproxy.Recorded(recorded.Turns)
	}
	return t
}

// diverged ends the session of an agent that cannot be answered.
func (s *live) diverged(err error) {
	if _, ok := errors.AsType[*interaction.DivergenceError](err); ok {
		err = fault.Advise(fmt.Errorf("%s: %w", s.Recording.Cassette.Path, err), s.Recording.Next)
	}
	s.interruptTurn(ofServer(err))
}

// ofServer advises on an error of an MCP server.
func ofServer(err error) error {
	s, ok := errors.AsType[*mcpproxy.ServerError](err)
	if !ok || len(s.Server.Mock) > 0 {
		return err
	}
	return fault.Advise(err, fmt.Sprintf("start the server of %s by itself to see what it does: %s",
		s.Server.Position, strings.Join(s.Server.Command, " ")))
}

// waiting returns which MCP server has not answered the agent, nil if there is none.
func (s *live) waiting() error {
	if s.tools.proxy == nil {
		return nil
	}
	if err := s.tools.proxy.Waiting(); err != nil {
		return ofServer(fmt.Errorf("limits.timeout of %v exceeded: %w", s.Playbook.UnitTimeout(), err))
	}
	return nil
}

// serve returns what answers the agent's requests: the real client, or the recording, with overrides before them.
func (s *live) serve(real clienttools.Client) clienttools.Client {
	if !s.Playbook.Cassette.Level.Client() {
		return real
	}
	cfg := clienttools.Config{Normaliser: s.normalise, Call: s.observer.Call, Diverged: s.diverged}
	if s.tools.client == nil {
		return clienttools.Override(cfg, real, s.tools.overrides)
	}
	recorded := clienttools.Replay(cfg, s.tools.client, s.files)
	if real.Files == nil { // what the agent was not offered
		recorded.Files = nil
	}
	if real.Terminals == nil {
		recorded.Terminals = nil
	}
	return clienttools.Override(cfg, recorded, s.tools.overrides)
}

// proxied divides the playbook's MCP servers: what stands for the proxied ones sees all that they are asked, whatever
// the agent tells. Those are all where they are replayed, else those that are played.
func (c *Config) proxied() (proxied, own []plan.MCPServer) {
	for _, s := range c.Playbook.MCP {
		if c.Playbook.Cassette.Level.MCP() || len(s.Mock) > 0 {
			proxied = append(proxied, s)
		} else {
			own = append(own, s)
		}
	}
	return proxied, own
}

// servers returns the MCP servers for the agent to start: the playbook's, or what stands for them. Asked is called with
// what that sees, broken with what is wrong with a server.
func (s *processSession) servers(broken func(error), asked func(trajectory.MCPCall)) ([]acp.McpServer, error) {
	proxied, own := s.proxied()
	if len(s.Playbook.MCP) == 0 {
		return mcpServers(nil), nil
	}
	if err := os.Mkdir(s.socketDir(), 0o700); err != nil {
		return nil, err
	}
	program, err := helper.Find()
	if err != nil {
		return nil, err
	}
	for i, server := range own {
		own[i].Command = program.Command(append([]string{helper.Server, s.failureOf(server)}, server.Command...)...)
	}
	if len(proxied) == 0 {
		return mcpServers(own), nil
	}
	cfg := mcpproxy.Config{
		Dir: s.socketDir(), Servers: proxied, Mocks: s.Mocks, Replay: s.tools.servers,
		StartTimeout: min(s.Playbook.UnitTimeout(), mcpproxy.DefaultStartTimeout),
		Start: func(ctx context.Context, c supervise.Command) (*supervise.Process, error) {
			c.Dir, c.Env = s.Dirs.Workspace, s.agentEnviron()
			return s.Start(ctx, c, s.serverPolicy())
		},
		Normalise: s.normalise.Value, Denormalise: s.normalise.RestoreValue, Mask: s.Secrets.String,
		OnCall: asked, OnError: broken,
	}
	if s.Playbook.Cassette.Level.MCP() { // else they change what the run tells
		cfg.Overrides = s.tools.overrides
	}
	if s.tools.proxy, err = mcpproxy.Listen(cfg); err != nil {
		return nil, err
	}
	relays, err := s.tools.proxy.Servers()
	return append(relays, mcpServers(own)...), err
}

// failureOf is the file that says how an MCP server of the agent's failed.
func (c *Config) failureOf(s plan.MCPServer) string { return filepath.Join(c.socketDir(), s.Name) }

// checkServers returns how an MCP server failed that the agent started itself: agents go on without one.
func (c *Config) checkServers() error {
	_, own := c.proxied()
	for _, server := range own {
		if _, err := os.Lstat(relay.Answered(c.failureOf(server))); err == nil {
			continue // the agent had one that works
		}
		const limit = 4 << 10
		how, err := disk.ReadRegular(c.failureOf(server), limit)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = errors.New(excerpt.Line(string(how), limit))
		}
		return ofServer(&mcpproxy.ServerError{Server: server, Err: err})
	}
	return nil
}

// startServersAnew forgets who answered, before a program starts them all again.
func (c *Config) startServersAnew() error {
	_, own := c.proxied()
	for _, server := range own {
		if err := os.Remove(relay.Answered(c.failureOf(server))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// reachRelays lets an agent start the helper, which runs MCP servers or connects to what stands for them.
func (c *Config) reachRelays(p *confine.Policy) error {
	if len(c.Playbook.MCP) == 0 {
		return nil
	}
	program, err := helper.Find()
	if err != nil {
		return err
	}
	p.Read = append(p.Read, program.Path)
	if proxied, _ := c.proxied(); len(proxied) > 0 {
		p.Connect = append(p.Connect, c.socketDir())
	}
	return nil
}

// socketDir is where the agent reaches what stands for MCP servers.
func (c *Config) socketDir() string { return filepath.Join(c.Dirs.Base, "mcp") }

// replayChanges makes the changes that the recorded turn made.
func (t *tools) replayChanges(ctx context.Context) error {
	if t.player == nil {
		return nil
	}
	return t.player.ApplyNext(ctx)
}

// close ends what stands between.
func (t *tools) close() error {
	var errs []error
	if t.proxy != nil {
		errs = append(errs, t.proxy.Close())
	}
	if t.player != nil {
		errs = append(errs, t.player.Close())
	}
	return errors.Join(errs...)
}

// recordings are those that the agent is answered from.
func (t *tools) recordings() []*interaction.Recording {
	var recordings []*interaction.Recording
	if t.client != nil {
		recordings = append(recordings, t.client)
	}
	if t.servers != nil {
		recordings = append(recordings, t.servers.Recording)
	}
	return recordings
}

// Reordered tells where the agent did not keep to the recorded order, a line each.
func (s *Session) Reordered() []string {
	var lines []string
	for _, b := range s.tools.recordings() {
		lines = append(lines, b.Reordered()...)
	}
	return lines
}

// CheckOverrides returns an error for each override that changed no answer: whoever wrote it believes that something is
// tested that is not. It is called after [Session.Run].
func (s *Session) CheckOverrides() error {
	var errs []error
	for _, o := range s.overrides.Unapplied() {
		what := o.Tool
		if o.Args != nil {
			args, err := json.Marshal(o.Args)
			if err != nil {
				return err
			}
			what += " " + string(args)
		}
		if o.Nth > 0 {
			what = fmt.Sprintf("call %d of %s", o.Nth, what)
		}
		errs = append(errs, fmt.Errorf("%s: the override of %s was not used: "+
			"the agent made no such call, or another override answers the call", o.Position, what))
	}
	return errors.Join(errs...)
}

// Unused tells what the agent did not ask for of what was recorded, a line each.
func (s *Session) Unused() []string {
	var unused []string
	if s.tools.servers != nil {
		for _, name := range s.unstarted() {
			unused = append(unused, fmt.Sprintf("the MCP server %q was not started", name))
		}
	}
	for _, b := range s.tools.recordings() {
		for _, i := range b.Unused(s.config.Playbook.Cassette.AllowUnused) {
			unused = append(unused, fmt.Sprintf("%s: %s", i.Position, i))
		}
	}
	return unused
}

// CheckReplayable refuses a recording from which nothing would be replayed at the playbook's level: of an agent that
// works in its own process.
func (s *Session) CheckReplayable() error {
	level := s.config.Playbook.Cassette.Level
	next := fmt.Sprintf("write `cassette: {level: run}` in %s", s.config.Playbook.File)
	if level.Client() && !s.usedClient() {
		return fault.Advise(
			fmt.Errorf("no cassette was written: with `level: %s` an agent is answered by its client, "+
				"and this one asked it for no file and no terminal: it works in its own process", level),
			next,
		)
	}
	if missing := s.unstarted(); level.MCP() && len(missing) > 0 {
		return fault.Advise(
			fmt.Errorf(
				"no cassette was written: with `level: %s` an agent asks MCP servers, and this one did not start %q",
				level, missing[0]),
			next,
		)
	}
	return nil
}

// usedClient reports whether the agent asked its client for a file or a terminal.
func (s *Session) usedClient() bool {
	return slices.ContainsFunc(s.turns, func(t cassette.Turn) bool {
		return slices.ContainsFunc(t.Events, func(e trajectory.Event) bool {
			switch e.Body.(type) {
			case trajectory.FileRead, trajectory.FileWrite, trajectory.Terminal:
				return true
			}
			return false
		})
	})
}

// unstarted returns those of the playbook's MCP servers that the agent asked for nothing, not even what they are.
func (s *Session) unstarted() []string {
	started := make(map[string]bool)
	for _, t := range s.turns {
		for _, e := range t.Events {
			if c, ok := e.Body.(trajectory.MCPCall); ok {
				started[c.Server] = true
			}
		}
	}
	var names []string
	for _, server := range s.config.Playbook.MCP {
		if !started[server.Name] {
			names = append(names, server.Name)
		}
	}
	return names
}

// noticeOverride is the name of the notice that follows an overridden answer in a run.
const noticeOverride = "override"

// overridesOf returns the overrides of one session.
func overridesOf(all []plan.Override) *interaction.Overrides {
	overrides := make([]interaction.Override, len(all))
	for i, o := range all {
		overrides[i] = interaction.Override{
			Tool: o.Tool, Nth: o.Nth, Output: o.Output, Error: o.Error, Position: o.Position.String(),
		}
		if o.Args != nil { // an empty map in an interface is not nil
			overrides[i].Args = o.Args
		}
	}
	return interaction.NewOverrides(overrides)
}

// override gives calls of tools in a run the answers that the playbook has for them. What the agent made of its own
// answers stays as it was.
func override(run *trajectory.Run, overrides *interaction.Overrides) {
	ends := make(map[string]int) // of calls; those without have no answer to change
	for i, e := range run.Events {
		if end, ok := e.Body.(trajectory.ToolEnd); ok {
			ends[end.ID] = i
		}
	}
	answers := make(map[int]trajectory.ToolEnd) // by the event that they take the place of
	for _, e := range run.Events {
		start, ok := e.Body.(trajectory.ToolStart)
		if end, answered := ends[start.ID]; ok && answered {
			if output, failure, ok := overrides.Apply(start.Name, start.Args); ok && failure != "" {
				answers[end] = trajectory.ToolEnd{ID: start.ID, Status: trajectory.Failed, Output: failure}
			} else if ok {
				answers[end] = trajectory.ToolEnd{ID: start.ID, Status: trajectory.Completed, Output: output}
			}
		}
	}
	var events []trajectory.Event
	for i, e := range run.Events {
		answer, ok := answers[i]
		if !ok {
			events = append(events, e)
			continue
		}
		e.Body = answer
		notice := e
		notice.Body = trajectory.Notice{Name: noticeOverride, Data: map[string]any{"id": answer.ID}}
		events = append(events, e, notice)
	}
	run.Events = events
}
