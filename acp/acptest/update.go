package acptest

import "fmt"

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
				return "the plan entry " + compact(e)
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
		problem = fmt.Sprintf("tool_call_update for %q, of which nothing was said before", u.text("toolCallId"))
	case kind == "tool_call" && u.text("title") == "":
		problem = "tool_call without title"
	case !u.oneOf("status", "pending", "in_progress", "completed", "failed"):
		problem = kind + " with status " + compact(u["status"])
	case !u.oneOf("kind", "read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"):
		problem = kind + " with kind " + compact(u["kind"])
	}
	j.calls[key] = true
	j.ledger.judge("tool-calls", problem, line)
}
