// Package acptest checks whether an agent follows the rules of the Agent Client Protocol, version 1, that clients rely
// on.
//
// It is meant for authors of agents and adapters, in the manner of testing/slogtest: [Run] talks to the agent as a
// client and fails a subtest for every rule that the agent breaks, with the rule, what happened instead, and the last
// messages.
//
//	func TestAgent(t *testing.T) {
//		acptest.Run(t, func(t *testing.T) acptest.Agent {
//			return acptest.Start(t, exec.Command("my-agent", "--acp"))
//		})
//	}
//
// Some rules are tested in a conversation of their own; others are checked on everything that the agent sends. A rule
// that could not be checked, because the agent never did what it is about, is skipped and says so.
//
// What an agent does with its tools and how well it works are not its concern: it checks the protocol only.
package acptest

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"testing"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
)

// Agent is a running agent, as its client sees it, and how to talk to it. [Start] makes one from a command. For an
// agent behind an io.ReadWriteCloser, use that as both Stdin and Stdout, provided that closing it leaves it readable.
type Agent struct {
	// Stdin is what the agent reads. Closing it has to end the agent.
	Stdin io.WriteCloser
	// Stdout is what the agent writes. It ends when the agent has ended.
	Stdout io.Reader
	// Dir is the working directory of sessions; empty: a new one.
	Dir string
	// AuthMethod is the id of the method to authenticate with; empty: none.
	AuthMethod string
	// Prompt is what the agent is asked; empty: "Say hello." With a prompt that makes it read and write files, ask for
	// permission and call tools, more rules can be checked.
	Prompt string
	// LongPrompt is a prompt that keeps the agent busy for longer than a second; empty: the rules for what happens
	// during a turn are skipped.
	LongPrompt string
	// Timeout is how long the agent may take for an answer, to anything; zero: 10 s.
	Timeout time.Duration
}

// Run checks the agents that newAgent starts, a new one for each conversation, and runs a subtest for each rule. What
// newAgent starts should be stopped by a t.Cleanup, since an agent that breaks the rules may not end by itself.
func Run(t *testing.T, newAgent func(t *testing.T) Agent) {
	t.Helper()
	run(func(rule string, check func(reporter, func() Agent)) {
		t.Run(rule, func(t *testing.T) {
			t.Helper()
			check(t, func() Agent { return newAgent(t) })
		})
	})
}

// Start starts a command that is an agent and stops it when the test is over.
func Start(t testing.TB, cmd *exec.Cmd) Agent {
	t.Helper()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatalf("acptest: start agent: %v", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatalf("acptest: start agent: %v", err)
	}
	if cmd.Stderr == nil {
		cmd.Stderr = harmless{t.Output()}
	}
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		t.Fatalf("acptest: start agent: %v", err)
	}
	t.Cleanup(func() {
		stdin.Close()
		cmd.Process.Kill()
		cmd.Wait()
	})
	return Agent{Stdin: stdin, Stdout: stdout}
}

// harmless is where an agent's standard error is shown.
type harmless struct{ w io.Writer }

func (h harmless) Write(p []byte) (int, error) {
	_, err := io.WriteString(h.w, excerpt.Harmless(string(p)))
	return len(p), err
}

// reporter is what a rule needs of a *testing.T.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
	Skipf(format string, args ...any)
	TempDir() string
}

// run checks all rules. It calls each with the rule's name and what to do under that name; start in turn starts an
// agent.
func run(each func(rule string, check func(t reporter, start func() Agent))) {
	seen := newLedger()
	failed := false
	for _, r := range conversations {
		each(r.name, func(t reporter, start func() Agent) {
			t.Helper()
			k := &kit{t: t, start: start, ledger: seen}
			defer k.end()
			err := r.check(k)
			unmet, ok := errors.AsType[*unmetError](err)
			if ok && (failed || !unmet.blame) {
				t.Skipf("not checked: %s", excerpt.Harmless(err.Error()))
			} else if err != nil {
				failed = true
				t.Errorf("%s", excerpt.Harmless(r.broken(err.Error(), k.lastMessages())))
			}
		})
	}
	for _, r := range invariants {
		each(r.name, func(t reporter, _ func() Agent) {
			t.Helper()
			count, violations := seen.of(r.name)
			for _, v := range violations {
				t.Errorf("%s", excerpt.Harmless(r.broken(v.what, v.message)))
			}
			if count == 0 {
				t.Skipf("not checked: %s", r.unseen)
			}
		})
	}
}

// unmetError says why a rule could not be checked.
type unmetError struct {
	error
	// blame means that the agent is to blame: the rule counts as broken, unless an earlier rule is broken and says why.
	blame bool
}

func unmetf(format string, args ...any) error { return &unmetError{fmt.Errorf(format, args...), false} }

func blamef(format string, args ...any) error { return &unmetError{fmt.Errorf(format, args...), true} }
