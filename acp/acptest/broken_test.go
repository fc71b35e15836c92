package acptest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/acp/scripted"
)

// tamper breaks an agent by changing the lines of one direction. It returns what is to be passed on instead.
type tamper func(m object, line string) []string

func pass(_ object, line string) []string { return []string{line} }

// edit changes the messages to which it applies.
func edit(change func(m object) bool) tamper {
	return func(m object, line string) []string {
		if change(m) {
			return []string{compact(m)}
		}
		return []string{line}
	}
}

// editUpdate changes updates of a kind.
func editUpdate(kind string, change func(u object)) tamper {
	return edit(func(m object) bool {
		u := m.object("params").object("update")
		if u.text("sessionUpdate") != kind {
			return false
		}
		change(u)
		return true
	})
}

// editResult changes results that have a member.
func editResult(member string, change func(result object)) tamper {
	return edit(func(m object) bool {
		r := m.object("result")
		if !r.has(member) {
			return false
		}
		change(r)
		return true
	})
}

// editPermission changes requests for permission.
func editPermission(change func(params object)) tamper {
	return edit(func(m object) bool {
		if m.text("method") != "session/request_permission" {
			return false
		}
		change(m.object("params"))
		return true
	})
}

// brokenAgent is the good agent with one fault.
type brokenAgent struct {
	rule string
	name string // of the fault, unique within the rule
	// script, toAgent and fromAgent make the fault; nil: as in the good agent.
	script             func(*scripted.Script)
	toAgent, fromAgent tamper
}

var brokenAgents = []brokenAgent{
	{rule: "initialize", name: "no version", fromAgent: editResult("protocolVersion", func(r object) {
		delete(r, "protocolVersion")
	})},
	{rule: "initialize", name: "nameless authentication method", fromAgent: editResult("authMethods", func(r object) {
		r["authMethods"] = []object{{"id": "key"}}
	})},
	{rule: "version", name: "another than asked for", fromAgent: editResult("protocolVersion", func(r object) {
		r["protocolVersion"] = 2
	})},
	{rule: "version", name: "whatever is asked for", fromAgent: func() tamper {
		return editResult("protocolVersion", func(r object) { r["protocolVersion"] = 65535 })
	}()},
	{rule: "unknown-method", name: "another code", fromAgent: edit(func(m object) bool {
		if code, _ := m.object("error").number("code"); code != -32601 {
			return false
		}
		m.object("error")["code"] = -32603
		return true
	})},
	{rule: "unknown-notification", name: "it ends the agent", toAgent: func(m object, line string) []string {
		if strings.HasSuffix(m.text("method"), "acptest/unknown") && !m.has("id") {
			return nil // and nothing more, see dead
		}
		return []string{line}
	}},
}

// fakeT is a reporter that keeps what it is told.
type fakeT struct {
	dir string

	mu   sync.Mutex
	text strings.Builder
}

func (t *fakeT) Helper() {}

func (t *fakeT) Errorf(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(&t.text, format+"\n", args...)
}

func (t *fakeT) Skipf(string, ...any) {}

func (t *fakeT) TempDir() string { return t.dir }

var _ = []any{bufio.NewReader, json.Marshal, io.EOF, maps.Keys[map[string]int], os.Open, filepath.Join, synctest.Wait, cmp.Diff, assert.Equal, require.Equal, testing.Short, pass}
