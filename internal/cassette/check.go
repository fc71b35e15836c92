package cassette

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// Values that no session has are errors even where the checksums are right: somebody has computed them again.

var (
	// stops are the reasons why turns end: those that may be expected, but for the word that is none.
	stops    = slices.DeleteFunc(result.Stops(), func(s string) bool { return s == result.Unsent })
	statuses = []trajectory.Status{
		trajectory.Pending, trajectory.InProgress, trajectory.Completed, trajectory.Failed, trajectory.Cancelled,
	}
	importedFrom = lazyregexp.New(`^imported from [a-z][a-z0-9-]* .*$`)
	fullDigest   = lazyregexp.New(`^[0-9a-f]{64}$`)
)

// check returns an error unless Write could have written the header.
func (h Header) check() error {
	if !slices.Contains(levels, h.Level) {
		return fmt.Errorf("unknown level %q; this program reads %s", h.Level, strings.Join(levels, ", "))
	}
	if !h.LeftOut.Valid() {
		return fmt.Errorf("left_out is %q: want patterns of paths, such as data/**", []string(h.LeftOut))
	}
	if h.RecordedAt.IsZero() {
		return errors.New("recorded_at is not set: want the time of the recording")
	}
	if h.ProtocolVersion < 0 {
		return fmt.Errorf("protocol_version is %d: want 0 or more", h.ProtocolVersion)
	}
	if h.Imported() {
		if err := h.checkImported(); err != nil {
			return err
		}
	} else if err := h.checkRecorded(); err != nil {
		return err
	}
	if h.Agent.Kind != h.Fingerprints.Kind {
		return fmt.Errorf("the agent's kind is %q, but the fingerprints say %q: want the same", h.Agent.Kind,
			h.Fingerprints.Kind)
	}
	return h.Fingerprints.check()
}

func (h Header) checkRecorded() error {
	switch {
	case h.Origin != OriginRecorded:
		return fmt.Errorf("unknown origin %q: want %q, or %q with a format and a version", h.Origin, OriginRecorded,
			OriginImported+" from")
	case h.Endpoint != "real" && h.Endpoint != "scripted":
		return fmt.Errorf("unknown endpoint %q: want real or scripted", h.Endpoint)
	}
	return nil
}

// checkImported makes sure that an import says no more than it knows: what its playbook was, and not how its agent ran.
func (h Header) checkImported() error {
	f := h.Fingerprints
	switch {
	case !importedFrom.MatchString(h.Origin):
		return fmt.Errorf("unknown origin %q: want %q with a format and a version", h.Origin, OriginImported+" from")
	case h.Endpoint != "" || h.Sandbox != "" || !reflect.DeepEqual(f, f.OfImport()):
		return fmt.Errorf("the origin is %q, but the header has the endpoint, sandbox or limits of a recording",
			h.Origin)
	case reflect.DeepEqual(f, Fingerprints{}):
		return errors.New("the session was imported by an older version, which did not keep what its playbook was: " +
			"import it again, with sdd-eval cassette import --force")
	}
	return nil
}

func (f Fingerprints) check() error {
	if f.Kind == "" {
		return errors.New("fingerprints: the kind is empty")
	}
	if _, err := time.ParseDuration(f.Timeout); err != nil && f.Timeout != "" || strings.HasPrefix(f.Timeout, "-") {
		return fmt.Errorf("fingerprints: the timeout is %q: want a duration such as 30m0s, or nothing", f.Timeout)
	}
	if f.ToolCalls < 0 || f.Tokens < 0 || f.CostUSD < 0 {
		return fmt.Errorf("fingerprints: max_tool_calls is %d, max_tokens %d and max_cost_usd %v: want 0 or more",
			f.ToolCalls, f.Tokens, f.CostUSD)
	}
	if !fullDigest.MatchString(f.Workspace.Digest) {
		return fmt.Errorf("fingerprints: the digest of the workspace is %q: want 64 hexadecimal digits",
			f.Workspace.Digest)
	}
	return nil
}

// checkEvent returns an error for an event that no session has.
func checkEvent(body trajectory.Body) error {
	switch b := body.(type) {
	case trajectory.Stop:
		if !slices.Contains(stops, b.Reason) {
			return fmt.Errorf("unknown stop reason %q", b.Reason)
		}
		if u := b.Usage; u != nil {
			return notNegative("usage", u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Thought, u.Total)
		}
	case trajectory.Permission:
		offered := func(o trajectory.PermissionOption) bool { return o.ID == b.Decision }
		unanswered := b.Decision == "cancelled" || strings.HasPrefix(b.Decision, "error: ")
		if !unanswered && !slices.ContainsFunc(b.Options, offered) {
			return fmt.Errorf("the decision %q is none of the options", b.Decision)
		}
	case trajectory.ToolEnd:
		if !slices.Contains(statuses, b.Status) {
			return fmt.Errorf("unknown status %q", b.Status)
		}
	case trajectory.State:
		if b.Cost != nil && b.Cost.Amount < 0 {
			return errors.New("the cost is negative")
		}
		return notNegative("context", b.ContextUsed, b.ContextSize)
	}
	return nil
}

func notNegative(what string, counts ...*int64) error {
	for _, n := range counts {
		if n != nil && *n < 0 {
			return errors.New(what + ": " + strconv.FormatInt(*n, 10) + " is negative")
		}
	}
	return nil
}
