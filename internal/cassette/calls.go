package cassette

import (
	"fmt"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

// calls are the tool calls of a session that is read, by ID; true: it has ended. A recording in which a call, its
// permission and its result do not belong together was edited: what its agent called cannot be told.
type calls map[string]bool

// check returns an error for an event of a call that was not made, or of one that has ended.
func (c calls) check(body trajectory.Body) error {
	switch b := body.(type) {
	case trajectory.ToolStart:
		if _, twice := c[b.ID]; twice {
			return fmt.Errorf("the tool call %q begins twice", b.ID)
		}
		c[b.ID] = false
	case trajectory.ToolEnd:
		ended, made := c[b.ID]
		if !made {
			return fmt.Errorf("a result of the tool call %q, which was not made", b.ID)
		}
		if ended {
			return fmt.Errorf("the tool call %q ends twice", b.ID)
		}
		c[b.ID] = true
	case trajectory.Permission:
		if _, made := c[b.ID]; !made {
			return fmt.Errorf("a request for permission for the tool call %q, which was not made", b.ID)
		}
	}
	return nil
}
