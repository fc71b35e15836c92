package session

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

// watch reports one unit's activity.
type watch struct {
	tell func(Activity)

	mu  sync.Mutex // agents' updates come from another goroutine than their prompts
	now Activity
}

func newWatch(c *Config) *watch { return &watch{tell: c.Watch, now: Activity{Unit: c.Unit.ID()}} }

func (w *watch) prompt(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now.Iteration = n
	w.send()
}

// update takes what an agent says of its session.
func (w *watch) update(u acp.SessionUpdate) {
	switch u := u.(type) {
	case acp.ToolCall:
		w.tool(u.Title)
	case acp.UsageUpdate:
		if u.Cost != nil && u.Cost.Currency == usd {
			w.cost(u.Cost.Amount)
		}
	}
}

func (w *watch) tool(title string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now.Tool = title
	w.send()
}

func (w *watch) cost(amount float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now.Cost = &amount
	w.send()
}

func (w *watch) send() {
	if w.tell != nil {
		w.tell(w.now)
	}
}
