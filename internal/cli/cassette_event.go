package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// entry is an event as it is shown.
type entry struct {
	label string
	text  string // of any number of lines
	prose bool   // long lines are wrapped, not cut
	whole int    // a text of more lines is folded; 0 is maxFolded
	call  bool   // the event begins a tool call
	bad   bool   // the event is a failure
}

// textOf returns an event as it is shown. With full it leaves nothing out, not even repetitions.
func textOf(body trajectory.Body, full bool) entry {
	switch b := body.(type) {
	case trajectory.Prompt:
		return entry{label: "prompt", text: b.Text, prose: true}
	case trajectory.Message:
		return entry{label: "message", text: b.Text, prose: true}
	case trajectory.Thought:
		return entry{label: "thought", text: b.Text, prose: true}
	case trajectory.Plan:
		return entry{label: "plan", text: planText(b), prose: true}
	case trajectory.ToolStart:
		return callText(b)
	case trajectory.ToolEnd:
		return resultText(b, full)
	case trajectory.FileRead:
		return entry{label: "read", text: lines(b.Path, b.Error, b.Text), bad: b.Error != ""}
	case trajectory.FileWrite:
		return entry{label: "write", text: lines(b.Path, b.Error, b.Text), bad: b.Error != ""}
	case trajectory.Terminal:
		return terminalText(b)
	case trajectory.Permission:
		return permissionText(b)
	case trajectory.MCPCall:
		return mcpText(b, full)
	case trajectory.State:
		return entry{label: "state", text: jsonText(b)}
	case trajectory.Notice:
		return entry{label: "notice", text: lines(b.Name, valueText(b.Data))}
	case trajectory.Stop:
		return stopText(b)
	}
	return entry{label: body.EventName(), text: jsonText(body)}
}

// lines joins the texts that are not empty by newlines.
func lines(texts ...string) string {
	var nonEmpty []string
	for _, t := range texts {
		if t = strings.TrimRight(t, "\n"); t != "" {
			nonEmpty = append(nonEmpty, t)
		}
	}
	return strings.Join(nonEmpty, "\n")
}

// valueText formats a JSON value: nil as "", a string without quotes, an object that is too long for one line with each
// field on lines of its own.
func valueText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case map[string]any:
		if text := jsonText(v); len(text) <= textColumns {
			return text
		}
		var fields []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			text := " " + valueText(v[key])
			if strings.Contains(text, "\n") {
				text = "\n  " + strings.ReplaceAll(strings.TrimRight(text[1:], "\n"), "\n", "\n  ")
			}
			fields = append(fields, key+":"+text)
		}
		return strings.Join(fields, "\n")
	}
	return jsonText(v)
}

func jsonText(v any) string {
	data, err := jsonvalue.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%+v", v) // it was never JSON
	}
	return string(data)
}

func planText(b trajectory.Plan) string {
	marks := map[string]string{"completed": "[x]", "in_progress": "[>]"}
	var list []string
	for _, e := range b.Entries {
		mark, ok := marks[e.Status]
		if !ok {
			mark = "[ ]"
		}
		list = append(list, mark+" "+e.Content)
	}
	return strings.Join(list, "\n")
}

func callText(b trajectory.ToolStart) entry {
	name := b.Name
	if name == "" || name == b.Title {
		name = b.Kind
	}
	by := ""
	if b.Parent != "" {
		by = "(by the sub-agent of " + b.Parent + ")"
	}
	return entry{label: strings.TrimSpace(b.ID + " " + name), text: lines(b.Title, by, valueText(b.Args)), call: true}
}

func resultText(b trajectory.ToolEnd, full bool) entry {
	e := entry{label: strings.TrimSpace(b.ID + " " + string(b.Status)), bad: b.Status != trajectory.Completed}
	if len(b.Diffs) > 0 {
		e.whole = 4 * maxFolded
	}
	exit := ""
	if b.ExitCode != nil && *b.ExitCode != 0 {
		exit = fmt.Sprintf("exit code %d", *b.ExitCode)
	}
	texts := []string{exit}
	for _, d := range b.Diffs {
		old, from := "", "/dev/null"
		if d.Old != nil {
			old, from = *d.Old, d.Path
		}
		texts = append(texts, udiff.Unified(from, d.Path, old, d.New))
	}
	texts = append(texts, b.Printed)
	if shown := b.Printed != "" || len(b.Diffs) > 0; full || !shown {
		texts = append(texts, valueText(b.Output))
	}
	e.text = lines(texts...)
	return e
}

func terminalText(b trajectory.Terminal) entry {
	end := ""
	switch {
	case b.Error != "":
		end = b.Error
	case b.Signal != "":
		end = "ended by " + b.Signal
	case b.ExitCode != nil && *b.ExitCode != 0:
		end = fmt.Sprintf("exit code %d", *b.ExitCode)
	}
	output := b.Output
	if b.Truncated {
		output = lines(output, "(truncated: the agent saw no more)")
	}
	command := strings.Join(append([]string{"$ " + b.Command}, b.Args...), " ")
	return entry{label: strings.TrimSpace(b.ID + " terminal"), text: lines(command, end, output), bad: end != ""}
}

func permissionText(b trajectory.Permission) entry {
	var offered []string
	for _, o := range b.Options {
		offered = append(offered, o.ID)
	}
	text := fmt.Sprintf("%s (of %s)", b.Decision, strings.Join(offered, ", "))
	return entry{label: strings.TrimSpace(b.ID + " permission"), text: text}
}

// mcpText shows a request to an MCP server. Unless full, it leaves out what the server listed as its tools and
// resources, which is long.
func mcpText(b trajectory.MCPCall, full bool) entry {
	e := entry{label: strings.TrimSpace("mcp " + b.Server + " " + b.Tool), bad: b.Error != nil}
	what := ""
	if b.Tool == "" {
		what = b.Method
	}
	switch {
	case b.Error != nil:
		failure := fmt.Sprintf("error %d: %s", b.Error.Code, b.Error.Message)
		e.text = lines(what, valueText(b.Params), failure, valueText(b.Error.Data))
	case b.IsDiscovery() && !full:
		e.text = what
	default:
		e.text = lines(what, valueText(b.Params), mcpResult(b.Result, full))
		if r, ok := b.Result.(map[string]any); ok && r["isError"] == true {
			e.bad = true
		}
	}
	return e
}

// mcpResult returns a tool's result: only the text if it has nothing else, unless full.
func mcpResult(result any, full bool) string {
	fields, _ := result.(map[string]any)
	content, _ := fields["content"].([]any)
	var texts []string
	for _, c := range content {
		block, _ := c.(map[string]any)
		text, ok := block["text"].(string)
		if !ok {
			return valueText(result)
		}
		texts = append(texts, text)
	}
	if full || len(texts) == 0 {
		return valueText(result)
	}
	return lines(texts...)
}

func stopText(b trajectory.Stop) entry {
	parts := []string{b.Reason}
	if u := b.Usage; u != nil {
		for _, n := range []struct {
			count *int64
			what  string
		}{{u.Input, "in"}, {u.Output, "out"}, {u.Total, "in all"}} {
			if n.count != nil {
				parts = append(parts, fmt.Sprintf("%d tokens %s", *n.count, n.what))
			}
		}
	}
	return entry{label: "stop", text: strings.Join(parts, ", "), bad: b.Reason != "end_turn"}
}
