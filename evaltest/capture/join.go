package capture

import (
	"fmt"
	"slices"
)

// callID names a call. Its id is the agent's word, and two sessions may use the same one.
type callID struct{ session, id string }

// joiner makes calls of lines.
type joiner struct {
	Capture
	index map[callID]int // of the call
}

// join makes calls of lines that are ordered by time. Lines that begin calls come first, since a clock that is set back
// may have put the end of a call before its beginning.
func join(lines []line) Capture {
	j := joiner{index: make(map[callID]int)}
	for i := range lines {
		if lines[i].Phase == phasePre {
			j.before(&lines[i])
		}
	}
	for i := range lines {
		if lines[i].Phase != phasePre {
			j.after(&lines[i])
		}
	}
	slices.SortStableFunc(j.Calls, func(a, b Call) int { return a.Start.Compare(b.Start) })
	return j.Capture
}

func (j *joiner) before(l *line) {
	id := callID{l.Session, l.ID}
	i, known := j.index[id]
	if !known {
		i = len(j.Calls)
		j.index[id] = i
		j.Calls = append(j.Calls, l.begin())
	} else {
		j.note(l, "the start of this call was captured before: are the hooks installed twice?")
	}
	j.Calls[i].decide(l)
}

func (j *joiner) after(l *line) {
	id := callID{l.Session, l.ID}
	i, known := j.index[id]
	switch {
	case !known:
		i = len(j.Calls)
		j.index[id] = i
		j.Calls = append(j.Calls, l.begin())
		j.note(l, "the start of this call was not captured")
	case !j.Calls[i].end.IsZero():
		j.note(l, "the end of this call was captured before: are the hooks installed twice?")
		return
	case j.Calls[i].Denied && l.Phase == phasePost:
		j.note(l, "this call ran although it was denied")
	}
	c := &j.Calls[i]
	c.finish(l)
	if !known {
		c.Start = c.Start.Add(-c.Duration)
	}
}

func (j *joiner) note(l *line, what string) {
	j.Notes = append(j.Notes, fmt.Sprintf("line %d: %s %s: %s", l.number, l.Tool, l.ID, what))
}
