package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/blame"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// Parting is where two sessions of a case that flipped part: one that passed in the arm that passes more often, and one
// that failed in the other.
type Parting struct {
	BaseTrial int `json:"base_trial"` // from 1
	HeadTrial int `json:"head_trial"`
	// Call is the first tool call that differs, from 1: 0 if none does, or if Why says why it is not known.
	Call int `json:"call"`
	// Base and Head are what was called, cut and harmless: empty if the session has no such call.
	Base string `json:"base,omitempty"`
	Head string `json:"head,omitempty"`
	Why  string `json:"why,omitempty"`
}

// parting returns where sessions of a case part that passes more often in one arm than in the other.
func parting(base, head Arm, p pair) *Parting {
	first := func(c Case, o result.Outcome) int {
		return 1 + slices.IndexFunc(c.Trials, func(t Trial) bool { return t.Outcome == o })
	}
	at := &Parting{}
	if p.counts().Base.Rate() > p.counts().Head.Rate() {
		at.BaseTrial, at.HeadTrial = first(p.base, result.Pass), first(p.head, result.Fail)
	} else {
		at.BaseTrial, at.HeadTrial = first(p.base, result.Fail), first(p.head, result.Pass)
	}
	b, err := base.Calls(p.base.ID, at.BaseTrial)
	h, also := head.Calls(p.head.ID, at.HeadTrial)
	if err = cmp.Or(err, also); err != nil {
		at.Why = excerpt.Line(err.Error(), maxWhy)
		return at
	}
	where := blame.Part(b, h)
	at.Call, at.Base, at.Head = where.Call, where.A, where.B
	return at
}

// maxWhy is how many characters are shown of why nothing is known.
const maxWhy = 300

// maxSessions is how many sessions of a case in an arm are read to find out what goes along with failure.
const maxSessions = 50

// blamed returns the calls that go along with failure in both arms together. Trials whose sessions cannot be read are
// left out.
func blamed(base, head Arm, p pair, alpha float64) []blame.Association {
	var sessions []blame.Session
	for _, in := range []struct {
		Arm
		Case
	}{{base, p.base}, {head, p.head}} {
		for i, t := range in.Trials[:min(len(in.Trials), maxSessions)] {
			if !t.known() {
				continue
			}
			if calls, err := in.Calls(in.ID, i+1); err == nil {
				sessions = append(sessions, blame.Session{Calls: calls, Failed: t.Outcome == result.Fail})
			}
		}
	}
	return blame.Associations(sessions, alpha)
}

// text says it to people, behind the line of a case.
func (p *Parting) text() string {
	trials := [2]string{fmt.Sprintf("base trial %d", p.BaseTrial), fmt.Sprintf("head trial %d", p.HeadTrial)}
	switch {
	case p.Why != "":
		return fmt.Sprintf("\n    where %s and %s part is not known: %s", trials[0], trials[1], p.Why)
	case p.Call == 0:
		return fmt.Sprintf("\n    %s and %s made the same tool calls", trials[0], trials[1])
	}
	return fmt.Sprintf("; sessions part at tool call %d\n    %s  %s\n    %s  %s", p.Call, trials[0],
		cmp.Or(p.Base, "no more calls"), trials[1], cmp.Or(p.Head, "no more calls"))
}

// Sessions says what is known of its sessions to people, behind the line of the case; empty: nothing is.
func (f Flip) Sessions() string {
	if f.PartsAt == nil {
		return ""
	}
	var text strings.Builder
	text.WriteString(f.PartsAt.text())
	for _, a := range f.Blame {
		text.WriteString("\n    blame  " + a.String())
	}
	return text.String()
}
