package engine

import (
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// A workspace is searched for secrets when its unit's steps are over. What was read then is not read again, neither to
// compare the workspace nor when the run ends, as long as nothing can have changed it.

// searched is what the search of a workspace came to.
type searched struct {
	secrets int  // how many it knew
	keys    bool // there is what looks like a key
	seen    workspace.Seen
	begun   int // of the starters, if none but the unit was active; else 0
}

// endures reports whether nothing changes a unit's workspace once it was searched: no evaluator starts anything there.
func (a *attempt) endures() bool {
	return evaluatorNeeds(a.unit)&(evaluator.StartsChild|evaluator.NeedsDir) == 0
}

// starters remembers what starts children, and the kept workspaces that were searched.
type starters struct {
	mu            sync.Mutex
	begun, active int // units and jobs that may start children
	left          map[string]*searched
}

// begin counts a unit or job that may start children, until end is called.
func (s *starters) begin() (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun++
	s.active++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.active--
	}
}

// alone returns how many have begun, or 0 if another is active than the unit that asks.
func (s *starters) alone() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active != 1 {
		return 0
	}
	return s.begun
}

// leave notes what the search of a workspace came to that is kept now; nil: that is not known.
func (s *starters) leave(dir string, was *searched) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left == nil {
		s.left = make(map[string]*searched)
	}
	s.left[dir] = was
}

// unchanged returns the workspaces, as paths with slashes from a directory, that were searched for that many secrets
// and that nothing can have changed since: children are confined to what they are given, or none were started. Where
// supervision is weak, there may be children that nobody knows of.
func (s *starters) unchanged(dir string, secrets int, held confine.Properties) map[string]bool {
	confined := slices.Contains(held.Holds, confine.FilesWritten) && slices.Contains(held.Holds, confine.FileModes)
	s.mu.Lock()
	defer s.mu.Unlock()
	known := make(map[string]bool)
	for path, was := range s.left {
		none := runtime.GOOS == "linux" && was != nil && was.begun == s.begun
		rel, err := filepath.Rel(dir, path)
		if err == nil && was != nil && was.secrets == secrets && (confined || none) {
			known[filepath.ToSlash(rel)] = true
		}
	}
	return known
}
