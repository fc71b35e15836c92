package scripted

import (
	"cmp"
	"context"
	"maps"
	"strconv"
	"strings"
	"time"
)

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
	st.srv.deafOnce.Do(func() { close(st.srv.deaf) })
	return nil
}

func (x *Exit) do(_ context.Context, st *stage) error {
	st.srv.end(&ExitError{Code: x.Code})
	return context.Cause(st.srv.ctx)
}
