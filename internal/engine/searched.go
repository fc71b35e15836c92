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
	begun   int // of the starters, if none but the unit was active; else -1
}

// endures reports whether nothing changes a unit's workspace once it was searched: no evaluator starts anything there.
func (a *attempt) endures() bool {
	return evaluatorNeeds(a.unit)&(evaluator.StartsChild|evaluator.NeedsDir) == 0
}

// starters remembers what starts children, and the kept workspaces that were searched.
type starters struct {
	mu            sync.Mutex
	begun, active int                 // units and jobs that may start children
	left          map[string]searched // without what was seen, which is much
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

// alone returns how many have begun, or -1 if another is active than the unit that asks, which is one of them or not.
func (s *starters) alone(starts bool) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active > 1 || starts != (s.active == 1) {
		return -1
	}
	return s.begun
}

// leave notes what the search of a workspace came to that is kept now; nil: that is not known.
func (s *starters) leave(dir string, was *searched) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if was == nil {
		delete(s.left, dir)
		return
	}
	if s.left == nil {
		s.left = make(map[string]searched)
	}
	s.left[dir] = searched{secrets: was.secrets, begun: was.begun}
}

// unchanged returns the workspaces, as paths with slashes from a directory, that were searched for that many secrets
// and that nothing can have changed since: bubblewrap confines children to what they are given and lets none survive,
// or none were started. What a command of the user's gives its children nobody knows, nor whether they survive it;
// those that reach a socket may have others work for them; and where there are no supervisors some may survive.
func (s *starters) unchanged(dir string, secrets int, held confine.Properties) map[string]bool {
	confined := held.Kind == confine.Bwrap
	for _, p := range []confine.Property{confine.FilesWritten, confine.FileModes, confine.Sockets} {
		confined = confined && slices.Contains(held.Holds, p)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known := make(map[string]bool)
	for path, was := range s.left {
		none := runtime.GOOS == "linux" && held.Kind != confine.Wrapper && was.begun == s.begun
		rel, err := filepath.Rel(dir, path)
		if err == nil && was.secrets == secrets && (confined || none) {
			known[filepath.ToSlash(rel)] = true
		}
	}
	return known
}
