// Package npm tests the packages that a release brings to npm.
package npm

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/sdd-eval/sdd-eval/internal/engine"
)

// platforms returns what .goreleaser.yaml builds for, such as linux/amd64.
func platforms(t *testing.T) (all []string) {
	t.Helper()
	var releaser struct {
		Builds []struct {
			Main         string
			Goos, Goarch []string
		}
	}
	text, err := os.ReadFile("../.goreleaser.yaml")
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(text, &releaser))
	require.Len(t, releaser.Builds, 1)
	require.DirExists(t, filepath.Join("..", releaser.Builds[0].Main))
	for _, system := range releaser.Builds[0].Goos {
		for _, arch := range releaser.Builds[0].Goarch {
			all = append(all, system+"/"+arch)
		}
	}
	return all
}

// TestPlatforms holds .goreleaser.yaml to targets that Go has.
func TestPlatforms(t *testing.T) {
	known, err := exec.Command("go", "tool", "dist", "list").Output()
	require.NoError(t, err)
	require.Subset(t, strings.Fields(string(known)), platforms(t))
	require.Len(t, platforms(t), 6)
}

// TestRealNpm makes the packages of a release with the command for this platform alone, and installs them with npm,
// which chooses among them: the command runs, and ends as it does without npm.
func TestRealNpm(t *testing.T) {
	dir := t.TempDir()
	packages := pack(t, dir)
	overrides := map[string]string{}
	for name, at := range packages {
		overrides[name] = "file:" + at
	}
	own := packages["sdd-eval"]
	delete(overrides, "sdd-eval")
	project, err := json.Marshal(map[string]any{"private": true, "overrides": overrides})
	require.NoError(t, err)
	user := filepath.Join(dir, "user")
	require.NoError(t, os.Mkdir(user, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(user, "package.json"), project, 0o644))
	run(t, user, "npm", "install", "--offline", "--no-audit", "--no-fund", own)

	require.Contains(t, run(t, user, "npx", "--no", "sdd-eval", "version"), engine.Version)
	require.Regexp(t, `sdd-eval +`+engine.Version+", built", run(t, user, "npx", "--no", "sdd-eval", "doctor"))
	start := func(args ...string) *exec.Cmd {
		c := exec.Command("node", args...)
		c.Dir = user
		return c
	}
	shim := filepath.Join("node_modules", "sdd-eval", "sdd-eval.js")
	ends(t, start(shim, "no-such-command"), "exit status 2", "no-such-command")

	installed, err := filepath.Glob(filepath.Join(user, "node_modules", "@sdd-eval", "*", "sdd-eval"))
	require.NoError(t, err)
	require.Len(t, installed, 1, "npm installs the package of this platform alone")
	replace := func(script string) {
		require.NoError(t, os.Remove(installed[0]))
		require.NoError(t, os.WriteFile(installed[0], []byte("#!/bin/sh\n"+script), 0o755))
	}
	replace("kill -KILL $$")
	ends(t, start(shim), "signal: killed", "")
	replace("kill -PIPE $$") // node ignores it
	ends(t, start(shim), "exit status 3", "")
	replace(`sleep 60 & trap "kill $!; exit 7" TERM; echo ready; wait`)
	c := start(shim)
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	_, err = out.Read(make([]byte, 1))
	require.NoError(t, err)
	require.NoError(t, c.Process.Signal(syscall.SIGTERM))
	require.EqualError(t, c.Wait(), "exit status 7")

	replace("exit 0")
	require.NoError(t, os.Chmod(installed[0], 0o644))
	ends(t, start(shim), "exit status 3", "EACCES\nnext: npm install sdd-eval@")
	require.NoError(t, os.RemoveAll(filepath.Dir(installed[0])))
	ends(t, start(shim), "exit status 3", "is not installed\nnext: npm install --include=optional sdd-eval@")
	other := filepath.Join(dir, "other.js")
	require.NoError(t, os.WriteFile(other, []byte(`Object.defineProperty(process, "arch", {value: "mips"})`), 0o644))
	ends(t, start("--require", other, shim), "exit status 3", "\nnext: go install github.com/")
}

// pack makes the packages below dir, from what goreleaser would have built, and returns their files by their names.
func pack(t *testing.T, dir string) map[string]string {
	t.Helper()
	var artifacts []map[string]string
	for _, platform := range platforms(t) {
		system, arch, _ := strings.Cut(platform, "/")
		a := map[string]string{"type": "Binary", "name": "sdd-eval", "goos": system, "goarch": arch}
		if system == "windows" {
			a["name"] += ".exe"
		}
		a["path"] = filepath.Join(dir, system+arch)
		if platform == runtime.GOOS+"/"+runtime.GOARCH {
			run(t, "..", "go", "build", "-o", a["path"], "./cmd/sdd-eval")
		} else {
			require.NoError(t, os.WriteFile(a["path"], nil, 0o644))
		}
		artifacts = append(artifacts, a)
	}
	for name, value := range map[string]any{
		"artifacts.json": append(artifacts, map[string]string{"type": "Archive"}),
		"metadata.json":  map[string]string{"version": engine.Version},
	} {
		data, err := json.Marshal(value)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o644))
	}
	run(t, "..", "node", "npm/pack.mjs", dir, filepath.Join(dir, "out"))
	made, err := filepath.Glob(filepath.Join(dir, "out", "@sdd-eval", "*"))
	require.NoError(t, err)
	require.Len(t, made, len(artifacts))
	var packed []struct{ Name, Filename string }
	text := run(t, dir, "npm", append([]string{"pack", "--json", "./out/sdd-eval"}, made...)...)
	require.NoError(t, json.Unmarshal([]byte(text), &packed))
	files := make(map[string]string)
	for _, p := range packed {
		files[p.Name] = filepath.Join(dir, p.Filename)
	}
	return files
}

// run runs a command, which has to succeed, and returns what it printed.
func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	c := exec.Command(name, args...)
	c.Dir = dir
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	require.NoError(t, err, "%s %s\n%s", name, args, stderr.String())
	return string(out)
}

// ends expects how a command ends, and a part of what it prints to its standard error.
func ends(t *testing.T, c *exec.Cmd, how, says string) {
	t.Helper()
	_, err := c.Output()
	var exit *exec.ExitError
	require.True(t, errors.As(err, &exit), "%v", err)
	require.Equal(t, how, exit.Error(), string(exit.Stderr))
	require.Contains(t, string(exit.Stderr), says)
}
