package main

import (
	"archive/zip"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestInstall installs the command by `go install .../cmd/sdd-eval@latest`, from a proxy that has what git has of this
// module. So nothing that the module's zip leaves out is needed, and the command knows its version.
func TestInstall(t *testing.T) {
	t.Parallel()
	proxy := t.TempDir()
	version := writeModule(t, proxy)
	env, err := exec.Command("go", "env", "GOMODCACHE", "GOPROXY").Output()
	require.NoError(t, err)
	mods, others, _ := strings.Cut(strings.TrimSpace(string(env)), "\n")
	t.Cleanup(func() { // no other run meets this version, whose name has the digest of what is in it
		const own = "github.com/sdd-eval/sdd-eval"
		left, err := filepath.Glob(filepath.Join(mods, "cache", "download", own, "@v", version+".*"))
		require.NoError(t, err)
		for _, at := range append(left, filepath.Join(mods, own+"@"+version)) {
			require.NoError(t, os.RemoveAll(at))
		}
	})
	dir, installed := t.TempDir(), t.TempDir()
	run := func(name string, args ...string) string {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=-modcacherw", "GONOSUMDB=*", "GOBIN="+installed, "GOWORK=off",
			"GOTOOLCHAIN=local", "GOPROXY=file://"+filepath.ToSlash(proxy)+",file://"+filepath.ToSlash(mods)+
				"/cache/download,"+others)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		return string(out)
	}
	run("go", "install", "github.com/sdd-eval/sdd-eval/cmd/sdd-eval@latest")
	command := filepath.Join(installed, "sdd-eval")
	require.Contains(t, run(command, "version"), version)
	run(command, "init", "--name", "first")
	run(command, "validate", ".llman/sdd-eval/playbooks/first.yaml")
}

// writeModule writes this module into the directory of a proxy, as a release would be served, and returns its version.
func writeModule(t *testing.T, proxy string) string {
	t.Helper()
	git := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	git.Dir = root
	out, err := git.Output()
	require.NoError(t, err)
	names := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	var others []string // modules in the module, which are none of it
	for _, name := range names {
		if dir, ok := strings.CutSuffix(name, "/go.mod"); ok {
			others = append(others, dir+"/")
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		return slices.ContainsFunc(others, func(dir string) bool { return strings.HasPrefix(name, dir) })
	})
	digest := sha256.New()
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		fmt.Fprintf(digest, "%s %d\n%s", name, len(data), data)
	}
	version := fmt.Sprintf("v0.0.0-20000101000000-%x", digest.Sum(nil)[:6])
	at := filepath.Join(proxy, "github.com", "sdd-eval", "sdd-eval", "@v")
	require.NoError(t, os.MkdirAll(at, 0o755))
	info := fmt.Sprintf(`{"Version": %q, "Time": "2000-01-01T00:00:00Z"}`, version)
	gomod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	for name, text := range map[string]string{
		version + ".info": info, version + ".mod": string(gomod), "list": "", "../@latest": info,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(at, name), []byte(text), 0o644))
	}
	f, err := os.Create(filepath.Join(at, version+".zip"))
	require.NoError(t, err)
	defer f.Close()
	z := zip.NewWriter(f)
	for _, name := range names {
		w, err := z.Create("github.com/sdd-eval/sdd-eval@" + version + "/" + name)
		require.NoError(t, err)
		data, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		_, err = w.Write(data)
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	return version
}
