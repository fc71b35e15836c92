package hostile_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/acp/scripted"
	"github.com/sdd-eval/sdd-eval/internal/cli"
	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
	"github.com/sdd-eval/sdd-eval/internal/testkit/hostile"
)

// small are limits that a process meets soon.
var small = supervise.Limits{Memory: 64 << 20, CPUs: 0.2, Disk: 8 << 20}

// TestHogs: what a process can use of the machine is bounded, it is ended, and the error names what it met. A neighbour
// notices nothing.
func TestHogs(t *testing.T) {
	t.Parallel()
	forEachKind(t, func(t *testing.T, sb *confine.Sandbox, properties confine.Properties) {
		for _, h := range hostile.Hogs() {
			if properties.Kind != confine.Bwrap && slices.Contains([]string{"hog-tmp", "hog-shm"}, h.Name) {
				continue // there these are not in memory, or not to be written
			}
			if !h.Counted && !slices.Contains(properties.Holds, h.Property) {
				t.Logf("%s: %s leaves open: %s", h.Name, properties.Kind, h.Property)
				continue
			}
			t.Run(h.Name, func(t *testing.T) {
				s, next := newScene(t), newScene(t)
				limits := small
				if h.Property != confine.CPU {
					limits.CPUs = 0 // or it takes seconds until anything else is used up
				}
				beside := next.command(hostile.Trick("neighbour", strconv.Itoa(1<<20)))
				beside.Limits, beside.PipeStdin = limits, true
				neighbour := start(t, sb, beside, next.policy())

				c := s.command(hostile.Trick("hog", h.Name+":"+size(h.Property)))
				c.Limits = limits
				var out bytes.Buffer
				c.Stdout = &out
				began := time.Now()
				p := start(t, sb, c, s.policy())
				require.True(t, within(p, deadline))
				exit, err := p.Wait()
				if h.Property == confine.CPU {
					require.NoError(t, err)
					assert.Equal(t, supervise.Exit{}, exit)
					used := p.Usage()
					// A busy machine may give it less than its limit, so that nothing has to be slowed down.
					starved := used.CPU.Seconds() < limits.CPUs*time.Since(began).Seconds()
					assert.True(t, used.Throttled || starved, "%+v", used)
				} else {
					met, ok := errors.AsType[*supervise.LimitError](err)
					require.True(t, ok, "%v, %v, %s", exit, err, &out)
					assert.Equal(t, string(h.Property), string(met.Resource))
					assert.NotContains(t, out.String(), "all")
					t.Log(met, p.Usage())
				}
				require.NoError(t, neighbour.Stdin.Close())
				exit, err = neighbour.Wait()
				require.NoError(t, err)
				assert.Equal(t, supervise.Exit{}, exit, "the neighbour")
			})
		}
	})
}

// size is what a hog asks for: more than the small limits.
func size(p confine.Property) string {
	return map[confine.Property]string{
		confine.Memory: strconv.Itoa(256 << 20), confine.Disk: strconv.Itoa(192 << 20), confine.CPU: "200",
	}[p]
}

const hogPlaybook = `name: hog
task: {prompt: Work.}
variants:
  hog: {agent: {kind: fake-acp, args: [hog.json]}}
  other: {agent: {kind: fake-acp, args: [other.json]}}
parallel: 2
retries: 2
limits: {memory: 96MiB, disk: 32MiB, processes: 64}
sandbox: {allow_commands: [sh], allow_read: [PROGRAM]}
workflow:
  jobs:
    eval:
      strategy: {matrix: {variant: [hog, other]}}
      steps:
        - uses: builtin:sdd-eval/workspace.prepare
        - uses: builtin:sdd-eval/acp.prompt
        - run: sh step.sh
`

// TestHogsRun: whoever in a unit meets a limit, its agent, a terminal or a run step, the unit ends in an error that
// names it and says what to do. It is not tried again, and the unit beside it passes.
func TestHogsRun(t *testing.T) {
	t.Parallel()
	command := func(exe, name string, p confine.Property) string {
		return strings.Join(append([]string{exe}, hostile.Trick("hog", name+":"+size(p))[1:]...), " ")
	}
	forks := "i=0; while [ $i -lt 99 ]; do sleep 9 & i=$((i+1)); done; sleep 9"
	tests := []struct {
		who, name string
		limit     string
		line      func(exe string) string
	}{
		{"agent", "memory", "memory", func(exe string) string { return command(exe, "hog-memory", confine.Memory) }},
		{"terminal", "many", "memory", func(exe string) string { return command(exe, "hog-by-many", confine.Memory) }},
		{"step", "disk", "disk", func(exe string) string { return command(exe, "hog-disk", confine.Disk) }},
		{"agent", "processes", "processes", func(string) string { return forks }},
	}
	forEachKind(t, func(t *testing.T, _ *confine.Sandbox, properties confine.Properties) {
		for _, tt := range tests {
			t.Run(tt.who+"-"+tt.name, func(t *testing.T) {
				s := newScene(t)
				s.target.Workspace = "."
				s.own = filepath.Join(s.target.Project, ".llman")
				units := s.runHog(t, properties.Kind, tt.who, tt.line("./"+hostile.Name))
				hog, other := units["hog"], units["other"]
				assert.Equal(t, "error", hog.Outcome)
				assert.Contains(t, hog.Reason, "limit "+tt.limit+": ")
				assert.Contains(t, hog.Next, "raise limits."+tt.limit+" in p.yaml")
				assert.Empty(t, hog.Attempts)
				assert.Equal(t, "completed", other.Outcome, other.Reason)
				t.Log(hog.Reason)
			})
		}
	})
}

// hogUnit is the line of a unit in results.jsonl.
type hogUnit struct {
	Variant, Outcome, Reason, Next string
	Attempts                       []string
}

// runHog runs the playbook, in which somebody runs a line for a shell, and returns its units by variant.
func (s *scene) runHog(t *testing.T, kind confine.Kind, who, line string) map[string]hogUnit {
	t.Helper()
	bring := scripted.Action{Exec: &scripted.Exec{Command: "ln", Args: []string{"-s", s.exe, hostile.Name}}}
	step := "true"
	actions := []scripted.Action{bring}
	switch who {
	case "agent":
		actions = append(actions, scripted.Action{Exec: &scripted.Exec{Command: "sh", Args: []string{"-c", line}}})
	case "terminal":
		actions = append(actions,
			scripted.Action{Terminal: &scripted.Terminal{Command: "sh", Args: []string{"-c", line}}})
	case "step":
		step = line
	}
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(s.target.Project, name), []byte(text), 0o644))
	}
	for name, script := range map[string]string{"hog.json": step, "other.json": "true"} {
		all := slices.Concat(actions, []scripted.Action{
			{DiskWrite: &scripted.DiskWrite{Path: "step.sh", Text: script + "\n"}},
		})
		if name == "other.json" {
			all = all[len(all)-1:]
		}
		data, err := json.Marshal(scripted.Script{Turns: []scripted.Turn{{Actions: all}}})
		require.NoError(t, err)
		write(name, string(data))
	}
	write("p.yaml", strings.ReplaceAll(hogPlaybook, "PROGRAM", s.exe))
	var stdout, stderr bytes.Buffer
	env := map[string]string{"PATH": systemPath, "HOME": s.target.Home}
	app := cli.App{
		Args:   []string{"run", "--playbook", "p.yaml", "--sandbox", string(kind)},
		Stdout: &stdout, Stderr: &stderr, Getenv: func(name string) string { return env[name] },
		Environ: []string{"PATH=" + systemPath, "HOME=" + s.target.Home}, Dir: s.target.Project, Now: time.Now,
	}
	require.NotZero(t, app.Run(t.Context()), "%s", &stderr)
	paths, err := filepath.Glob(filepath.Join(s.own, "sdd-eval", "runs", "*", "results.jsonl"))
	require.NoError(t, err)
	require.Len(t, paths, 1, "%s", &stderr)
	data, err := os.ReadFile(paths[0])
	require.NoError(t, err)
	units := make(map[string]hogUnit)
	for text := range strings.Lines(string(data)) {
		var u hogUnit
		require.NoError(t, json.Unmarshal([]byte(text), &u))
		units[u.Variant] = u
	}
	return units
}
