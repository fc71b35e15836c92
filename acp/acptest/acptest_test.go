package acptest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/acp/scripted"
	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
)

// agentName is the name under which the test binary is an agent.
const agentName = "fake-acp"

func init() {
	if os.Args[0] == agentName {
		os.Exit(scripted.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
}

// goodScript is an agent that keeps all rules and does everything that the rules are about. A scripted agent does not
// understand prompts: whether the first one is the long one depends on the rule that is checked.
func goodScript(rule string) scripted.Script {
	turns := scripted.Default().Turns
	if slices.Contains([]string{"cancel", "reads-during-turn", "end"}, rule) {
		turns = slices.Insert(turns, 0, scripted.Turn{Actions: []scripted.Action{
			{Say: &scripted.Say{Text: "One, two,"}},
			{Sleep: scripted.Sleep(time.Hour)},
		}})
	}
	choices := []scripted.Choice{{ID: "a"}, {ID: "b"}}
	return scripted.Script{
		Auth: []string{"key"},
		Session: scripted.Session{
			Modes:  &scripted.Offer{Current: "a", Choices: choices},
			Models: &scripted.Offer{Current: "b", Choices: choices},
			Before: []scripted.Action{{Usage: &scripted.Usage{Size: 10}}},
		},
		Turns:  turns,
		Repeat: true,
	}
}

// TestProcess checks agents that are processes of their own, with the real testing.T.
func TestProcess(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	Run(t, func(t *testing.T) Agent {
		script, err := json.Marshal(goodScript(path.Base(t.Name())))
		require.NoError(t, err)
		file := filepath.Join(t.TempDir(), "script.json")
		require.NoError(t, os.WriteFile(file, script, 0o600))
		a := Start(t, &exec.Cmd{Path: self, Args: []string{agentName, file}})
		a.AuthMethod, a.LongPrompt = "key", "Count to infinity."
		return a
	})
}

// fakeT is a reporter that keeps what is reported.
type fakeT struct {
	mu              sync.Mutex
	errors, skipped []string
}

func (t *fakeT) Helper() {}

func (t *fakeT) Errorf(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.errors = append(t.errors, fmt.Sprintf(format, args...))
}

func (t *fakeT) Skipf(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.skipped = append(t.skipped, fmt.Sprintf(format, args...))
}

// TempDir returns a directory that does not exist, so that messages have the same length everywhere.
func (t *fakeT) TempDir() string { return "/acptest" }

// outcome is what the kit said of an agent.
type outcome struct {
	errors  map[string][]string // by rule
	skipped map[string][]string
}

// check runs the kit on an agent, in a bubble in which no time is lost by waiting for it.
func check(t *testing.T, b brokenAgent) (o outcome) {
	o = outcome{make(map[string][]string), make(map[string][]string)}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		run(func(rule string, check func(reporter, func() Agent)) {
			fake := new(fakeT)
			check(fake, func() Agent { return b.agent(ctx, rule) })
			if len(fake.errors) > 0 {
				o.errors[rule] = fake.errors
			}
			if len(fake.skipped) > 0 {
				o.skipped[rule] = fake.skipped
			}
		})
	})
	return o
}

func ruleNames() (names []string) {
	for _, c := range conversations {
		names = append(names, c.name)
	}
	for _, h := range invariants {
		names = append(names, h.name)
	}
	return names
}

func TestGoodAgentBreaksNothingAndNothingIsSkipped(t *testing.T) {
	o := check(t, brokenAgent{})
	assert.Empty(t, o.errors)
	assert.Empty(t, o.skipped)
}

// TestBrokenAgents shows that each rule finds the agent that breaks it, and compares the texts that people read with
// testdata/broken.txt.
func TestBrokenAgents(t *testing.T) {
	var got strings.Builder
	broken := make(map[string]bool)
	for _, b := range brokenAgents {
		t.Run(b.rule+"/"+b.fault, func(t *testing.T) {
			o := check(t, b)
			assert.Contains(t, o.errors, b.rule)
			broken[b.rule] = true
			fmt.Fprintf(&got, "== %s: %s\n", b.rule, b.fault)
			for _, rule := range ruleNames() {
				for _, text := range o.errors[rule] {
					got.WriteString(withoutMessages(rule, text) + "\n")
				}
			}
			got.WriteString("\n")
		})
	}
	for _, rule := range ruleNames() {
		assert.True(t, broken[rule], "no agent breaks the rule %s", rule)
	}
	golden.Equal(t, "testdata/broken.txt", got.String())
}

// withoutMessages removes the last messages of a conversation, whose order is not always the same. The message that
// breaks a invariant stays.
func withoutMessages(name, text string) string {
	if slices.ContainsFunc(invariants, func(h rule) bool { return h.name == name }) {
		return text
	}
	return regexp.MustCompile(`\n\t[<>].*`).ReplaceAllString(text, "")
}

func TestFailureShowsTheLastMessages(t *testing.T) {
	refuses := func(m object, line string) []string {
		if m.has("id") {
			return []string{`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no key"}}`}
		}
		return []string{line}
	}
	o := check(t, brokenAgent{fromAgent: refuses})
	want := `broken rule initialize
	initialize is answered by a result with a whole number as protocolVersion and, if the agent needs
	authentication, with authMethods that have an id and a name.
	got: the agent answered initialize with the error {"code":-32603,"message":"no key"}
	> {"id":1,"jsonrpc":"2.0","method":"initialize","params":{"clientCapabilities":{},` +
		`"clientInfo":{"name":"acptest","version":"1"},"protocolVersion":1}}
	< {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no key"}}`
	assert.Equal(t, []string{want}, o.errors["initialize"])
	assert.Equal(t,
		[]string{`not checked: the agent answered initialize with the error {"code":-32603,"message":"no key"}`},
		o.skipped["prompt"], "what cannot be checked is not blamed on the agent")
}
