package starter

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/fault"
)

// goCalls has a program in place of the go command, which fails where the case says, and returns what it was called
// with.
func goCalls(t *testing.T, fails string, s *Starter) func() []string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the program is a script of sh")
	}
	bin, calls := t.TempDir(), filepath.Join(t.TempDir(), "calls")
	script := "#!/bin/sh\necho \"$*\" >>'" + calls + "'\ncase \"$*\" in\n" + fails + "esac\n"
	require.NoError(t, os.WriteFile(filepath.Join(bin, "go"), []byte(script), 0o755))
	s.Environ = []string{"PATH=" + bin + ":/usr/bin:/bin"}
	return func() []string {
		data, err := os.ReadFile(calls)
		require.NoError(t, err)
		return strings.Split(strings.TrimSpace(string(data)), "\n")
	}
}

func TestRequire(t *testing.T) {
	const (
		asked   = "list -deps " + own + "/evaltest"
		version = "list -m -f {{if not .Replace}}{{.Version}}{{end}} " + own
		tools   = "list -modfile=tools.mod tool"
		get     = "get -modfile=tools.mod -tool "
	)
	tests := []struct {
		name, reason string
		s            Starter
		fails        string // lines of a shell's case
		want         []string
		err          string
	}{
		{name: "there", reason: "what go.mod has is not asked for", want: []string{asked}},
		{
			name: "missing", reason: "a checkout does not know its version", fails: "'" + asked + "') exit 1;;\n",
			want: []string{asked, version, "get " + own + "/evaltest"},
		},
		{
			name: "released", reason: "the test is of the command's version", s: Starter{Version: "v1.2.3"},
			fails: "'" + asked + "'|'" + version + "') exit 1;;\n",
			want:  []string{asked, version, "get " + own + "/evaltest@v1.2.3"},
		},
		{
			name: "tools", reason: "a job makes junit.xml", s: Starter{CI: GitHub},
			want: []string{asked, tools, version, get + own + "/cmd/sdd-eval", get + gotestsum},
		},
		{
			name: "older", reason: "the command is of the tests' version", s: Starter{CI: GitHub, Version: "v1.2.3"},
			fails: "'" + version + "') echo v1.1.0;;\n",
			want:  []string{asked, tools, version, get + own + "/cmd/sdd-eval@v1.1.0", get + gotestsum},
		},
		{
			name: "tools there", reason: "what go.mod has is not asked for", s: Starter{CI: GitLab},
			fails: "'" + tools + "') echo " + own + "/cmd/sdd-eval; echo gotest.tools/gotestsum;;\n",
			want:  []string{asked, tools},
		},
		{
			name: "offline", reason: "what go says is told", fails: "*) echo no such host >&2; exit 1;;\n",
			want: []string{asked, version, "get " + own + "/evaltest"},
			err:  "go get " + own + "/evaltest: no such host",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.s.Root, tt.s.Wrote = t.TempDir(), func(string) {}
			calls := goCalls(t, tt.fails, &tt.s)
			err := tt.s.Write(t.Context())
			require.Equal(t, tt.want, calls(), tt.reason)
			if tt.err == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, tt.err)
			require.Contains(t, fault.Advice(err), "then: sdd-eval init")
			entries, err := os.ReadDir(tt.s.Root)
			require.NoError(t, err)
			require.Empty(t, entries, "nothing was written")
		})
	}
}

// TestCI has the files of CI call the Makefile that is written beside them, and a gotestsum that is ours.
func TestCI(t *testing.T) {
	gomod, err := os.ReadFile("../../go.mod")
	require.NoError(t, err)
	require.Contains(t, string(gomod), strings.Replace(gotestsum, "@", " ", 1)+" ")
	for system, name := range map[string]string{GitHub: ".github/workflows/evals.yml", GitLab: ".gitlab-ci.yml"} {
		s := Starter{Root: t.TempDir(), CI: system, Wrote: func(string) {}}
		goCalls(t, "", &s)
		require.NoError(t, os.WriteFile(s.path("go.mod"), []byte("module example.org/shop\n"), 0o644))
		require.NoError(t, s.Write(t.Context()))
		tools, err := os.ReadFile(s.path("tools.mod"))
		require.NoError(t, err)
		require.Equal(t, "module example.org/shop\n", string(tools))
		text, err := os.ReadFile(s.path(name))
		require.NoError(t, err)
		require.Contains(t, string(text), "make -f evals/ci.mk ci\n")
		require.NotContains(t, string(text), "make ci")
		makefile, err := os.ReadFile(s.path("evals/ci.mk"))
		require.NoError(t, err)
		require.Contains(t, string(makefile), "\nci: ")
		ignored, err := os.ReadFile(s.path(".gitignore"))
		require.NoError(t, err)
		require.Contains(t, string(ignored), "/junit.xml\n")
	}
}
