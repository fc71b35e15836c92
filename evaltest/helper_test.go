//go:build linux

package evaltest_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/helper"
)

// initNoted is a user's package that notes each time it is initialised, and then does something. Its init functions run
// before those of this module's packages, on which it does not depend.
const initNoted = `package config

import (
	"fmt"
	"os"
	"time"
)

var _, _, _ = fmt.Print, os.Getenv, time.Sleep

func init() {
	if f, err := os.OpenFile(%q, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644); err == nil {
		fmt.Fprintln(f, os.Args)
		f.Close()
	}
	%s
}
`

// TestInits runs an agent in tests of packages whose init functions would be in the way of children that ran them, too.
// In every kind of sandbox it runs in the test's own process, and nowhere else.
func TestInits(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, init string }{
		{"prints", `fmt.Println("loading the shop")`},
		{"panics", `if os.Getenv("SHOP_TOKEN") == "" { panic("SHOP_TOKEN is not set") }`},
		{"takes-its-time", `time.Sleep(500 * time.Millisecond)`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := newModule(t)
			log := filepath.Join(t.TempDir(), "log")
			m.write("config/config.go", fmt.Sprintf(initNoted, log, tt.init))
			m.write("evals/config_test.go",
				fmt.Sprintf("package evals // with %s\n\nimport _ \"example.com/shop/config\"\n", log))
			suite := m.compile("./evals")
			for _, sandbox := range []string{"bwrap", "none"} {
				out, code := suite.test([]string{"EVALTEST_MODE=live", "EVALTEST_SANDBOX=" + sandbox, "SHOP_TOKEN=1"})
				require.Zero(t, code, "%s: %s", sandbox, out)
				noted, err := os.ReadFile(log)
				require.NoError(t, err)
				require.Equal(t, 1, strings.Count(string(noted), "\n"), "%s: %s", sandbox, noted)
				require.NoError(t, os.Remove(log))
			}
		})
	}
}

// helpersIn returns the helpers in a cache.
func helpersIn(t *testing.T, dir string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	var helpers []string
	for _, path := range all {
		if filepath.Base(path) != "lock" {
			helpers = append(helpers, path)
		}
	}
	return helpers
}

// TestHelperIsBuilt in the user's module, by two tests at once, for a cache that is empty: with a replace directive,
// and from a vendor directory without a network or a module cache.
func TestHelperIsBuilt(t *testing.T) {
	t.Parallel()
	m := newModule(t)
	suite := m.compile("./evals")
	out, code := m.run(nil, "go", "mod", "vendor")
	require.Zero(t, code, out)
	vendor := module{t, t.TempDir()}
	require.NoError(t, os.CopyFS(vendor.dir, os.DirFS(m.dir)))
	require.NoError(t, os.RemoveAll(m.path("vendor")))
	m.write("go.env", "GOFLAGS=-race\n") // as `go env -w` keeps it; it needs cgo
	tests := []struct {
		name string
		dir  module
		env  []string
	}{
		{"replace", m, nil},
		{"go env -w", vendor, []string{"GOFLAGS=", "GOENV=" + m.path("go.env")}},
		{
			"vendor", vendor,
			[]string{"GOFLAGS=-mod=vendor -race", "GOPROXY=off", "GOMODCACHE=" + filepath.Join(m.dir, "no-modules")},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			home, cache := t.TempDir(), goCache()
			suite := suiteBinary{module{t, tt.dir.dir}, suite.bin, suite.pkg}
			var both sync.WaitGroup
			for _, sandbox := range []string{"bwrap", "none"} {
				both.Go(func() {
					out, code := suite.test(append([]string{
						"EVALTEST_MODE=live", "EVALTEST_SANDBOX=" + sandbox, "XDG_CACHE_HOME=" + home,
						"GOCACHE=" + cache,
					}, tt.env...))
					if code != 0 {
						t.Errorf("%s: exit code %d: %s", sandbox, code, out)
					}
				})
			}
			both.Wait()
			require.Len(t, helpersIn(t, filepath.Join(home, "sdd-eval", "helper")), 1)
		})
	}
}

// TestHelperElsewhere runs a compiled test where there is no go command: with a helper beside it, or with a word on how
// to get one.
func TestHelperElsewhere(t *testing.T) {
	t.Parallel()
	suite := newModule(t).compile("./evals")
	const next = "next: build the helper in the module, `CGO_ENABLED=0 go build -o /path/to/sdd-eval-helper " +
		"github.com/sdd-eval/sdd-eval/cmd/sdd-eval-helper`, and set EVALTEST_HELPER to its path"
	env := []string{
		"EVALTEST_MODE=live", "EVALTEST_SANDBOX=none", "PATH=/nowhere", "XDG_CACHE_HOME=" + t.TempDir(),
		"TMPDIR=" + t.TempDir(),
	}
	out, code := suite.test(env)
	require.NotZero(t, code, out)
	require.Contains(t, out, "there is no helper of sdd-eval beside "+suite.bin+", and building it failed: "+
		`"go": executable file not found in $PATH (PATH=/nowhere)`)
	require.Contains(t, out, next)

	dir := t.TempDir()
	h, err := helper.Find()
	require.NoError(t, err)
	for from, to := range map[string]string{suite.bin: "evals.test", h.Path: "sdd-eval-helper"} {
		data, err := os.ReadFile(from)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, to), data, 0o755))
	}
	suite.bin = filepath.Join(dir, "evals.test")
	out, code = suite.test(env)
	require.Zero(t, code, out)
}

// TestHelperWithoutCache builds the helper for the directory of temporary files, in a directory of its own.
func TestHelperWithoutCache(t *testing.T) {
	t.Parallel()
	suite := newModule(t).compile("./evals")
	temp := t.TempDir()
	out, code := suite.test([]string{
		"EVALTEST_MODE=live", "EVALTEST_SANDBOX=bwrap", "XDG_CACHE_HOME=/proc", "GOCACHE=" + goCache(),
		"TMPDIR=" + temp,
	})
	require.Zero(t, code, out)
	dir := filepath.Join(temp, fmt.Sprintf("sdd-eval-helper-%d", os.Getuid()))
	require.Len(t, helpersIn(t, dir), 1)
	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, os.ModeDir|0o700, info.Mode())
}

// TestHelperBroken: what is wrong with a helper is said as that, with what to do. It is no reason to install an agent,
// or to do without a sandbox.
func TestHelperBroken(t *testing.T) {
	t.Parallel()
	suite := newModule(t).compile("./evals")
	dir := t.TempDir()
	write := func(name, text string, perm os.FileMode) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), perm))
		return path
	}
	const build = "CGO_ENABLED=0 go build -o $HELPER github.com/sdd-eval/sdd-eval/cmd/sdd-eval-helper"
	const next = "next: unset EVALTEST_HELPER, or build the helper anew: " + build
	tests := []struct{ name, path, want string }{
		{"missing", filepath.Join(dir, "missing"), "EVALTEST_HELPER: fork/exec $HELPER: no such file or directory"},
		{
			"not-executable", write("plain", "#!/bin/sh\n", 0o644),
			"EVALTEST_HELPER: fork/exec $HELPER: permission denied",
		},
		{
			"another-version", otherHelper(t, dir),
			"EVALTEST_HELPER: $HELPER: exit status 3: " +
				"sdd-eval-helper: the helper has version 0123456789abcdef; want version " +
				helper.Key(),
		},
		{
			"dies", write("dies", "#!/bin/sh\n[ \"$2\" = check ] && echo $1 && exit\necho no memory >&2; exit 4\n",
				0o755),
			"the supervisor $HELPER ended before it started a child: exit status 4: no memory",
		},
	}
	record := suite.in(t)
	out, code := record.test([]string{"EVALTEST_MODE=record"})
	require.Zero(t, code, out)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, sandbox := range []string{"auto", "none"} {
				out, code := suite.test([]string{
					"EVALTEST_MODE=live", "EVALTEST_SANDBOX=" + sandbox,
					"EVALTEST_HELPER=" + tt.path,
				})
				require.NotZero(t, code, out)
				out = strings.ReplaceAll(out, tt.path, "$HELPER")
				require.Contains(t, out, tt.want)
				require.Contains(t, out, next)
				require.NotContains(t, out, "install")
				require.NotContains(t, out, "EVALTEST_SANDBOX")
			}
			out, code := record.test([]string{"EVALTEST_HELPER=" + tt.path})
			require.Zero(t, code, "a replay needs none: %s", out)
		})
	}
}

// otherHelper builds the helper of another version.
func otherHelper(t *testing.T, dir string) string {
	t.Helper()
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	other, path := filepath.Join(dir, "sources.txt"), filepath.Join(dir, "other")
	overlay, err := json.Marshal(map[string]any{
		"Replace": map[string]string{filepath.Join(root, "internal", "helper", "generated", "sources.txt"): other},
	})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(other, []byte("0123456789abcdef\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o644))
	build := exec.Command("go", "build", "-overlay="+filepath.Join(dir, "overlay.json"), "-o", path,
		"../cmd/sdd-eval-helper")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}
