package hostile_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/acp/scripted"
	"github.com/sdd-eval/sdd-eval/internal/cli"
	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/testkit/hostile"
)

// agents writes a playbook whose variants have an agent each, which runs a line of shell script.
func (s *scene) agents(t *testing.T, lines map[string]string, allowed ...string) {
	t.Helper()
	var variants, names []string
	for _, name := range []string{"a", "b"} {
		if lines[name] == "" {
			continue
		}
		script, err := json.Marshal(scripted.Script{Turns: []scripted.Turn{{Actions: []scripted.Action{
			{Exec: &scripted.Exec{Command: "sh", Args: []string{"-c", lines[name]}}},
		}}}})
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(s.target.Project, name+".json"), script, 0o644))
		variants = append(variants, name+": {agent: {kind: fake-acp, args: ["+name+".json]}}")
		names = append(names, name)
	}
	text := "name: left\ntask: {prompt: Leave it.}\nvariants: {" + strings.Join(variants, ", ") + "}\n"
	if len(allowed) > 0 {
		text += "sandbox: {allow_read: [" + strings.Join(allowed, ", ") + "]}\n"
	}
	text += "workflow: {jobs: {eval: {strategy: {matrix: {variant: [" + strings.Join(names, ", ") + "]}}, steps: [" +
		"{uses: builtin:sdd-eval/workspace.prepare}, {uses: builtin:sdd-eval/acp.prompt}]}}}\n"
	require.NoError(t, os.WriteFile(filepath.Join(s.target.Project, "p.yaml"), []byte(text), 0o644))
}

// play runs the playbook of the project and returns what was printed and the run's directory.
func (s *scene) play(t *testing.T, kind confine.Kind, key string, args ...string) (said, run string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	env := map[string]string{"PATH": systemPath, "HOME": s.target.Home, "PLANTED_API_KEY": key}
	app := cli.App{
		Args:   append([]string{"run", "--playbook", "p.yaml", "--sandbox", string(kind)}, args...),
		Stdout: &stdout, Stderr: &stderr, Getenv: func(name string) string { return env[name] },
		Environ: []string{"PATH=" + systemPath, "HOME=" + s.target.Home, "PLANTED_API_KEY=" + key},
		Dir:     s.target.Project, Now: time.Now,
	}
	code = app.Run(t.Context())
	lines := strings.Split(strings.TrimSpace(stdout.String()), "\n")
	return stderr.String(), lines[len(lines)-1], code
}

// TestLeft: what an agent leaves where a search does not easily find it, or where it takes days, is masked or not kept,
// and is no program with our rights.
func TestLeft(t *testing.T) {
	t.Parallel()
	forEachKind(t, func(t *testing.T, _ *confine.Sandbox, properties confine.Properties) {
		s := newScene(t)
		key := "key-" + rand.Text()
		trick := hostile.Trick("leave", key)
		s.agents(t, map[string]string{"a": "cp " + s.exe + " " + trick[0] + " && ./" + strings.Join(trick, " ") +
			"; rm " + trick[0]}, s.exe)
		said, run, code := s.play(t, properties.Kind, key)
		require.Equal(t, 3, code, said)
		assert.NotContains(t, said, key)
		assert.Contains(t, said, "unreadable: PLANTED_API_KEY at offset 0")
		assert.Contains(t, said, "closed/key: PLANTED_API_KEY at offset 0")
		assert.Contains(t, said, "sparse: PLANTED_API_KEY at offset 6442450944")
		assert.Contains(t, said, "nnn/key: PLANTED_API_KEY at offset 0")
		assert.Regexp(t, `could not be searched and was removed: d/d/.*: more than 500 directories`, said)

		info, err := os.Stat(run)
		require.NoError(t, err)
		assert.Equal(t, fs.ModeDir|0o700, info.Mode())
		workspace := filepath.Join(run, "variants", "a", "workspace")
		info, err = os.Stat(workspace)
		require.NoError(t, err)
		assert.Equal(t, fs.ModeDir|0o700, info.Mode())
		info, err = os.Stat(filepath.Join(workspace, "tool"))
		require.NoError(t, err)
		assert.Zero(t, info.Mode()&(fs.ModeSetuid|fs.ModeSetgid), info.Mode())
		root, err := os.OpenRoot(run)
		require.NoError(t, err)
		defer root.Close()
		assert.Positive(t, find(t, root, "[REDACTED:PLANTED_API_KEY]"), "the test finds nothing")
		assert.Zero(t, find(t, root, key))
	})
}

// find counts the files below a directory that have a text.
func find(t *testing.T, dir *os.Root, text string) (n int) {
	t.Helper()
	f, err := dir.Open(".")
	require.NoError(t, err)
	entries, err := f.ReadDir(-1)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	for _, e := range entries {
		switch {
		case e.IsDir():
			below, err := dir.OpenRoot(e.Name())
			require.NoError(t, err)
			n += find(t, below, text)
			require.NoError(t, below.Close())
		case e.Type().IsRegular():
			f, err := dir.Open(e.Name())
			require.NoError(t, err)
			start, end, err := disk.NextData(f, 0)
			for ; err == nil; start, end, err = disk.NextData(f, end) {
				data, err := io.ReadAll(io.NewSectionReader(f, start, end-start))
				require.NoError(t, err)
				if bytes.Contains(data, []byte(text)) {
					n++
				}
			}
			require.ErrorIs(t, err, io.EOF)
			require.NoError(t, f.Close())
		}
	}
	return n
}

// TestNeighbours: an agent that takes the rights to the files of another unit, and of the run, ends neither.
func TestNeighbours(t *testing.T) {
	t.Parallel()
	forEachKind(t, func(t *testing.T, _ *confine.Sandbox, properties confine.Properties) {
		if properties.Kind == confine.None {
			return // nothing confines it: it could as well remove them
		}
		s := newScene(t)
		told := filepath.Join(s.target.Project, "told")
		require.NoError(t, os.Mkdir(told, 0o755))
		paths := filepath.Join(told, "paths")
		s.agents(t, map[string]string{
			"a": "while ! test -e " + paths + "; do sleep 0.1; done; xargs chmod 0 <" + paths + "; true",
			"b": "echo done >made",
		}, told)
		go func() { // an agent can guess them, or read them in arguments of processes
			var found []string
			for len(found) == 0 && t.Context().Err() == nil {
				time.Sleep(10 * time.Millisecond)
				found, _ = filepath.Glob(filepath.Join(s.target.Project, ".llman/sdd-eval/runs/2*/variants/b/logs"))
			}
			var all []string
			for _, logs := range found {
				b := filepath.Dir(logs)
				run := filepath.Dir(filepath.Dir(b))
				all = append(all, filepath.Join(b, "workspace"), logs, filepath.Join(b, "artifacts"), b,
					filepath.Join(run, "manifest.json"), filepath.Join(run, "results.jsonl"))
			}
			_ = os.WriteFile(paths+".new", []byte(strings.Join(all, "\n")), 0o644)
			_ = os.Rename(paths+".new", paths)
		}()
		said, run, code := s.play(t, properties.Kind, "", "--parallel", "2")
		require.Zero(t, code, said)
		assert.Contains(t, said, "2 completed")
		made, err := os.ReadFile(filepath.Join(run, "variants", "b", "workspace", "made"))
		require.NoError(t, err)
		assert.Equal(t, "done\n", string(made))
		manifest, err := os.ReadFile(filepath.Join(run, "manifest.json"))
		require.NoError(t, err)
		alone := properties.Kind == confine.Landlock
		assert.Equal(t, alone, strings.Contains(string(manifest), engine.OneAtATime), "%s", manifest)
		assert.Equal(t, alone, strings.Contains(said, "units that start processes run one at a time, not 2"), said)
	})
}
