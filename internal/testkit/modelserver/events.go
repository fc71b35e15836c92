package modelserver

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// events writes server-sent events.
type events struct {
	ctx   context.Context
	w     http.ResponseWriter
	flush func() error
	pause time.Duration
	err   error // of the first write that failed; the others are not tried
}

func (s *Server) newEvents(w http.ResponseWriter, r *http.Request) *events {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	return &events{ctx: r.Context(), w: w, flush: http.NewResponseController(w).Flush, pause: s.Pause}
}

// part begins the answer's part i: it lets the one before arrive first.
func (e *events) part(i int) {
	if i == 0 || e.err != nil || e.pause == 0 {
		return
	}
	select {
	case <-time.After(e.pause):
	case <-e.ctx.Done():
		e.err = e.ctx.Err()
	}
}

// send sends v, whose type is also the event's.
func (e *events) send(v map[string]any) {
	e.write(fmt.Sprintf("event: %s\ndata: %s\n\n", v["type"], compact(v)))
}

// data sends v as an event without a type.
func (e *events) data(v any) { e.write("data: " + compact(v) + "\n\n") }

func (e *events) write(event string) {
	if e.err != nil {
		return
	}
	if _, e.err = e.w.Write([]byte(event)); e.err == nil {
		e.err = e.flush()
	}
}

// pieces cuts text into what one event carries. A stream has several of them, as a real model's has, so that whoever
// reads it must join them.
func pieces(text string) []string {
	const size = 48 // characters
	var list []string
	for chunk := range slices.Chunk([]rune(text), size) {
		list = append(list, string(chunk))
	}
	return list
}

// compact returns v as JSON on one line.
func compact(v any) string {
	data, err := jsonvalue.Marshal(v)
	if err != nil {
		panic("modelserver: a value that was decoded cannot be encoded: " + err.Error())
	}
	return string(data)
}
