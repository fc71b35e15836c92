package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
)

// maxSuspects is how many places a warning names.
const maxSuspects = 5

// warnOfSuspects warns if what an agent wrote or said may hold a credential that nobody has named. It is not masked
// there, since ordinary code has such text, but people commit recordings.
func (a *attempt) warnOfSuspects() {
	if a.session == nil || !a.role.runsAgent() {
		return
	}
	var places []string
	for _, t := range a.session.Turns() {
		for _, c := range t.Delta.Changes {
			if !c.Writes() {
				continue
			}
			if at := a.secrets.Suspects(c.Data); len(at) > 0 {
				line := 1 + bytes.Count(c.Data[:at[0]], []byte("\n"))
				places = append(places, fmt.Sprintf("%s:%d", excerpt.Name(c.Path, maxPlace), line))
			}
		}
		for _, e := range t.Events {
			if a.suspicious(e.Body) {
				places = append(places, fmt.Sprintf("turn %d, %s", e.Turn, e.Body.EventName()))
			}
		}
	}
	if len(places) == 0 {
		return
	}
	more := ""
	if n := len(places) - maxSuspects; n > 0 {
		places, more = places[:maxSuspects], fmt.Sprintf("; and %d more", n)
	}
	a.result.Warnings = append(a.result.Warnings, fmt.Sprintf("what the agent wrote or said may hold credentials that "+
		"are not masked: %s%s: if one is real, revoke it, and do not commit the recording",
		strings.Join(places, "; "), more))
}

// maxPlace is how many characters of a path are shown.
const maxPlace = 200

// suspicious reports whether an event may show a credential. Prompts are the author's own.
func (a *attempt) suspicious(body trajectory.Body) bool {
	if _, ok := body.(trajectory.Prompt); ok {
		return false
	}
	data, err := json.Marshal(body)
	return err == nil && !bytes.Equal(a.secrets.GuessJSON(data), data)
}
