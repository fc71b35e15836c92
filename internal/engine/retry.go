package engine

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/session"
)

// Pauses between the attempts of a unit, which no error asks for: the first, how long they grow, and the longest that
// is waited for if an error asks for it.
const (
	firstPause   = 2 * time.Second
	longestPause = time.Minute
	maxAsked     = 5 * time.Minute
)

// pauseAfter returns how long to wait after failed attempts, of which the last one ended for this reason: twice as long
// each time, give or take so that units do not all come back at once, and never shorter than the reason asks for. An
// error says that the reason asks for too much.
func pauseAfter(failed int, reason string) (time.Duration, error) {
	pause := min(firstPause<<min(failed-1, 10), longestPause)
	pause = pause/2 + rand.N(pause/2+1)
	asked := retryAfter(reason)
	if asked > maxAsked {
		return 0, fmt.Errorf("not tried again: the next attempt should wait %v, which is more than %v", asked, maxAsked)
	}
	if asked > 0 {
		pause = max(pause, asked+rand.N(asked/10+1))
	}
	return pause, nil
}

// pause waits until the next attempt at a unit, and tells who watches. An error says why there is none.
func (r *Runner) pause(ctx context.Context, u plan.Unit, failed int, reason string, log io.Writer) error {
	d, err := pauseAfter(failed, reason)
	if err != nil {
		return err
	}
	if end, ok := ctx.Deadline(); ok && time.Until(end) <= d {
		return fmt.Errorf("not tried again: the next attempt should wait %v, and the run ends before", d)
	}
	text := fmt.Sprintf("attempt %d of %d ended in error; another one follows after a pause (%.1fs): %s",
		failed, r.pb.Retries+1, d.Seconds(), excerpt.Line(reason, maxShownReason))
	fmt.Fprintf(log, "%s: %s\n", u.ID(), text)
	if r.tell != nil {
		r.tell(session.Activity{Unit: u.ID(), Pause: text})
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// maxShownReason is how many characters of an attempt's error are shown before the next attempt.
const maxShownReason = 300

// asksToWait matches what services and agents say of how long to wait: a header's or a field's name, or a sentence, and
// then a number with its unit, or several ("1m30s", "1 minute 30 seconds").
var asksToWait = lazyregexp.New(`(?i)(?:retry[-_ ]?(?:after|delay)(?:[-_ ](ms))?|(?:try|retry)(?: again)? in)` +
	`["']?\s*[:=]?\s*["']?((?:\d{1,9}(?:\.\d{1,9})?\s*[a-z]*\s*){1,4})`)

// amount matches one number of such a time with its unit.
var amount = lazyregexp.New(`(?i)(\d{1,9}(?:\.\d{1,9})?)\s*([a-z]*)`)

// units are those of times, by their names.
var units = map[string]time.Duration{
	"ms": time.Millisecond, "msec": time.Millisecond, "msecs": time.Millisecond,
	"millisecond": time.Millisecond, "milliseconds": time.Millisecond,
	"s": time.Second, "sec": time.Second, "secs": time.Second, "second": time.Second, "seconds": time.Second,
	"m": time.Minute, "min": time.Minute, "mins": time.Minute, "minute": time.Minute, "minutes": time.Minute,
	"h": time.Hour, "hour": time.Hour, "hours": time.Hour, "d": 24 * time.Hour, "day": 24 * time.Hour,
	"days": 24 * time.Hour,
}

// retryAfter returns how long a text asks to wait, 0 if it does not: the longest, if it does several times. A first
// number without a unit is of seconds; what follows a number that has none is about something else.
func retryAfter(text string) time.Duration {
	var longest time.Duration
	for _, m := range asksToWait.FindAllStringSubmatch(text, -1) {
		var asked time.Duration
		for i, part := range amount.FindAllStringSubmatch(m[2], -1) {
			unit, known := units[strings.ToLower(part[2])]
			n, err := strconv.ParseFloat(part[1], 64)
			if err != nil || !known && i > 0 {
				break
			}
			if !known && m[1] != "" {
				unit = time.Millisecond
			} else if !known {
				unit = time.Second
			}
			asked += time.Duration(min(n*float64(unit), float64(maxTold)))
			if !known {
				break
			}
		}
		longest = max(longest, asked)
	}
	return longest
}

// maxTold bounds each number of a text.
const maxTold = 1000 * time.Hour
