package starter

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/fault"
)

// goCalls has a program in place of the go command, which answers as the lines of a shell's case say, and returns what
// it was called with.
func goCalls(t *testing.T, answers string, s *Starter) func() []string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the program is a script of sh")
	}
	bin, calls := t.TempDir(), filepath.Join(t.TempDir(), "calls")
	script := "#!/bin/sh\necho \"$*\" >>'" + calls + "'\ncase \"$*\" in\n" + answers + "esac\n"
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
		asked    = "list -deps " + imported
		replaced = "mod edit -json"
		version  = "list -m -f {{.Version}} " + own
		load     = "list -mod=mod -buildvcs=false -deps "
		tools    = "list -modfile=tools.mod -deps tool"
		complete = "list -mod=mod -modfile=tools.mod -deps tool"
		// What the edit of tools.mod adds.
		addOwn = " -tool=" + command + " -require=" + own + "@v1.1.0"
		addSum = " -tool=" + gotestsum + " -require=" + gotestsum + "@" + gotestsumVersion
	)
	has := func(line, output string) string { return "'" + line + "') echo '" + output + "';;\n" }
	lacks := func(line string) string { return "'" + line + "') exit 1;;\n" }
	required := has(version, "v1.1.0")
	none := has(replaced, `{"Replace": null}`)
	tests := []struct {
		name, reason string
		s            Starter
		answers      string // lines of a shell's case: what go answers
		want         []string
		err          string
	}{
		{name: "there", reason: "what go.mod has is not asked for", want: []string{replaced, asked}, answers: none},
		{
			name: "missing", reason: "a checkout does not know its version",
			answers: lacks(asked) + none + lacks(version),
			want:    []string{replaced, asked, version, "get " + imported},
		},
		{
			name: "released", reason: "the test is of the command's version", s: Starter{Version: "v1.2.3"},
			answers: lacks(asked) + none + lacks(version),
			want:    []string{replaced, asked, version, "get " + imported + "@v1.2.3"},
		},
		{
			name: "replaced", reason: "a local copy is of no version", s: Starter{Version: "v1.2.3"},
			answers: lacks(asked) + has(replaced, `{"Replace": [{"Old": {"Path": "`+own+`"}}]}`),
			want:    []string{replaced, asked, load + imported, load + "-test ./evals"},
		},
		{
			name: "tools", reason: "the command is of the tests' version", s: Starter{CI: GitHub, Version: "v1.2.3"},
			answers: none + required,
			want:    []string{replaced, asked, tools, version, "mod edit" + addOwn + addSum + " tools.mod", complete},
		},
		{
			name: "one tool", reason: "what tools.mod has keeps its version", s: Starter{CI: GitHub},
			answers: none + has(tools, "example.org/dep "+command),
			want:    []string{replaced, asked, tools, "mod edit" + addSum + " tools.mod", complete},
		},
		{
			name: "tools there", reason: "what tools.mod has is not asked for", s: Starter{CI: GitLab},
			answers: none + has(tools, command+" "+gotestsum),
			want:    []string{replaced, asked, tools},
		},
		{
			name: "offline", reason: "what go says is told", answers: none + "*) echo no such host >&2; exit 1;;\n",
			want: []string{replaced, asked, version, "get " + imported},
			err:  "go get " + imported + ": no such host",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var wrote []string
			tt.s.Root, tt.s.Wrote = t.TempDir(), func(name string) { wrote = append(wrote, name) }
			calls := goCalls(t, tt.answers, &tt.s)
			err := tt.s.Write(t.Context())
			require.Equal(t, tt.want, calls(), tt.reason)
			if tt.err == "" {
				require.NoError(t, err)
				slices.Sort(wrote)
				require.Equal(t, slices.Compact(slices.Clone(wrote)), wrote, "each once")
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
	require.Contains(t, string(gomod), gotestsum+" "+gotestsumVersion+" ")
	for system, name := range map[string]string{GitHub: ".github/workflows/evals.yml", GitLab: ".gitlab-ci.yml"} {
		s := Starter{Root: t.TempDir(), CI: system, Wrote: func(string) {}}
		goCalls(t, "'mod edit -json') echo {};;\n'list -m '*) echo v1.1.0;;\n", &s)
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
