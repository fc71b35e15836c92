package acptest

import (
	"bufio"
	"context"
	"encoding/json"
	"io"

	"github.com/sdd-eval/sdd-eval/acp/scripted"
)

// tamper breaks an agent by changing the lines of one direction: it returns what is passed on instead of a line, whose
// message is nil if it is none.
type tamper func(m object, line string) []string

func pass(_ object, line string) []string { return []string{line} }

// edit changes messages. A change that returns false is not made.
func edit(change func(m object) bool) tamper {
	return func(m object, line string) []string {
		if m != nil && change(m) {
			return []string{compact(m)}
		}
		return []string{line}
	}
}

// editParams changes the params of requests with that method.
func editParams(method string, change func(params object)) func() tamper {
	return func() tamper {
		return edit(func(m object) bool {
			if m.text("method") != method {
				return false
			}
			change(m.object("params"))
			return true
		})
	}
}

// editPermission changes requests for permission.
func editPermission(change func(params object)) tamper {
	return editParams("session/request_permission", change)()
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

// editResult changes results that have a member, and then the messages around them.
func editResult(member string, change func(result object), around ...func(m object)) tamper {
	return edit(func(m object) bool {
		result := m.object("result")
		if !result.has(member) {
			return false
		}
		change(result)
		for _, change := range around {
			change(m)
		}
		return true
	})
}

// deafAfter drops everything after a message.
func deafAfter(last func(m object) bool) func() tamper {
	return func() tamper {
		deaf := false
		return func(m object, line string) []string {
			if deaf {
				return nil
			}
			deaf = last(m)
			return []string{line}
		}
	}
}

// agent starts the broken agent for the check of a rule.
func (b brokenAgent) agent(ctx context.Context, rule string) Agent {
	script := goodScript(rule)
	if b.script != nil {
		b.script(&script)
	}
	toAgent, fromAgent := pass, pass
	if b.toAgent != nil {
		toAgent = b.toAgent()
	}
	if b.fromAgent != nil {
		fromAgent = b.fromAgent
	}
	a := scripted.Start(ctx, script)
	in, stdin := io.Pipe()
	stdout, out := io.Pipe()
	go relay(in, a.Stdin, toAgent)
	go relay(a.Stdout, out, fromAgent)
	return Agent{Stdin: stdin, Stdout: stdout, AuthMethod: "key", LongPrompt: "Count to infinity."}
}

// relay passes lines on until one side ends.
func relay(from io.ReadCloser, to io.WriteCloser, change func(object, string) []string) {
	defer to.Close()
	defer from.Close()
	for lines := bufio.NewScanner(from); lines.Scan(); {
		var m object
		if json.Unmarshal(lines.Bytes(), &m) != nil {
			m = nil
		}
		for _, line := range change(m, lines.Text()) {
			if _, err := io.WriteString(to, line+"\n"); err != nil {
				return
			}
		}
	}
}
