package hostile_test

import (
	"bytes"
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/testkit/hostile"
)

func itoa(n int) string { return strconv.Itoa(n) }

// kinds are the sandboxes to test, with the properties that each of them must have.
var kinds = []struct {
	kind  confine.Kind
	holds []confine.Property
}{
	{confine.None, nil},
	{confine.Landlock, []confine.Property{
		confine.FilesRead, confine.FilesWritten, confine.SetIDs, confine.Processes, confine.Sockets, confine.Network,
		confine.Namespaces, confine.Interfaces, confine.Disk,
	}},
	// Where no control group can be made, these are open.
	{confine.Bwrap, without(confine.AllProperties(), confine.Memory, confine.CPU)},
}

func without(all []confine.Property, some ...confine.Property) []confine.Property {
	return slices.DeleteFunc(all, func(p confine.Property) bool { return slices.Contains(some, p) })
}

// sandboxes has one sandbox of each kind, so that each is measured only once.
var sandboxes = func() map[confine.Kind]*confine.Sandbox {
	all := make(map[confine.Kind]*confine.Sandbox)
	for _, k := range kinds {
		sb, err := confine.New(k.kind, nil)
		if err != nil {
			panic(err)
		}
		all[k.kind] = sb
	}
	return all
}()

// beyond has the escapes that a sandbox without namespaces never stops, and why.
var beyond = map[string]string{
	"read-cmdline": "arguments are no secret to the kernel: all may read them in /proc, or none may read their own",
}

// forEachKind runs a test for each kind of sandbox that must be available on this machine.
func forEachKind(t *testing.T, test func(t *testing.T, sb *confine.Sandbox, properties confine.Properties)) {
	for _, k := range kinds {
		t.Run(string(k.kind), func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath("bwrap"); k.kind == confine.Bwrap && err != nil && os.Getenv("CI") == "" {
				t.Skip("install bubblewrap to test it:", err)
			}
			sb := sandboxes[k.kind]
			properties, err := sb.Properties(context.WithoutCancel(t.Context()))
			require.NoError(t, err)
			require.Equal(t, k.kind, properties.Kind)
			for _, p := range k.holds {
				assert.Contains(t, properties.Holds, p, "what the sandbox says it holds")
			}
			test(t, sb, properties)
		})
	}
}

// TestEscapes tries every escape in every sandbox: it must fail if the sandbox has the property, and work without a
// sandbox.
func TestEscapes(t *testing.T) {
	t.Parallel()
	forEachKind(t, func(t *testing.T, sb *confine.Sandbox, properties confine.Properties) {
		s := newScene(t)
		s.bait(t)
		escapes := slices.DeleteFunc(hostile.Escapes(), func(e hostile.Escape) bool { return e.Alone })
		before := s.survey(t, escapes)
		t.Cleanup(func() { s.removeMarks(escapes, before) })
		reports := s.try(t, sb, s.policy(), escapes)
		after := s.survey(t, escapes)
		for _, e := range escapes {
			t.Run(e.Name, func(t *testing.T) {
				s.judge(t, properties, e, reports[e.Name], s.escaped(e, reports[e.Name], before, after))
			})
		}
		s.checkSurvey(t, properties, before, after)
	})
}

// judge compares the report of an escape with the properties of the sandbox.
func (s *scene) judge(t *testing.T, properties confine.Properties, e hostile.Escape, r hostile.Report, escaped bool) {
	t.Helper()
	switch {
	case slices.Contains(properties.Holds, e.Property):
		if why := beyond[e.Name]; why != "" && properties.Kind == confine.Landlock {
			t.Logf("it worked: %t; %s", escaped, why)
			return
		}
		assert.False(t, escaped, "%s holds %q and it worked: %+v", properties.Kind, e.Property, r)
	case properties.Kind == confine.None && e.Uncertain == "":
		assert.True(t, escaped, "nothing confines it and it did not work: %+v", r)
	default:
		assert.Contains(t, properties.Open, e.Property)
		t.Logf("%s leaves open: %s; it worked: %t %s", properties.Kind, e.Property, escaped, r.Error)
	}
}

// escaped reports whether an escape worked, by its proof.
func (s *scene) escaped(e hostile.Escape, r hostile.Report, before, after map[string]state) bool {
	switch e.Proof {
	case hostile.Secret:
		return strings.Contains(r.Read, s.secret)
	case hostile.Changed:
		return before[e.Mark(s.target)] != after[e.Mark(s.target)]
	case hostile.Stopped:
		pid := s.target.Killer
		if e.Name == "sigstop" {
			pid = s.target.Stopper
		}
		return !alive(pid)
	default:
		return r.Done
	}
}

// checkSurvey fails the test if something outside has changed that the sandbox should protect, whichever escape did it.
func (s *scene) checkSurvey(t *testing.T, properties confine.Properties, before, after map[string]state) {
	t.Helper()
	if slices.Contains(properties.Holds, confine.FilesWritten) {
		assert.ElementsMatch(t, slices.Collect(maps.Keys(before)), slices.Collect(maps.Keys(after)), "files outside")
	}
	for path, was := range before {
		is := after[path]
		if slices.Contains(properties.Holds, confine.FilesWritten) {
			assert.Equal(t, was.content, is.content, "content of %s", path)
			assert.Equal(t, was.mode.Type(), is.mode.Type(), "type of %s", path)
		}
		if slices.Contains(properties.Holds, confine.FileModes) {
			assert.Equal(t, was.mode, is.mode, "mode of %s", path)
			assert.Equal(t, was.times, is.times, "times of %s", path)
		}
	}
	if slices.Contains(properties.Holds, confine.Processes) {
		for _, pid := range []int{s.target.Victim, s.target.Stopper, s.target.Killer} {
			assert.True(t, alive(pid), "process %d", pid)
		}
	}
}

// removeMarks removes the files that escapes made in the system.
func (s *scene) removeMarks(escapes []hostile.Escape, before map[string]state) {
	for _, e := range escapes {
		if e.Mark != nil && before[e.Mark(s.target)] == (state{}) {
			_ = os.RemoveAll(e.Mark(s.target))
		}
	}
}

// TestPolicy tests the policy of a judge that reads a project: files that it may read cannot be written, and hidden
// files cannot be read.
func TestPolicy(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, line string
		want       string // empty: it fails
		property   confine.Property
	}{
		{name: "read", line: "cat $P/readme", want: "legit"},
		{name: "read-below", line: "cat $P/src/file", want: "legit"},
		{name: "list", line: "ls $P >/dev/null && echo legit", want: "legit\n"},
		{name: "own", line: "echo legit > own && cat own", want: "legit\n"},
		{name: "hidden-file", line: "cat $P/credentials", property: confine.FilesRead},
		{name: "hidden-directory", line: "cat $P/hidden/credentials", property: confine.FilesRead},
		{name: "hidden-by-link", line: "cat $P/link", property: confine.FilesRead},
		{name: "hidden-by-another-name", line: "cat $P/src/../hidden/credentials", property: confine.FilesRead},
		{
			name: "hidden-around-the-workspace", line: "cat $P/.evaltest/b/workspace/credentials",
			property: confine.FilesRead,
		},
		{name: "moved-away", line: "mv $P/hidden $P/shown; cat $P/shown/credentials", property: confine.FilesWritten},
		{name: "write", line: "echo legit > $P/readme && cat $P/readme", property: confine.FilesWritten},
		{name: "create", line: "echo legit > $P/new && cat $P/new", property: confine.FilesWritten},
		{name: "remove", line: "rm -f $P/src/file && echo legit", property: confine.FilesWritten},
	}
	forEachKind(t, func(t *testing.T, sb *confine.Sandbox, properties confine.Properties) {
		s := newScene(t)
		project := s.target.Project
		for _, dir := range []string{"src", "hidden"} {
			require.NoError(t, os.Mkdir(filepath.Join(project, dir), 0o755))
		}
		for name, text := range map[string]string{
			"readme": "legit", "src/file": "legit", "hidden/credentials": s.secret,
		} {
			require.NoError(t, os.WriteFile(filepath.Join(project, name), []byte(text), 0o644))
		}
		require.NoError(t, os.Symlink("hidden/credentials", filepath.Join(project, "link")))
		p := s.policy()
		p.Read = append(p.Read, project)
		for _, name := range []string{hostile.SecretFile, "hidden", ".evaltest/b"} {
			p.Hide = append(p.Hide, filepath.Join(project, name))
		}
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				if tt.property != "" && !slices.Contains(properties.Holds, tt.property) &&
					properties.Kind != confine.None {
					t.Skipf("%s leaves open: %s", properties.Kind, tt.property)
				}
				c := s.command([]string{"sh", "-c", tt.line})
				c.Path, c.Env = "sh", append(c.Env, "P="+project)
				var out bytes.Buffer
				c.Stdout = &out
				exit, err := start(t, sb, c, p).Wait()
				require.NoError(t, err)
				switch {
				case properties.Kind == confine.None:
					assert.Zero(t, exit.Code, "nothing confines it and it did not work")
				case tt.want != "":
					assert.Equal(t, tt.want, out.String())
				default:
					assert.NotZero(t, exit.Code)
					assert.Empty(t, out.String())
				}
			})
		}
	})
}
