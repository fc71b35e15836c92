package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/clienttools"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// connect speaks with the started agent until there is a session.
func (s *live) connect(ctx context.Context, profile agent.Profile, launch agent.Launch) error {
	a := s.a
	s.observer.OnCall = s.countCall
	p := permitter{permissions: a.pb.Permissions, tool: s.toolOf, broken: s.interruptTurn}
	cfg := acp.ClientConfig{
		Info: acp.Implementation{Name: "sdd-eval", Title: "sdd-eval", Version: Version},
		Tap: func(f acp.Frame) {
			a.journal.frame(f)
			s.observer.Frame(f)
		},
		Update: func(n acp.SessionNotification) {
			a.watch.update(n.Update)
			s.checkCost(n.Update)
		},
		CancelGrace: a.grace() / 4,
	}
	client := clienttools.Client{Permission: p.decide}
	if profile.ClientFiles {
		client.Files = s.files.Handler()
	}
	if profile.ClientTerminals {
		client.Terminals = s.terminals.Handler()
	}
	client = s.serve(client)
	cfg.Files, cfg.Terminals, cfg.Permission = client.Files, client.Terminals, client.Permission
	servers, err := s.servers()
	if err != nil {
		return err
	}
	s.client = acp.NewClient(s.process.Stdout, s.process.Stdin, cfg)
	init, err := s.client.Initialize(ctx)
	if err != nil {
		return s.notStarted(err)
	}
	s.protocol = init.ProtocolVersion
	if init.AgentInfo != nil {
		s.agent.Name, s.agent.Version = init.AgentInfo.Name, init.AgentInfo.Version
	}
	if launch.AuthMethod != "" {
		if err := s.client.Authenticate(ctx, launch.AuthMethod); err != nil {
			return s.notStarted(fmt.Errorf("authenticate: %w", err))
		}
	}
	s.session, err = s.client.NewSession(ctx, acp.NewSessionRequest{Cwd: a.dirs.workspace, McpServers: servers})
	if err != nil {
		return s.notStarted(fmt.Errorf("open a session: %w", err))
	}
	s.normalise.Session(s.session.ID())
	return s.configure(ctx, profile)
}

// mcpServers are the playbook's, for the agent to start as its children.
func mcpServers(servers []playbook.MCPServer) []acp.McpServer {
	all := make([]acp.McpServer, len(servers))
	for i, s := range servers {
		all[i] = acp.McpServerStdio{Name: s.Name, Command: s.Command[0], Args: append([]string{}, s.Command[1:]...), Env: []acp.EnvVariable{}}
	}
	return all
}

// configure selects the mode and the model that the playbook asks for, or else the mode in which agents of this kind
// work unattended.
func (s *live) configure(ctx context.Context, profile agent.Profile) error {
	mode := s.a.unit.Variant.Agent.Mode
	if mode == "" {
		mode = offered(s.session.Modes(), profile.Modes)
	}
	if mode != "" {
		if err := s.session.SetMode(ctx, mode); err != nil {
			return err
		}
	}
	if model := s.a.unit.Variant.Agent.Model; model != "" {
		return s.session.SetModel(ctx, model)
	}
	return nil
}

// offered returns the first of the wanted modes that the session has.
func offered(modes *acp.SessionModeState, wanted []string) string {
	if modes == nil {
		return ""
	}
	for _, w := range wanted {
		for _, m := range modes.AvailableModes {
			if m.ID == w {
				return w
			}
		}
	}
	return ""
}

// exitWait is how long an agent that closed its output has to exit before it is ended.
const exitWait = time.Second

// notStarted marks an error of the handshake as one that another attempt may not meet.
func (s *live) notStarted(err error) error { return infrastructure{s.exited(err)} }

// exited explains an error of the connection by the end of the agent's process. What the agent itself answers, and the
// end of a context, need no such explanation.
func (s *live) exited(err error) error {
	if _, ok := errors.AsType[*acp.Error](err); ok || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	select {
	case <-s.process.Done():
		exit, waitErr := s.process.Wait()
		err := fmt.Errorf("the agent ended by itself: %s", exit)
		if said := s.stderr.lastWords(); said != "" {
			err = fmt.Errorf("%w, and said: %s", err, said)
		}
		return errors.Join(err, waitErr)
	case <-time.After(exitWait):
		return err
	}
}
