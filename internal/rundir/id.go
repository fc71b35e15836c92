package rundir

import (
	"crypto/rand"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
)

var (
	runID    = lazyregexp.New(`^[0-9]{8}-[0-9]{6}-[A-Za-z0-9_-]{1,160}$`)
	unusable = lazyregexp.New(`[^A-Za-z0-9_]+`)
)

// NewID returns an id for a run of the playbook of that name, YYYYMMDD-HHMMSS-<name>-<last>, with the time in UTC and
// what cannot be in a file's name replaced. The last part, of letters, digits, _ and -, is random if it is empty.
func NewID(now time.Time, name, last string) string {
	name = unusable.ReplaceAllString(name, "-")
	name = strings.Trim(name[:min(len(name), 60)], "-")
	if name == "" {
		name = "run"
	}
	if last == "" {
		last = strings.ToLower(rand.Text()[:8]) // 40 bits; Create sees to the rest
	}
	return now.UTC().Format("20060102-150405") + "-" + name + "-" + last
}
