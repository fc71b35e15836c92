package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/clienttools"
	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/interaction"
	"github.com/sdd-eval/sdd-eval/internal/mcpproxy"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// tools is what stands between an agent and those it asks, where the playbook's level says that the agent runs in replay,
// too.
type tools struct {
	// player makes the changes of the recorded turns in the workspace, which commands made that do not run again; nil: the
	// agent's own are made.
	player *cassette.Player
	// client has the answers of the client; nil: it answers itself.
	client *interaction.Book
	// servers have the answers of MCP servers; nil: they answer themselves.
	servers *mcpproxy.Replay
	// proxy stands for MCP servers; nil: the agent starts them.
	proxy *mcpproxy.Proxy
}

// level is what the unit's cassette replays.
func (a *attempt) level() string { return string(cmp.Or(a.pb.Cassette.Level, playbook.LevelRun)) }

// openTools opens what the agent is answered from.
func (a *attempt) openTools() error {
	level := a.pb.Cassette.Level
	if !level.RunsAgent() {
		return nil
	}
	a.tools = new(tools)
	if a.records || a.cfg.Mode == Live {
		return nil
	}
	a.result.Session = a.relCassettePath()
	c, err := a.openCassette()
	if err != nil {
		return advised{err, a.cfg.Command(Record, a.unit)}
	}
	if level.Client() {
		a.tools.client = interaction.NewBook(clienttools.Interactions(c.Turns))
		a.tools.player = cassette.NewPlayer(c, a.dirs.workspace)
	}
	if level.MCP() {
		a.tools.servers = mcpproxy.Recorded(c.Turns)
	}
	return nil
}

// diverged ends the session of an agent that cannot be answered.
func (s *live) diverged(err error) {
	if _, ok := errors.AsType[*interaction.DivergenceError](err); ok {
		err = advised{fmt.Errorf("%s: %w", s.a.relCassettePath(), err), s.a.cfg.Command(Record, s.a.unit)}
	}
	s.interruptTurn(s.a.ofServer(err))
}

// ofServer advises on an error of an MCP server.
func (a *attempt) ofServer(err error) error {
	s, ok := errors.AsType[*mcpproxy.ServerError](err)
	if !ok {
		return err
	}
	return advised{err, fmt.Sprintf("start the server of %s by itself to see what it does: %s", s.Server.Position, strings.Join(s.Server.Command, " "))}
}

// waiting returns which MCP server has not answered the agent, nil if there is none.
func (a *attempt) waiting() error {
	if a.tools == nil || a.tools.proxy == nil {
		return nil
	}
	if err := a.tools.proxy.Waiting(); err != nil {
		return a.ofServer(fmt.Errorf("limits.timeout of %v is over, and %w", a.timeout(), err))
	}
	return nil
}

// serve returns what answers the agent's requests: the real client, or the recording, with overrides before them.
func (s *live) serve(real clienttools.Client) clienttools.Client {
	a := s.a
	if !a.pb.Cassette.Level.Client() {
		return real
	}
	cfg := clienttools.Config{Normaliser: s.normalise, Call: s.observer.Call, Diverged: s.diverged}
	if a.tools.client == nil {
		return clienttools.Override(cfg, real, a.overrides)
	}
	recorded := clienttools.Replay(cfg, a.tools.client, s.files)
	if real.Files == nil { // what the agent was not offered
		recorded.Files = nil
	}
	if real.Terminals == nil {
		recorded.Terminals = nil
	}
	return clienttools.Override(cfg, recorded, a.overrides)
}

// servers returns the MCP servers for the agent to start: the playbook's, or what stands for them.
func (s *live) servers() ([]acp.McpServer, error) {
	a := s.a
	if !a.pb.Cassette.Level.MCP() {
		return mcpServers(a.pb.MCP), nil
	}
	cfg := mcpproxy.Config{
		Dir: a.socketDir(), Servers: a.pb.MCP, Overrides: a.overrides, Replay: a.tools.servers,
		StartTimeout: min(a.timeout(), mcpproxy.DefaultStartTimeout),
		Start: func(ctx context.Context, c supervise.Command) (*supervise.Process, error) {
			c.Dir, c.Env = a.dirs.workspace, s.env
			return a.Runner.start(ctx, c, a.serverPolicy())
		},
		Normalise: s.normalise.Value, Denormalise: s.normalise.RestoreValue, Mask: a.secrets.String,
		OnCall:  func(c trajectory.MCPCall) { s.observer.MCP(time.Now(), c) },
		OnError: s.diverged,
	}
	var err error
	if a.tools.proxy, err = mcpproxy.Listen(cfg); err != nil {
		return nil, err
	}
	return a.tools.proxy.Servers()
}

// showRelays lets an agent start what stands for MCP servers, our own binary, and that connect to us: to what is in a
// directory which has to be there when the agent starts.
func (a *attempt) showRelays(p *confine.Policy) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	p.Read = append(p.Read, self)
	p.Connect = append(p.Connect, a.socketDir())
	return os.Mkdir(a.socketDir(), 0o700)
}

// socketDir is where the agent reaches what stands for MCP servers.
func (a *attempt) socketDir() string { return filepath.Join(a.dirs.base, "mcp") }

// replayChanges makes the changes that the recorded turn made.
func (t *tools) replayChanges(ctx context.Context) error {
	if t == nil || t.player == nil {
		return nil
	}
	return t.player.ApplyNext(ctx)
}

// close ends what stands between.
func (t *tools) close() error {
	if t == nil {
		return nil
	}
	var errs []error
	if t.proxy != nil {
		errs = append(errs, t.proxy.Close())
	}
	if t.player != nil {
		errs = append(errs, t.player.Close())
	}
	return errors.Join(errs...)
}

// books are those that the agent is answered from.
func (t *tools) books() []*interaction.Book {
	var books []*interaction.Book
	if t != nil && t.client != nil {
		books = append(books, t.client)
	}
	if t != nil && t.servers != nil {
		books = append(books, t.servers.Book)
	}
	return books
}

// checkOverridesAndOrder tells what the session did not need, now that it has ended: overrides, which is an error, and the
// recorded order, which is a warning.
func (a *attempt) checkOverridesAndOrder() error {
	if a.session == nil || a.pb.Cassette.Level.RunsAgent() && a.tools == nil { // not begun, or rehearsed
		return nil
	}
	for _, b := range a.tools.books() {
		for _, line := range b.Reordered() {
			a.result.Warnings = append(a.result.Warnings, "reordered: "+line)
		}
	}
	return a.checkOverrides()
}

// failOnUnusedAnswers fails a unit that otherwise passed if its agent did not ask for all that was recorded.
func (a *attempt) failOnUnusedAnswers() {
	if a.result.Outcome != result.Pass && a.result.Outcome != result.Completed {
		return
	}
	var unused []string
	if a.tools != nil && a.tools.servers != nil {
		for _, name := range a.unstarted() {
			unused = append(unused, fmt.Sprintf("  the MCP server %q was not started", name))
		}
	}
	for _, b := range a.tools.books() {
		for _, i := range b.Unused(a.pb.Cassette.AllowUnused) {
			unused = append(unused, fmt.Sprintf("  %s: %s", i.Position, i))
		}
	}
	if len(unused) == 0 {
		return
	}
	const shown = 10
	if more := len(unused) - shown; more > 1 {
		unused = append(unused[:shown], fmt.Sprintf("  and %d more", more))
	}
	a.result.Outcome = result.Fail
	a.result.Reason = "the agent did not ask for all that was recorded (cassette.allow_unused permits it for a tool):\n" + strings.Join(unused, "\n")
	a.result.Next = a.cfg.Command(Record, a.unit)
}

// checkReplayable refuses a recording from which nothing would be replayed at the playbook's level: of an agent that works
// in its own process.
func (a *attempt) checkReplayable() error {
	level, next := a.pb.Cassette.Level, fmt.Sprintf("write `cassette: {level: run}` in %s", a.pb.File)
	if level.Client() && !a.usesClient() {
		return advised{
			fmt.Errorf("no cassette was written: with `level: %s` an agent is answered by its client, and this one asked it for no file and no terminal: "+
				"it works in its own process", level),
			next,
		}
	}
	if missing := a.unstarted(); level.MCP() && len(missing) > 0 {
		return advised{
			fmt.Errorf("no cassette was written: with `level: %s` an agent asks MCP servers, and this one did not start %q", level, missing[0]),
			next,
		}
	}
	return nil
}

// usesClient reports whether the agent asked its client for a file or a terminal.
func (a *attempt) usesClient() bool {
	return slices.ContainsFunc(a.turns, func(t cassette.Turn) bool {
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
func (a *attempt) unstarted() []string {
	started := make(map[string]bool)
	for _, t := range a.turns {
		for _, e := range t.Events {
			if c, ok := e.Body.(trajectory.MCPCall); ok {
				started[c.Server] = true
			}
		}
	}
	var names []string
	for _, s := range a.pb.MCP {
		if !started[s.Name] {
			names = append(names, s.Name)
		}
	}
	return names
}
