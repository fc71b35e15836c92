package acptest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// judge checks the messages of one conversation against the invariants.
type judge struct {
	ledger       *ledger
	capabilities object // of the client

	mu          sync.Mutex
	initialized bool
	opening     int // session/new requests without response
	sessions    map[string]bool
	calls       map[string]bool // tool calls that were announced, by session and id
}

func newJudge(l *ledger, capabilities object) *judge {
	return &judge{
		ledger: l, capabilities: capabilities, sessions: make(map[string]bool), calls: make(map[string]bool),
	}
}

// sent notes that a request was sent to the agent.
func (j *judge) sent(method string) {
	if method == "session/new" {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.opening++
	}
}

// parse parses a line. The problem says why it is not a message of JSON-RPC 2.0.
func parse(line []byte) (m object, problem string) {
	if len(bytes.TrimSpace(line)) == 0 {
		return nil, "an empty line"
	}
	if !json.Valid(line) {
		return nil, "a line that is not JSON"
	}
	switch err := json.Unmarshal(line, &m); {
	case err != nil:
		return nil, "JSON that is not an object"
	case m.text("jsonrpc") != "2.0":
		return m, `a message without "jsonrpc":"2.0"`
	case m.has("method") && m.text("method") == "":
		return m, "a method that is not a string"
	case !m.has("method") && !m.has("id"):
		return m, "a message with neither method nor id"
	}
	return m, ""
}

func (j *judge) framing(line []byte, problem string) { j.ledger.judge("framing", problem, line) }

// answered judges a response to a request with that method.
func (j *judge) answered(line []byte, m object, method string) {
	j.ledger.judge("responses", "", line)
	j.ledger.judge("results", resultProblem(m), line)
	j.mu.Lock()
	defer j.mu.Unlock()
	switch method {
	case "initialize":
		j.initialized = true
		j.ledger.judge("order", "", line)
	case "session/new":
		j.opening--
		if id := m.object("result").text("sessionId"); id != "" {
			j.sessions[id] = true
		}
	}
}

func resultProblem(m object) string {
	_, integer := m.object("error").number("code")
	_, message := m.object("error")["message"].(string)
	switch {
	case m.has("result") && m.has("error"):
		return "both a result and an error"
	case m.has("error") && !integer:
		return "an error whose code is not a whole number"
	case m.has("error") && !message:
		return "an error whose message is not a string"
	case !m.has("error") && m.object("result") == nil:
		return "a result that is not an object"
	}
	return ""
}

// The methods that an agent sends, by whether it expects an answer.
var (
	notifications = []string{"session/update", "elicitation/complete", "$/cancel_request"}
	requests      = []string{
		"session/request_permission", "elicitation/create", "fs/read_text_file", "fs/write_text_file",
		"terminal/create", "terminal/output", "terminal/wait_for_exit", "terminal/kill", "terminal/release",
	}
)

// message judges a request or notification of the agent.
func (j *judge) message(line []byte, m object) {
	j.mu.Lock()
	defer j.mu.Unlock()
	method, params := m.text("method"), m.object("params")

	order := ""
	if !j.initialized {
		order = method + " before the answer to initialize"
	}
	j.ledger.judge("order", order, line)

	form := ""
	if m.has("id") && slices.Contains(notifications, method) {
		form = method + " with an id"
	} else if !m.has("id") && slices.Contains(requests, method) {
		form = method + " without an id"
	}
	j.ledger.judge("notifications", form, line)

	j.ledger.judge("capabilities", j.capabilityProblem(method), line)
	switch method {
	case "session/update":
		j.ledger.judge("updates", j.updateProblem(params), line)
		j.tool(params.text("sessionId"), params.object("update"), line)
	case "session/request_permission":
		j.ledger.judge("permissions", j.permissionProblem(params), line)
		j.calls[callKey(params.text("sessionId"), params.object("toolCall"))] = true
	case "fs/read_text_file", "fs/write_text_file":
		j.ledger.judge("files", j.fileProblem(params), line)
	}
}

// capabilityProblem says what is wrong with a request for something that the client has not offered.
func (j *judge) capabilityProblem(method string) string {
	fs := j.capabilities.object("fs")
	offered := true
	switch {
	case method == "fs/read_text_file":
		offered = fs["readTextFile"] == true
	case method == "fs/write_text_file":
		offered = fs["writeTextFile"] == true
	case strings.HasPrefix(method, "terminal/"):
		offered = j.capabilities["terminal"] == true
	case strings.HasPrefix(method, "elicitation/"):
		offered = j.capabilities.has("elicitation")
	}
	if !offered {
		return method + ", which the client has not offered"
	}
	return ""
}

// sessionProblem says what is wrong with the session that params name.
func (j *judge) sessionProblem(params object) string {
	id := params.text("sessionId")
	switch {
	case id == "":
		return "no sessionId"
	case !j.sessions[id] && j.opening == 0:
		return fmt.Sprintf("unknown sessionId %q", id)
	}
	return ""
}

func (j *judge) fileProblem(params object) string {
	if problem := j.sessionProblem(params); problem != "" {
		return problem
	}
	if path := params.text("path"); !filepath.IsAbs(path) {
		return fmt.Sprintf("path %q, which is not absolute", path)
	}
	for _, name := range []string{"line", "limit"} {
		if n, ok := params.number(name); params[name] != nil && (!ok || n < 0) {
			return fmt.Sprintf("%s %v", name, params[name])
		}
	}
	return ""
}

func (j *judge) permissionProblem(params object) string {
	if problem := j.sessionProblem(params); problem != "" {
		return problem
	}
	if params.object("toolCall").text("toolCallId") == "" {
		return "no toolCall.toolCallId"
	}
	options := params.list("options")
	if len(options) == 0 {
		return "no options"
	}
	ids := make(map[string]bool)
	for _, o := range options {
		id := o.text("optionId")
		switch {
		case id == "":
			return "an option without optionId"
		case ids[id]:
			return fmt.Sprintf("two options with optionId %q", id)
		case o.text("name") == "":
			return fmt.Sprintf("option %q without name", id)
		case !slices.Contains([]string{"allow_once", "allow_always", "reject_once", "reject_always"}, o.text("kind")):
			return fmt.Sprintf("option %q with kind %s", id, compact(o["kind"]))
		}
		ids[id] = true
	}
	return ""
}

// updateProblem says what is wrong with a session/update, apart from what it says of tool calls.
func (j *judge) updateProblem(params object) string {
	if problem := j.sessionProblem(params); problem != "" {
		return problem
	}
	u := params.object("update")
	switch kind := u.text("sessionUpdate"); kind {
	case "":
		return "no update.sessionUpdate"
	case "user_message_chunk", "agent_message_chunk", "agent_thought_chunk":
		return contentProblem(kind, u.object("content"))
	case "plan":
		for _, e := range u.list("entries") {
			if e.text("content") == "" || !e.oneOf("status", "pending", "in_progress", "completed") ||
				!e.oneOf("priority", "high", "medium", "low") {
				return "invalid plan entry " + compact(e)
			}
		}
	case "current_mode_update":
		if u.text("currentModeId") == "" {
			return "current_mode_update without currentModeId"
		}
	}
	return ""
}

// contentProblem says what is wrong with the content of a chunk.
func contentProblem(kind string, content object) string {
	if content.text("type") == "" {
		return kind + " without content.type"
	}
	if _, ok := content["text"].(string); content.text("type") == "text" && !ok {
		return kind + " without content.text"
	}
	return ""
}

func callKey(session string, call object) string { return session + "\x00" + call.text("toolCallId") }

// tool judges an update that is about a tool call.
func (j *judge) tool(session string, u object, line []byte) {
	kind := u.text("sessionUpdate")
	if kind != "tool_call" && kind != "tool_call_update" {
		return
	}
	key := callKey(session, u)
	problem := ""
	switch {
	case u.text("toolCallId") == "":
		problem = kind + " without toolCallId"
	case kind == "tool_call_update" && !j.calls[key]:
		problem = fmt.Sprintf("tool_call_update for %q, which was not announced", u.text("toolCallId"))
	case kind == "tool_call" && u.text("title") == "":
		problem = "tool_call without title"
	case !u.oneOf("status", "pending", "in_progress", "completed", "failed"):
		problem = kind + " with status " + compact(u["status"])
	case !u.oneOf("kind",
		"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"):
		problem = kind + " with kind " + compact(u["kind"])
	}
	j.calls[key] = true
	j.ledger.judge("tool-calls", problem, line)
}

// maxViolations is how many violations of a rule are reported; more say nothing new.
const maxViolations = 3

// ledger counts the checks of the invariants and holds their violations, for all agents of a run.
type ledger struct {
	mu         sync.Mutex
	count      map[string]int // by rule: how often it could have been broken
	violations map[string][]violation
}

type violation struct {
	what    string
	message string // the message that breaks the rule, as the agent wrote it
}

func newLedger() *ledger {
	return &ledger{count: make(map[string]int), violations: make(map[string][]violation)}
}

// judge notes that message was checked against a rule. If the message breaks it, what says how, else what is empty.
func (l *ledger) judge(rule, what string, message []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count[rule]++
	same := func(v violation) bool { return v.what == what }
	if what == "" || len(l.violations[rule]) == maxViolations || slices.ContainsFunc(l.violations[rule], same) {
		return
	}
	l.violations[rule] = append(l.violations[rule], violation{what, "< " + clip(string(message))})
}

// of returns how often a rule could have been broken, and how it was.
func (l *ledger) of(rule string) (count int, violations []violation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count[rule], slices.Clone(l.violations[rule])
}
