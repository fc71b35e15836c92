package acptest

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"strings"

	"github.com/sdd-eval/sdd-eval/acp/scripted"
)

// brokenAgent is the good agent with one fault.
type brokenAgent struct {
	rule, fault string
	// script, toAgent and fromAgent make the fault; nil: as in the good agent. toAgent is called for each agent.
	script    func(*scripted.Script)
	toAgent   func() tamper
	fromAgent tamper
}

var brokenAgents = []brokenAgent{
	{
		rule: "initialize", fault: "no version",
		fromAgent: editResult("protocolVersion", func(r object) { delete(r, "protocolVersion") }),
	},
	{
		rule: "initialize", fault: "an authentication method without name",
		fromAgent: editResult("authMethods", func(r object) { r["authMethods"] = []object{{"id": "key"}} }),
	},
	{
		rule: "version", fault: "another version than asked for",
		script: func(s *scripted.Script) { s.Faults.ProtocolVersion = 2 },
	},
	{
		rule: "version", fault: "an error for a version that it does not speak",
		toAgent: editParams("initialize", func(p object) {
			if p["protocolVersion"] != 1.0 {
				delete(p, "protocolVersion")
			}
		}),
	},
	{
		rule: "unknown-method", fault: "another code",
		fromAgent: edit(func(m object) bool {
			code, _ := m.object("error").number("code")
			if code == -32601 {
				m.object("error")["code"] = -32603
			}
			return code == -32601
		}),
	},
	{
		rule: "unknown-notification", fault: "it makes the agent stop reading",
		toAgent: deafAfter(func(m object) bool { return !m.has("id") && m.text("method") == "acptest/unknown" }),
	},
	{
		rule: "not-json", fault: "it makes the agent stop reading",
		toAgent: deafAfter(func(m object) bool { return m == nil }),
	},
	{
		rule: "bad-params", fault: "a default for what is missing",
		toAgent: editParams("session/new", func(p object) { p["cwd"] = "/" }),
	},
	{
		rule: "session-new", fault: "a number as the id",
		fromAgent: editResult("sessionId", func(r object) { r["sessionId"] = 1 }),
	},
	{
		rule: "session-new", fault: "the same id twice",
		fromAgent: editResult("sessionId", func(r object) { r["sessionId"] = "session-1" }),
	},
	{
		rule: "offers", fault: "a current mode that cannot be chosen",
		fromAgent: editResult("modes", func(r object) { r.object("modes")["currentModeId"] = "c" }),
	},
	{
		rule: "offers", fault: "a value twice",
		fromAgent: editResult("sessionId", func(r object) {
			r.list("configOptions")[0]["options"] = []object{{"value": "b"}, {"value": "b"}}
		}),
	},
	{
		rule: "set-mode", fault: "an offered mode is refused",
		toAgent: editParams("session/set_mode", func(p object) { p["modeId"] = "x" + p.text("modeId") }),
	},
	{
		rule: "set-mode", fault: "a mode that is not offered is set",
		toAgent: editParams("session/set_mode", func(p object) { p["modeId"] = "a" }),
	},
	{
		rule: "set-config-option", fault: "an old value in the answer",
		toAgent: editParams("session/set_config_option", func(p object) {
			if p["value"] == "a" {
				p["value"] = "b"
			}
		}),
	},
	{
		rule: "set-config-option", fault: "a value that is not offered is set",
		toAgent: editParams("session/set_config_option", func(p object) {
			if p["value"] == unoffered {
				p["value"] = "b"
			}
		}),
	},
	{
		rule: "prompt", fault: "an unknown stop reason",
		fromAgent: editResult("stopReason", func(r object) {
			if r["stopReason"] == "end_turn" {
				r["stopReason"] = "done"
			}
		}),
	},
	{
		rule: "prompt", fault: "the second prompt is refused",
		script: func(s *scripted.Script) { s.Repeat = false },
	},
	{
		rule: "cancel", fault: "another stop reason",
		fromAgent: editResult("stopReason", func(r object) { r["stopReason"] = "end_turn" }),
	},
	{
		rule: "cancel", fault: "the turn goes on",
		script: func(s *scripted.Script) { s.Turns[0].IgnoreCancel = true },
	},
	{
		rule: "cancel", fault: "an error",
		fromAgent: edit(func(m object) bool {
			if m.object("result")["stopReason"] != "cancelled" {
				return false
			}
			delete(m, "result")
			m["error"] = object{"code": -32603, "message": "aborted"}
			return true
		}),
	},
	{
		rule: "cancel-idle", fault: "the next turn is cancelled",
		fromAgent: editResult("stopReason", func(r object) { r["stopReason"] = "cancelled" }),
	},
	{
		rule: "reads-during-turn", fault: "it does not",
		toAgent: deafAfter(func(m object) bool { return strings.Contains(compact(m), "Count") }),
	},
	{
		rule: "end", fault: "it is ignored",
		script: func(s *scripted.Script) { s.Faults.IgnoreEOF = true },
	},
	{
		rule: "framing", fault: "logs",
		script: func(s *scripted.Script) { s.Faults.Garbage = "[info] ready" },
	},
	{
		rule: "framing", fault: "blank lines",
		script: func(s *scripted.Script) { s.Faults.BlankLines = true },
	},
	{
		rule: "framing", fault: "no version of JSON-RPC",
		fromAgent: edit(func(m object) bool { delete(m, "jsonrpc"); return true }),
	},
	{
		rule: "ids", fault: "strings become null",
		fromAgent: edit(func(m object) bool {
			if m.has("method") || m.text("id") == "" {
				return false
			}
			m["id"] = nil
			return true
		}),
	},
	{
		rule: "ids", fault: "numbers become strings",
		fromAgent: edit(func(m object) bool {
			if m.has("method") || m.text("id") != "" {
				return false
			}
			m["id"] = compact(m["id"])
			return true
		}),
	},
	{
		rule: "responses", fault: "two to each request",
		fromAgent: func(m object, line string) []string {
			if m.has("method") {
				return []string{line}
			}
			return []string{line, line}
		},
	},
	{
		rule: "results", fault: "both a result and an error",
		fromAgent: editResult("sessionId", func(object) {}, func(m object) {
			m["error"] = object{"code": 0, "message": ""}
		}),
	},
	{
		rule: "results", fault: "null as the result",
		fromAgent: editResult("configOptions", func(object) {}, func(m object) {
			if !m.object("result").has("sessionId") {
				m["result"] = nil
			}
		}),
	},
	{
		rule: "order", fault: "a greeting",
		fromAgent: func(m object, line string) []string {
			if m.object("result").has("protocolVersion") {
				return []string{`{"jsonrpc":"2.0","method":"_hello","params":{}}`, line}
			}
			return []string{line}
		},
	},
	{
		rule: "notifications", fault: "an update with an id",
		fromAgent: edit(func(m object) bool { m["id"] = "x"; return m.text("method") == "session/update" }),
	},
	{
		rule: "capabilities", fault: "a terminal that was not offered",
		fromAgent: edit(func(m object) bool {
			read := m.text("method") == "fs/read_text_file"
			m["method"] = "terminal/create"
			return read
		}),
	},
	{
		rule: "updates", fault: "another session",
		fromAgent: edit(func(m object) bool {
			if m.text("method") == "session/update" {
				m.object("params")["sessionId"] = "session-9"
			}
			return true
		}),
	},
	{
		rule: "updates", fault: "no kind",
		fromAgent: editUpdate("plan", func(u object) { delete(u, "sessionUpdate") }),
	},
	{
		rule: "updates", fault: "a chunk without text",
		fromAgent: editUpdate("agent_message_chunk", func(u object) { delete(u.object("content"), "text") }),
	},
	{
		rule: "updates", fault: "an unknown status in the plan",
		fromAgent: editUpdate("plan", func(u object) { u.list("entries")[0]["status"] = "done" }),
	},
	{
		rule: "tool-calls", fault: "an unknown status",
		fromAgent: editUpdate("tool_call_update", func(u object) { u["status"] = "done" }),
	},
	{
		rule: "tool-calls", fault: "updated before it is announced",
		fromAgent: editUpdate("tool_call", func(u object) { u["sessionUpdate"] = "tool_call_update" }),
	},
	{
		rule: "tool-calls", fault: "an unknown kind",
		fromAgent: editUpdate("tool_call", func(u object) { u["kind"] = "write" }),
	},
	{
		rule: "permissions", fault: "options without kind",
		fromAgent: editPermission(func(p object) { delete(p.list("options")[1], "kind") }),
	},
	{
		rule: "permissions", fault: "an id twice",
		fromAgent: editPermission(func(p object) { p.list("options")[1]["optionId"] = "allow" }),
	},
	{
		rule: "permissions", fault: "no tool call",
		fromAgent: editPermission(func(p object) { delete(p, "toolCall") }),
	},
	{
		rule: "files", fault: "a relative path",
		fromAgent: editParams("fs/read_text_file", func(p object) { p["path"] = "README.md" })(),
	},
}

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
