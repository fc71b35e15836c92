package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/localtools"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/session"
)

// metricsVersion is the version of the metrics' format.
const metricsVersion = 1

// measure counts what the agent did and what was run around it: both are over.
func measure(u result.Unit) *result.Metrics {
	m := meter{
		metrics: &result.Metrics{
			Version: metricsVersion, StopReasons: []string{}, ToolCalls: map[string]int{},
			FilesRead: []result.FileAccess{}, FilesWritten: []result.FileAccess{}, Commands: []result.Command{},
			Permissions: []result.Permission{}, Denied: []result.Denial{},
		},
		calls: make(map[string]*trajectory.ToolCall),
	}
	if u.Run != nil {
		m.run(u.Run)
	}
	for _, s := range u.Steps {
		if s.Command != nil {
			m.metrics.Commands = append(m.metrics.Commands, *s.Command)
		}
	}
	return m.metrics
}

// measure counts what the agent did in an attempt that ended in failure, nil if it did not. Of a turn that was cut the
// result knows nothing: what the agent said by then that it cost counts, of that turn or else of those before. A model
// that refused before it did anything is free.
func (a *attempt) measure(failure error) *result.Metrics {
	m := measure(a.result)
	m.Machine = a.children.used()
	if !a.role.runsAgent() {
		return m
	}
	said, cut := a.session.Cut()
	if cut {
		m.Iterations++
	}
	refused := fault.IsTransient(failure) || fault.IsRateLimit(failure)
	switch {
	case cut && said != nil:
		m.Cost = &trajectory.Cost{Amount: *said, Currency: "USD"}
	case refused && m.Cost == nil && m.Iterations > 0 && len(m.StopReasons) == 0 && len(m.ToolCalls) == 0:
		m.Cost = &trajectory.Cost{Currency: "USD"}
	}
	return m
}

// used returns what those children used that have ended; nil: there are none, or nothing is known of any.
func (c *children) used() *result.Machine {
	c.mu.Lock()
	defer c.mu.Unlock()
	var m result.Machine
	for _, p := range c.all {
		select {
		case <-p.Done():
		default:
			continue
		}
		u := p.Usage()
		m.Memory, m.Disk = max(m.Memory, u.Memory), max(m.Disk, u.Disk)
		m.CPU += result.Duration(u.CPU)
	}
	if m == (result.Machine{}) {
		return nil
	}
	return &m
}

// meter counts the events of one run.
type meter struct {
	metrics *result.Metrics
	calls   map[string]*trajectory.ToolCall // by id
	spent   session.Spending
}

func (m *meter) run(r *trajectory.Run) {
	through := throughClient(r.Events)
	calls := r.ToolCalls()
	for i := range calls {
		c := &calls[i]
		m.calls[c.ID] = c
		m.call(*c, through[c.ID])
	}
	for _, e := range r.Events {
		m.event(e)
	}
	m.spent.Add(r.Events)
	m.metrics.Cost = m.spent.Cost
	if t := m.metrics.Tokens; t != nil {
		t.Total = m.spent.Tokens
	}
}

// throughClient returns the ids of the tool calls whose work the client did: it served a file or a command while the
// call was open. What was served is counted by itself.
func throughClient(events []trajectory.Event) map[string]bool {
	through := make(map[string]bool)
	open := make(map[string]string) // kinds by id
	serve := func(kinds ...string) {
		for id, kind := range open {
			if slices.Contains(kinds, kind) {
				through[id] = true
			}
		}
	}
	for _, e := range events {
		switch b := e.Body.(type) {
		case trajectory.ToolStart:
			open[b.ID] = b.Kind
		case trajectory.ToolEnd:
			delete(open, b.ID)
		case trajectory.FileRead:
			serve("read")
		case trajectory.FileWrite:
			serve("edit", "delete", "move")
		case trajectory.Terminal:
			serve("execute")
		}
	}
	return through
}

// call counts one of the agent's own tool calls, and what it did unless the client did it.
func (m *meter) call(c trajectory.ToolCall, through bool) {
	name := c.Name
	if name == "" {
		name = c.Kind
	}
	m.metrics.ToolCalls[name]++
	if through || c.Status != trajectory.Completed && c.Kind != "execute" {
		return
	}
	switch c.Kind {
	case "read":
		for _, l := range c.Locations {
			access(&m.metrics.FilesRead, l.Path, "tool", nil)
		}
	case "edit", "delete", "move":
		for _, l := range c.Locations {
			access(&m.metrics.FilesWritten, l.Path, "tool", nil)
		}
	case "execute":
		m.metrics.Commands = append(m.metrics.Commands, commandOfTool(c))
	}
}

// commandOfTool is a command that the agent ran in its own process.
func commandOfTool(c trajectory.ToolCall) result.Command {
	command := c.Title
	if args, ok := c.Args.(map[string]any); ok {
		switch given := args["command"].(type) {
		case string:
			command = given
		case []any:
			words := make([]string, len(given))
			for i, w := range given {
				words[i] = fmt.Sprint(w)
			}
			command = strings.Join(words, " ")
		}
	}
	output := c.Printed
	if text, ok := c.Output.(string); output == "" && ok {
		output = text
	}
	shown, cut := endOf(output)
	cmd := result.Command{Source: result.FromTool, Command: command, ExitCode: c.ExitCode, Output: shown, Cut: cut}
	if c.Duration > 0 {
		d := result.Duration(c.Duration)
		cmd.Duration = &d
	}
	return cmd
}

// event counts what the agent asked of its client.
func (m *meter) event(e trajectory.Event) {
	switch b := e.Body.(type) {
	case trajectory.Prompt:
		m.metrics.Iterations++
	case trajectory.Stop:
		m.metrics.StopReasons = append(m.metrics.StopReasons, b.Reason)
		m.tokens(b.Usage)
	case trajectory.FileRead:
		if m.served(b.Error) {
			access(&m.metrics.FilesRead, b.Path, "client", size(b.Text))
		}
	case trajectory.FileWrite:
		if m.served(b.Error) {
			access(&m.metrics.FilesWritten, b.Path, "client", size(b.Text))
		}
	case trajectory.Terminal:
		if m.served(b.Error) {
			m.terminal(b)
			for _, d := range localtools.DeniedVariables(b.Env) {
				m.deny(d)
			}
		}
	case trajectory.Permission:
		m.permission(b)
	}
}

// served reports whether a request did not end in an error. A denial is counted.
func (m *meter) served(failure string) bool {
	if d, ok := localtools.ParseDenied(failure); ok {
		m.deny(d)
	}
	return failure == ""
}

func (m *meter) deny(d localtools.Denied) {
	m.metrics.Denied = append(m.metrics.Denied, result.Denial{Op: d.Op, Path: d.Path, Reason: d.Reason})
}

func (m *meter) terminal(t trajectory.Terminal) {
	shown, cut := endOf(t.Output)
	cmd := result.Command{
		Source: result.FromTerminal, Command: strings.Join(append([]string{t.Command}, t.Args...), " "), Cwd: t.Cwd,
		ExitCode: t.ExitCode, Signal: t.Signal, Output: shown, Cut: cut || t.Truncated,
	}
	if t.Duration > 0 {
		d := result.Duration(t.Duration)
		cmd.Duration = &d
	}
	m.metrics.Commands = append(m.metrics.Commands, cmd)
}

func (m *meter) permission(p trajectory.Permission) {
	var c trajectory.ToolCall
	if known := m.calls[p.ID]; known != nil {
		c = *known
	}
	decision := p.Decision
	if i := slices.IndexFunc(p.Options,
		func(o trajectory.PermissionOption) bool { return o.ID == p.Decision }); i >= 0 {
		decision = p.Options[i].Kind
	}
	m.metrics.Permissions = append(m.metrics.Permissions,
		result.Permission{Tool: c.Name, Title: c.Title, Decision: decision})
}

// tokens adds what a turn has used.
func (m *meter) tokens(u *trajectory.Usage) {
	if u == nil {
		return
	}
	if m.metrics.Tokens == nil {
		m.metrics.Tokens = new(result.Tokens)
	}
	t := m.metrics.Tokens
	t.Input = result.Plus(t.Input, u.Input)
	t.Output = result.Plus(t.Output, u.Output)
	t.CacheRead = result.Plus(t.CacheRead, u.CacheRead)
	t.CacheWrite = result.Plus(t.CacheWrite, u.CacheWrite)
	t.Thought = result.Plus(t.Thought, u.Thought)
}

// access counts one more access to a file.
func access(list *[]result.FileAccess, path, source string, bytes *int64) {
	i := slices.IndexFunc(*list, func(f result.FileAccess) bool { return f.Path == path && f.Source == source })
	if i < 0 {
		*list = append(*list, result.FileAccess{Path: path, Source: source})
		i = len(*list) - 1
	}
	f := &(*list)[i]
	f.Times++
	f.Bytes = result.Plus(f.Bytes, bytes)
}

func size(text string) *int64 {
	n := int64(len(text))
	return &n
}

// endOf returns the end of an output, as much as metrics keep of it.
func endOf(output string) (text string, cut bool) {
	tail := excerpt.Tail{Limit: shownOutput}
	_, _ = tail.Write([]byte(output))
	return tail.Text(true)
}
