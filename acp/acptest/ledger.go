package acptest

import (
	"slices"
	"sync"
)

// maxViolations is how many violations of a rule are told; more say nothing new.
const maxViolations = 3

// ledger holds what was seen of the habits of all agents of a run.
type ledger struct {
	mu         sync.Mutex
	count      map[string]int // by rule: how often it could have been broken
	violations map[string][]violation
}

type violation struct {
	what    string
	message string // the message that breaks the rule, as the agent wrote it
}

func newLedger() *ledger {
	return &ledger{count: make(map[string]int), violations: make(map[string][]violation)}
}

// judge notes that message was held against a rule; what says how it breaks it, empty: not.
func (l *ledger) judge(rule, what string, message []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count[rule]++
	same := func(v violation) bool { return v.what == what }
	if what == "" || len(l.violations[rule]) == maxViolations || slices.ContainsFunc(l.violations[rule], same) {
		return
	}
	l.violations[rule] = append(l.violations[rule], violation{what, "< " + clip(string(message))})
}

// of returns how often a rule could have been broken, and how it was.
func (l *ledger) of(rule string) (count int, violations []violation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count[rule], slices.Clone(l.violations[rule])
}
