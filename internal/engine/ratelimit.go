package engine

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/session"
)

// RateLimitError says that a run ended early because the model of an account took no more requests, for longer than the
// run waits.
type RateLimitError struct {
	// Account is the agent's kind and its preset.
	Account string
	// Waited is how long was waited since a unit of the account ended, and Asked how long is to be waited now; 0:
	// nobody knows. Most is how long the run waits.
	Waited, Asked, Most time.Duration
	// Said is what the agent said.
	Said string
	// NotRun is how many units were not run.
	NotRun int
}

func (e *RateLimitError) Error() string {
	left := fmt.Sprintf("%d units were not run", e.NotRun)
	if e.NotRun == 1 {
		left = "1 unit was not run"
	}
	why := fmt.Sprintf("it was waited for %v", e.Waited.Round(time.Second))
	if e.Asked > 0 {
		why = fmt.Sprintf("it lasts another %v", e.Asked.Round(time.Second))
	}
	return fmt.Sprintf("rate limit of %s: %s, and the run waits %v: %s: %s", e.Account, why, e.Most, left,
		excerpt.Line(e.Said, maxShownReason))
}

// patience has the units of an account wait together when its model takes no more requests. A nil one has none: such a
// unit ends in an error.
type patience struct {
	most time.Duration

	mu       sync.Mutex
	accounts map[string]*limitedAccount
	notRun   int
}

// limitedAccount is an account with what is known of its limit.
type limitedAccount struct {
	until  time.Time     // when its units go on
	waited time.Duration // since one of its units ended otherwise
	met    int           // how often the limit was met since then
	over   chan struct{} // closed when nothing is waited for any more
	ended  *RateLimitError
}

func newPatience(most time.Duration) *patience {
	if most <= 0 {
		return nil
	}
	return &patience{most: most, accounts: make(map[string]*limitedAccount)}
}

// Pauses that no error asks for: the first, and the longest. A time of the day that an error names is rounded, so that
// a little more is waited.
const (
	firstLimitPause   = 15 * time.Second
	longestLimitPause = 2 * time.Minute
	afterReset        = time.Minute
)

// of returns an account. The lock is held.
func (p *patience) of(name string) *limitedAccount {
	a := p.accounts[name]
	if a == nil {
		a = &limitedAccount{over: make(chan struct{})}
		p.accounts[name] = a
	}
	return a
}

// met notes that a unit met the limit of its account, and what the agent said of it.
func (p *patience) met(name, said string, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.of(name)
	asked := askedToWait(said, now)
	pausing := a.until.After(now)
	if a.ended != nil || pausing && !now.Add(asked).After(a.until) { // another unit met it before
		return
	}
	pause := cmp.Or(asked, min(firstLimitPause<<min(a.met, 10), longestLimitPause))
	if pausing {
		a.waited -= a.until.Sub(now)
	}
	if left := p.most - a.waited; asked == 0 {
		pause = min(pause, left)
	}
	if pause <= 0 || a.waited+pause > p.most {
		a.ended = &RateLimitError{Account: name, Waited: a.waited, Asked: asked, Most: p.most, Said: said}
		close(a.over)
		return
	}
	a.until, a.waited, a.met = now.Add(pause), a.waited+pause, a.met+1
}

// progress notes that a unit of an account ended otherwise than by its limit.
func (p *patience) progress(name string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.of(name)
	a.waited, a.met = 0, 0
}

// wait waits until units of an account may go on, and tells how long that takes. It returns false if they will not in
// this run, or ctx has ended.
func (p *patience) wait(ctx context.Context, name string, tell func(time.Duration)) bool {
	for p != nil {
		p.mu.Lock()
		a := p.of(name)
		ended, left := a.ended != nil, time.Until(a.until)
		p.mu.Unlock()
		switch {
		case ended || ctx.Err() != nil:
			return false
		case left <= 0:
			return true
		}
		tell(left)
		timer := time.NewTimer(left)
		select {
		case <-timer.C:
		case <-a.over:
		case <-ctx.Done():
		}
		timer.Stop()
	}
	return true
}

// leave counts a unit that is not run, and is to be run when the run is resumed.
func (p *patience) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.notRun++
}

// end returns why units were not run, nil if none was left.
func (p *patience) end() error {
	if p == nil || p.notRun == 0 {
		return nil
	}
	for _, a := range p.accounts {
		if a.ended != nil {
			a.ended.NotRun = p.notRun
			return a.ended
		}
	}
	return nil
}

// awaitLimit waits for the rate limit of a unit's account. It returns false if the unit is not to be run now.
func (r *Runner) awaitLimit(ctx context.Context, u plan.Unit, log io.Writer) bool {
	if !r.startsAgent(u) {
		return true
	}
	account := accountOf(u)
	return r.patience.wait(ctx, account, func(left time.Duration) {
		text := fmt.Sprintf("rate limit of %s: waiting %v, Ctrl-C saves", account, left.Round(time.Second))
		fmt.Fprintf(log, "%s: %s\n", u.ID(), text)
		if r.tell != nil {
			r.tell(session.Activity{Unit: u.ID(), Pause: text})
		}
	})
}

// accountOf names the account of a unit's agent.
func accountOf(u plan.Unit) string {
	a := u.Variant.Agent
	if a.Preset == "" {
		return a.Kind
	}
	return a.Kind + "/" + a.Preset
}

// askedToWait returns how long a text asks to wait, as [retryAfter], or by the time at which it says that a limit
// resets; 0: it does not say.
func askedToWait(text string, now time.Time) time.Duration {
	longest := retryAfter(text)
	if m := resetsIn.FindStringSubmatch(text); m != nil {
		n, _ := strconv.ParseInt(m[1], 10, 64)
		longest = max(longest, time.Duration(n)*time.Second)
	}
	if m := resetsAtEpoch.FindStringSubmatch(text); m != nil {
		n, _ := strconv.ParseInt(m[1], 10, 64)
		longest = max(longest, time.Unix(n, 0).Sub(now))
	}
	if m := resetsAt.FindStringSubmatch(text); m != nil {
		if at, ok := nextTime(m[1], m[2], m[3], m[4], m[5], m[6], now); ok {
			longest = max(longest, at.Add(afterReset).Sub(now))
		}
	}
	return min(longest, maxTold)
}

// What agents say of when a limit resets: Claude Code "resets 1:06am (UTC)", "resets Nov 27, 3pm (Europe/Berlin)" and
// "limit reached|1796000000", Codex "try again at 1:06 AM", "try again at Nov 27th, 2026 1:06 AM" and fields of JSON.
var (
	resetsIn      = lazyregexp.New(`resets_in_seconds"?\s*[:=]\s*(\d{1,9})\b`)
	resetsAtEpoch = lazyregexp.New(`(?:limit reached\||resets_at"?\s*[:=]\s*)(\d{10})\b`)
	resetsAt      = lazyregexp.New(`(?i)\b(?:resets|try again)(?:\s+at)?\s+` +
		`(?:([a-z]{3})[a-z]*\s+(\d{1,2})(?:st|nd|rd|th)?(?:,\s+\d{4})?,?\s+(?:at\s+)?)?` +
		`(\d{1,2})(?::(\d{2}))?\s*([ap]m)\b(?:\s*\(([A-Za-z0-9_+/-]{1,40})\))?`)
)

// nextTime returns the next time that is named by a month and a day, both empty for any, an hour, a minute, am or pm,
// and a time zone, which is that of now if it is empty or unknown. Agents round what they say to minutes, so that a
// minute that has begun is meant.
func nextTime(month, day, hour, minute, half, zone string, now time.Time) (time.Time, bool) {
	if zone != "" {
		if place, err := time.LoadLocation(zone); err == nil {
			now = now.In(place)
		}
	}
	h, _ := strconv.Atoi(hour)
	m, _ := strconv.Atoi(minute)
	if h < 1 || h > 12 || m > 59 {
		return time.Time{}, false
	}
	h %= 12
	if strings.EqualFold(half, "pm") {
		h += 12
	}
	today := now.Truncate(time.Minute)
	if month == "" {
		at := time.Date(now.Year(), now.Month(), now.Day(), h, m, 0, 0, now.Location())
		if at.Before(today) {
			at = at.AddDate(0, 0, 1)
		}
		return at, true
	}
	named, err := time.Parse("Jan", strings.ToUpper(month[:1])+strings.ToLower(month[1:]))
	d, _ := strconv.Atoi(day)
	if err != nil || d < 1 || d > 31 {
		return time.Time{}, false
	}
	at := time.Date(now.Year(), named.Month(), d, h, m, 0, 0, now.Location())
	if at.Before(today) {
		at = at.AddDate(1, 0, 0)
	}
	return at, true
}
