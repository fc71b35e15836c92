package engine

import (
	"context"
	"fmt"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
)

// session is a conversation with an agent. A live one and a replayed one hand over the same turns and leave the same
// files; nothing above them can tell which it is.
type session interface {
	// Prompt runs one turn.
	Prompt(ctx context.Context, text string) (cassette.Turn, error)
	// Agent says which agent answers, and whether its model is "real" or "scripted".
	Agent() (agent trajectory.Agent, endpoint string)
	// Close ends the session. A replayed one complains about turns that were not asked for.
	Close(ctx context.Context) error
}

// agentSession is a session with an agent's process: what can be recorded.
type agentSession interface {
	session
	// resync takes what others than the agent changed in the workspace.
	resync(ctx context.Context) error
	// complete adds to the session's last turn what the agent did after its answer, now that it is gone.
	complete(ctx context.Context, last *cassette.Turn) error
	// protocolVersion is that of the Agent Client Protocol, 0 if the agent does not speak it.
	protocolVersion() int
}

// openSession starts the unit's session, live or from its cassette.
func (a *attempt) openSession(ctx context.Context) error {
	if a.live {
		if err := a.checkWritable(); err != nil {
			return err
		}
		if err := a.openTools(); err != nil {
			return err
		}
		a.result.SessionStarted = a.now().UTC()
		s, err := a.startSession(ctx)
		if err != nil {
			return err
		}
		a.session = s
		return nil
	}
	a.result.Session, a.result.Replayed = a.relCassettePath(), true
	c, err := a.openCassette()
	if err != nil {
		return advised{err, a.cfg.Command(Record, a.unit)}
	}
	player := cassette.NewPlayer(c, a.dirs.workspace)
	player.AnyPrompt = a.stale
	a.session = replay{player, c, a.cfg.Command(Record, a.unit)}
	return nil
}

// startSession starts the unit's agent, by whatever it is driven.
func (a *attempt) startSession(ctx context.Context) (agentSession, error) {
	profile, ok := agent.Lookup(a.unit.Variant.Agent.Kind)
	if !ok {
		return nil, fmt.Errorf("unknown kind of agent %q", a.unit.Variant.Agent.Kind)
	}
	launch, err := a.account(profile, a.unit.Variant.Agent)
	if err != nil {
		return nil, err
	}
	if profile.Headless != nil {
		return asSession(startHeadless(ctx, a, profile, launch))
	}
	return asSession(startLive(ctx, a, profile, launch))
}

// asSession returns no session with an error: not one that is a nil pointer.
func asSession[S agentSession](s S, err error) (agentSession, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}
