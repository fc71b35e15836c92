package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

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

// What is shown of a call, in characters.
const (
	maxCall   = 100
	maxBefore = 30 // the first difference
)

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
		at.Why = excerpt.Line(err.Error(), 3*maxCall)
		return at
	}
	same := 0
	for same < min(len(b), len(h)) && b[same] == h[same] {
		same++
	}
	one := func(text string) string { return excerpt.Line(text, maxCall) }
	switch {
	case same < min(len(b), len(h)):
		at.Base, at.Head = apart(b[same], h[same])
	case same < len(b):
		at.Base = one(b[same])
	case same < len(h):
		at.Head = one(h[same])
	default:
		return at
	}
	at.Call = same + 1
	return at
}

// apart shows two calls. If their arguments alone differ, their tool's name stays.
func apart(a, b string) (string, string) {
	name, x, _ := strings.Cut(a, " ")
	other, y, _ := strings.Cut(b, " ")
	if name != other {
		return excerpt.Line(a, maxCall), excerpt.Line(b, maxCall)
	}
	x, y = excerpt.Apart(x, y, maxCall, maxBefore, func(args string) string { return excerpt.Line(args, maxCall) })
	name = excerpt.Line(name, maxCall) + " "
	return name + x, name + y
}

// Text says it to people, behind the line of a case.
func (p *Parting) Text() string {
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
