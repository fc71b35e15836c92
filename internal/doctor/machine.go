package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
	"github.com/sdd-eval/sdd-eval/internal/testrun"
	"github.com/sdd-eval/sdd-eval/internal/toolcache"
)

// ourselves says which version this is, and whether it may start agents.
func ourselves(_ context.Context, m *machine) []Finding {
	f := Finding{
		Name: "sdd-eval", State: Well, Text: engine.Version + ", built with " + m.GoVersion,
		Facts: map[string]any{"version": engine.Version, "go": m.GoVersion},
	}
	if err := engine.CheckGo(m.GoVersion); err != nil {
		f.State, f.Text, f.Next = Bad, err.Error(), fault.Advice(err)
	}
	return []Finding{f}
}

// goCommand says which Go the tests of the project would be built with. It must not download one.
func goCommand(ctx context.Context, m *machine) []Finding {
	f := Finding{Name: "go", State: Well}
	path, err := m.find("go")
	if err != nil {
		f.State, f.Text, f.Next = Absent, err.Error()+"; tests written in Go need it", "install Go from go.dev/dl"
		return []Finding{f}
	}
	env := append(slices.Clip(m.Environ), "GOPROXY=off")
	line, err := m.ask(ctx, supervise.Command{
		Path: path, Args: []string{"go", "env", "GOVERSION"}, Env: env, Dir: m.Root,
	})
	if err != nil {
		f.State, f.Text, f.Next = Noted, err.Error(), "go version"
		return []Finding{f}
	}
	f.Text, f.Facts = line, map[string]any{"version": line}
	if err := engine.CheckGo(line); err != nil {
		f.State, f.Next = Noted, fault.Advice(err)
		f.Text += ": tests that are built with it start no agent"
	}
	return []Finding{f}
}

func gitCommand(ctx context.Context, m *machine) []Finding {
	line, err := m.version(ctx, "git")
	if err != nil {
		return []Finding{{
			Name: "git", State: Absent, Next: "install git",
			Text: err.Error() + "; `workspace.repository` and checked out commits need it",
		}}
	}
	return []Finding{{Name: "git", State: Well, Text: cmp.Or(numberIn(line), line)}}
}

// caches says which of the user's caches agents may read.
func caches(_ context.Context, m *machine) []Finding {
	f := Finding{Name: "caches", State: Well}
	dirs := toolcache.Find(m.Environ).Directories()
	if len(dirs) == 0 {
		f.State, f.Next = Noted, "go build std"
		f.Text = "there are none: the first `go test` of each agent compiles the standard library"
		return []Finding{f}
	}
	for i, dir := range dirs {
		dirs[i] = excerpt.Name(dir, maxShown)
	}
	f.Text = strings.Join(dirs, ", ")
	return []Finding{f}
}

// variables says what the environment asks of runs.
func variables(_ context.Context, m *machine) []Finding {
	f := Finding{Name: "variables", State: Well}
	if _, err := engine.FromEnvironment(engine.Live, m.Getenv, m.Environ); err != nil {
		f.State, f.Text, f.Next = Bad, err.Error(), "correct or unset the variable"
		return []Finding{f}
	}
	var set []string
	for _, kv := range m.Environ {
		name, value, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(name, "EVALTEST_") || slices.Contains(others, name) {
			set = append(set, name+"="+excerpt.Name(value, maxShown))
		}
	}
	slices.Sort(set)
	f.Text = "none of ours is set"
	if len(set) > 0 {
		f.Text = strings.Join(set, " ")
	}
	if testrun.InCI(m.Getenv) {
		f.Text += "; in CI nothing is recorded, and what would be skipped is an error"
	}
	f.Facts = map[string]any{"ci": testrun.InCI(m.Getenv), "set": set}
	return []Finding{f}
}

// others are the variables that we read which do not have our prefix, and whose values are no secrets.
var others = []string{"CI", "EVAL_LLM_JUDGE", "LLMAN_CONFIG_DIR", "CLAUDE_PROJECT_DIR", "TEST_RUN_ID"}

// What a run needs of a disk: an agent may use 10 GiB, and stops long before that where there is less.
const (
	gib       = 1 << 30
	leastRoom = 1 * gib
	goodRoom  = 10 * gib
)

// room says how much is free where units work, and where runs are kept.
func room(_ context.Context, m *machine) []Finding {
	f := Finding{Name: "disk", State: Well}
	var texts []string
	facts := make(map[string]any)
	for _, dir := range []string{os.TempDir(), m.Root} {
		free, err := freeBytes(dir)
		if err != nil {
			texts, f.State, f.Next = append(texts, err.Error()), Bad, "make the directory usable"
			continue
		}
		facts[dir] = free
		if text := size(free) + " free in "; !strings.HasPrefix(strings.Join(texts, ""), text) { // else it is the same
			texts = append(texts, text+excerpt.Name(dir, maxShown))
		}
		if free < goodRoom && f.State == Well {
			f.State, f.Next = Noted, "make room, for example with `sdd-eval clean --keep 20`"
		}
		if free < leastRoom {
			f.State = Bad
		}
	}
	f.Text, f.Facts = strings.Join(texts, ", "), facts
	return []Finding{f}
}

// maxRuns is how large the runs may be before it is said that they can be removed.
const maxRuns = 10 * gib

// runs says how large the directories of the project's runs are, as far as there is time to look.
func runs(ctx context.Context, m *machine) []Finding {
	f := Finding{Name: "runs", State: Well}
	list, err := rundir.List(m.Root)
	if err != nil {
		f.State, f.Text, f.Next = Bad, err.Error(), "make the directory readable"
		return []Finding{f}
	}
	var total int64
	for _, run := range list {
		err = filepath.WalkDir(run.Dir, func(_ string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				if info, err := d.Info(); err == nil {
					total += info.Size()
				}
			}
			return ctx.Err()
		})
		if errors.Is(err, context.DeadlineExceeded) {
			break
		}
	}
	f.Text = fmt.Sprintf("%d below %s, %s", len(list), excerpt.Name(m.Root, maxShown), size(total))
	if ctx.Err() != nil {
		f.Text += " or more"
	}
	f.Facts = map[string]any{"runs": len(list), "bytes": total}
	if total > maxRuns || ctx.Err() != nil {
		f.State, f.Next = Noted, "sdd-eval clean --keep 20"
	}
	return []Finding{f}
}

// size returns a number of bytes as people read it.
func size(n int64) string {
	if n >= gib {
		return fmt.Sprintf("%.1f GiB", float64(n)/gib)
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
