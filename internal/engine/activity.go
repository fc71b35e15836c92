package engine

import (
	"sync"

	"github.com/sdd-eval/sdd-eval/acp"
)

// Activity is what a unit's agent is doing, for people who watch.
type Activity struct {
	// Unit is the unit's id.
	Unit string
	// Iteration is the prompt that it works on, from 1.
	Iteration int
	// Tool is the tool call that it made last, empty if none yet.
	Tool string
	// Cost is what the session has cost so far in USD, nil if the agent does not say.
	Cost *float64
}

// watch tells of one unit's activity. The zero watch tells nobody.
type watch struct {
	tell func(Activity)

	mu  sync.Mutex // agents' updates come from another goroutine than their prompts
	now Activity
}

func (w *watch) prompt(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now.Iteration = n
	w.send()
}

// update takes what an agent says of its session.
func (w *watch) update(u acp.SessionUpdate) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch u := u.(type) {
	case acp.ToolCall:
		w.now.Tool = u.Title
	case acp.UsageUpdate:
		if u.Cost == nil || u.Cost.Currency != usd {
			return
		}
		amount := u.Cost.Amount
		w.now.Cost = &amount
	default:
		return
	}
	w.send()
}

func (w *watch) send() {
	if w.tell != nil {
		w.tell(w.now)
	}
}
