package claudecli

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/claude"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// result takes the end of the turn. Where work in the background makes the program go on after it, there are several, and
// the last counts, unless one failed.
func (o *Observer) result(at time.Time, data []byte) error {
	var r resultLine
	if err := unmarshal(data, &r); err != nil {
		return err
	}
	for _, d := range r.Denials {
		o.denied(at, d)
	}
	if r.Cost != nil {
		o.turn.cost = r.Cost
	}
	o.turn.spend(r.Usage)
	if o.turn.Err == nil {
		o.turn.stop, o.turn.Err = r.stop()
	}
	return nil
}

// stop returns why the turn ended. The error says that nothing is known about the agent.
func (r *resultLine) stop() (string, error) {
	switch {
	case r.Subtype == "error_max_turns":
		return string(acp.StopMaxTurnRequests), nil
	case r.Subtype == "error_max_budget_usd":
		return result.StopCostLimit, nil
	case r.Subtype == "success" && r.Failed:
		return "", &ModelError{Status: r.Status, Text: r.Result}
	case r.Subtype != "success":
		return "", fmt.Errorf("the agent ended its turn with %q: %.500s", r.Subtype, strings.Join(r.Errors, "; "))
	}
	stop, known := claude.Stops[r.StopReason]
	if !known {
		return "", errors.New("the agent ended its turn for a reason that is not known: " + fmt.Sprintf("%.60q", r.StopReason))
	}
	return cmp.Or(stop, string(acp.StopEndTurn)), nil
}

// spend adds tokens to those of the turn.
func (t *Turn) spend(u *claude.Usage) {
	if u == nil {
		return
	}
	if t.usage == nil {
		t.usage = &trajectory.Usage{Input: new(int64), Output: new(int64), CacheRead: new(int64), CacheWrite: new(int64), Total: new(int64)}
	}
	*t.usage.Input += u.Input
	*t.usage.Output += u.Output
	*t.usage.CacheRead += u.CacheRead
	*t.usage.CacheWrite += u.CacheWrite
	*t.usage.Total += u.Input + u.Output + u.CacheRead + u.CacheWrite
}
