package scripted

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// exitStatus is how a command ended.
type exitStatus struct {
	Code   *int    `json:"exitCode"`
	Signal *string `json:"signal"`
}

func (x *Read) do(ctx context.Context, st *stage) error {
	if !st.session.client.FS.ReadTextFile {
		if x.Optional {
			return nil
		}
		return failuref("the client does not serve fs/read_text_file")
	}
	params := map[string]any{"path": st.abs(x.Path)}
	if x.Line > 0 {
		params["line"] = x.Line
	}
	if x.Limit > 0 {
		params["limit"] = x.Limit
	}
	var answer struct {
		Content string `json:"content"`
	}
	err := st.request(ctx, "fs/read_text_file", params, &answer)
	if rpc, ok := errors.AsType[*Error](err); ok && rpc.Code == codeNotFound && x.Optional {
		return nil
	}
	st.output = answer.Content
	return err
}

func (x *Write) do(ctx context.Context, st *stage) error {
	if !st.session.client.FS.WriteTextFile {
		return failuref("the client does not serve fs/write_text_file")
	}
	params := map[string]any{"path": st.abs(x.Path), "content": x.Text}
	return st.request(ctx, "fs/write_text_file", params, nil)
}

func (x *Terminal) do(ctx context.Context, st *stage) error {
	if !st.session.client.Terminal {
		return failuref("the client does not serve terminals")
	}
	params := map[string]any{"command": x.Command, "args": append([]string{}, x.Args...)}
	if x.Cwd != "" {
		params["cwd"] = st.abs(x.Cwd)
	}
	if x.OutputByteLimit > 0 {
		params["outputByteLimit"] = x.OutputByteLimit
	}
	env := []any{}
	for _, name := range slices.Sorted(maps.Keys(x.Env)) {
		env = append(env, map[string]any{"name": name, "value": x.Env[name]})
	}
	params["env"] = env
	var created struct {
		TerminalID string `json:"terminalId"`
	}
	if err := st.request(ctx, "terminal/create", params, &created); err != nil {
		return err
	}
	return errors.Join(
		st.watch(ctx, created.TerminalID),
		// Not with the turn's context: a terminal that is not released runs on after the turn was cancelled.
		st.request(st.srv.ctx, "terminal/release", map[string]any{"terminalId": created.TerminalID}, nil),
	)
}

// watch shows a terminal in the tool call that is under way, waits for its command and takes the output.
func (st *stage) watch(ctx context.Context, terminal string) error {
	if st.call != "" {
		content := []any{map[string]any{"type": "terminal", "terminalId": terminal}}
		if err := st.progress(map[string]any{"content": content}); err != nil {
			return err
		}
	}
	id := func() map[string]any { return map[string]any{"terminalId": terminal} }
	if err := st.request(ctx, "terminal/wait_for_exit", id(), nil); err != nil {
		return err
	}
	var result struct {
		Output string `json:"output"`
	}
	err := st.request(ctx, "terminal/output", id(), &result)
	st.output = result.Output
	return err
}

func (x *Request) do(ctx context.Context, st *stage) error {
	err := st.srv.call(ctx, st.prompt, x.Method, x.Params, nil)
	if rpc, ok := errors.AsType[*Error](err); ok {
		return &failure{rpc}
	}
	return err
}

func (x *DiskWrite) do(_ context.Context, st *stage) error {
	path, mode := st.abs(x.Path), os.FileMode(0o644)
	if x.Executable {
		mode = 0o755
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return &failure{err}
	}
	if err := os.WriteFile(path, []byte(x.Text), mode); err != nil {
		return &failure{err}
	}
	if err := os.Chmod(path, mode); err != nil { // it may have been there
		return &failure{err}
	}
	return nil
}

// maxOutput is how many bytes of a command's output are kept, the first ones.
const maxOutput = 1 << 20

func (x *Exec) do(ctx context.Context, st *stage) error {
	cmd := exec.CommandContext(ctx, x.Command, x.Args...)
	cmd.Dir = st.session.cwd
	cmd.WaitDelay = time.Second
	isolate(cmd)
	var out limited
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	st.output = out.buf.String()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		st.exit = exitOf(exit)
		return nil
	}
	if err != nil {
		return &failure{err}
	}
	st.exit = &exitStatus{Code: new(0)}
	return nil
}

func exitOf(err *exec.ExitError) *exitStatus {
	if code := err.ExitCode(); code >= 0 {
		return &exitStatus{Code: &code}
	}
	return &exitStatus{Signal: new(err.String())}
}

// limited keeps the first maxOutput bytes that are written to it.
type limited struct {
	buf bytes.Buffer
}

func (l *limited) Write(p []byte) (int, error) {
	l.buf.Write(p[:min(len(p), maxOutput-l.buf.Len())])
	return len(p), nil
}

func (s *Say) do(_ context.Context, st *stage) error {
	return st.stream("agent_message_chunk", s.Text, s.Chunks)
}

func (t *Think) do(_ context.Context, st *stage) error {
	return st.stream("agent_thought_chunk", t.Text, t.Chunks)
}

// stream sends text in that many updates, or one a character if there are fewer of those.
func (st *stage) stream(kind, text string, chunks int) error {
	for _, part := range split(text, max(chunks, 1)) {
		if err := st.chunk(kind, part); err != nil {
			return err
		}
	}
	return nil
}

// textChunk is a piece of a message. It is a struct, not a map as other updates are, because a flood of it has to be
// fast.
type textChunk struct {
	Kind    string      `json:"sessionUpdate"`
	Content textContent `json:"content"`
}

type textContent struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func (st *stage) chunk(kind, text string) error {
	return st.notify(textChunk{Kind: kind, Content: textContent{Type: "text", Text: text}})
}

// split cuts text between characters into n parts of about the same length.
func split(text string, n int) []string {
	if n == 1 {
		return []string{text}
	}
	chars := []rune(text)
	n = max(min(n, len(chars)), 1)
	parts := make([]string, n)
	for i := range parts {
		parts[i] = string(chars[i*len(chars)/n : (i+1)*len(chars)/n])
	}
	return parts
}

func (p Plan) do(_ context.Context, st *stage) error {
	entries := []any{}
	for _, e := range p {
		entries = append(entries, map[string]any{
			"content": e.Content, "priority": cmp.Or(e.Priority, "medium"), "status": cmp.Or(e.Status, "pending"),
		})
	}
	return st.update("plan", map[string]any{"entries": entries})
}

func (u *Usage) do(_ context.Context, st *stage) error {
	v := map[string]any{"used": u.Used, "size": u.Size}
	if u.CostUSD != 0 {
		v["cost"] = map[string]any{"amount": u.CostUSD, "currency": "USD"}
	}
	return st.update("usage_update", v)
}

func (u Update) do(_ context.Context, st *stage) error {
	return st.update(u["sessionUpdate"].(string), maps.Clone(u))
}

func (s Sleep) do(ctx context.Context, _ *stage) error {
	timer := time.NewTimer(time.Duration(s))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (x Raw) do(_ context.Context, st *stage) error {
	err := st.srv.out.line(string(x))
	if err != nil {
		st.srv.end(err)
	}
	return err
}

func (x *Flood) do(ctx context.Context, st *stage) error {
	for i := range x.Updates {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		text := strconv.Itoa(i)
		text += strings.Repeat(".", max(x.Size-len(text), 0))
		if err := st.chunk("agent_message_chunk", text); err != nil {
			return err
		}
	}
	return nil
}

func (Silence) do(_ context.Context, st *stage) error {
	<-st.srv.ctx.Done()
	return context.Cause(st.srv.ctx)
}

func (StopReading) do(_ context.Context, st *stage) error {
	st.srv.stopReadingOnce.Do(func() { close(st.srv.stopReading) })
	return nil
}

func (x *Exit) do(_ context.Context, st *stage) error {
	st.srv.end(&ExitError{Code: x.Code})
	return context.Cause(st.srv.ctx)
}
