package hostile_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/testkit/hostile"
)

// TestPolicy: what may be read cannot be written, and what is hidden there cannot be read: the policy of a judge, who
// reads a project.
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
		{name: "hidden-around-the-workspace", line: "cat $P/.evaltest/b/workspace/credentials", property: confine.FilesRead},
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
		for name, text := range map[string]string{"readme": "legit", "src/file": "legit", "hidden/credentials": s.secret} {
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
				if tt.property != "" && !slices.Contains(properties.Holds, tt.property) && properties.Kind != confine.None {
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
