package hostile_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/environ"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
	"github.com/sdd-eval/sdd-eval/internal/testkit/hostile"
)

// TestWork: an honest agent can work in every sandbox.
func TestWork(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		argv []string
		want string
	}{
		{"files", []string{
			"sh", "-c",
			`for d in . "$HOME" "$TMPDIR"; do echo legit >$d/f && chmod 700 $d/f && mv $d/f $d/g; done; cat g`,
		}, "legit\n"},
		{"temporary", []string{"sh", "-c", `echo legit >"$(mktemp)" && cat "$TMPDIR"/tmp.*`}, "legit\n"},
		{"null", []string{"sh", "-c", `echo x >/dev/null; head -c 2 /dev/zero | wc -c`}, "2\n"},
		{"processes", []string{"sh", "-c", `sleep 60 & kill $!; wait $!; echo $?`}, "143\n"},
		{"git", []string{
			"sh", "-c", `git init -q r && cd r && echo x >f && git add f &&
				git -c user.name=a -c user.email=a@example.com commit -qm legit && git log --format=%s`,
		}, "legit\n"},
		{"node", []string{
			"node", "-e",
			`fs = require("fs"); fs.writeFileSync("n", "legit"); console.log(fs.readFileSync("n", "utf8"))`,
		}, "legit\n"},
		{"node-pair", []string{ // its processes talk over pairs of unix sockets
			"node", "-e",
			`require("fs").writeFileSync("p.js", "process.on('message', m => process.send(m, () => process.exit()))");
			p = require("child_process").fork("./p.js"); p.on("message", m => console.log(m)); p.send("legit");`,
		}, "legit\n"},
		{"python-pair", []string{
			"python3", "-c", `import socket; a, b = socket.socketpair(); a.send(b"legit"); print(b.recv(9).decode())`,
		}, "legit\n"},
		{"python", []string{
			"python3", "-c", `import subprocess; print(subprocess.check_output(["echo", "legit"], text=True), end="")`,
		}, "legit\n"},
	}
	forEachKind(t, func(t *testing.T, sb *confine.Sandbox, _ confine.Properties) {
		s := newScene(t)
		s.sockets(t)
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				if _, err := environ.LookPath(tt.argv[0], systemPath); err != nil && os.Getenv("CI") == "" {
					t.Skip(err)
				}
				c := s.command(tt.argv)
				c.Path = tt.argv[0]
				assert.Equal(t, tt.want, run(t, sb, c, s.policy()))
			})
		}
		t.Run("terminal", func(t *testing.T) {
			assert.Equal(t, "ready\r\n", run(t, sb, s.command(hostile.Trick("terminal", "-")), s.policy()))
		})
		t.Run("network", func(t *testing.T) {
			p := s.policy()
			p.Network = true
			for _, e := range hostile.Escapes() {
				if e.Name == "tcp" || e.Name == "udp" {
					r := s.try(t, sb, p, []hostile.Escape{e})[e.Name]
					assert.Equal(t, s.secret, r.Read, "%s, which the policy allows: %+v", e.Name, r)
				}
			}
		})
	})
}

// run runs a command in a sandbox and returns what it printed. It must not fail.
func run(t *testing.T, sb *confine.Sandbox, c supervise.Command, p confine.Policy) string {
	t.Helper()
	var out bytes.Buffer
	words := &excerpt.Tail{Limit: 4 << 10}
	c.Stdout, c.Stderr = &out, words
	exit, err := start(t, sb, c, p).Wait()
	require.NoError(t, err)
	text, _ := words.Text(true)
	require.Equal(t, supervise.Exit{}, exit, "%s%s", out.String(), text)
	return out.String()
}

// TestGo: a Go module is built and tested with the user's caches. The sandbox can read nothing else of them, and cannot
// poison them; a malicious module steals nothing.
func TestGo(t *testing.T) {
	t.Parallel()
	g := newGoCaches(t)
	forEachKind(t, func(t *testing.T, sb *confine.Sandbox, properties confine.Properties) {
		s := newScene(t)
		require.NoError(t, os.CopyFS(s.target.Workspace, os.DirFS(g.module)))
		age(t, s.target.Workspace)
		p := s.policy()
		p.Read = append(p.Read, g.root, g.build, g.modules)
		p.Network = properties.Kind == confine.Landlock // it has no loopback of its own
		goCommand := func(args ...string) string {
			c := s.command(append([]string{"go"}, args...))
			c.Path = filepath.Join(g.root, "bin", "go")
			c.Env = append(c.Env, g.env()...)
			return run(t, sb, c, p)
		}
		goCommand("build", "-o", "built", "./steal")
		assert.Contains(t, goCommand("test", "-vet=off", "-v", "."), "--- PASS: TestLoopback")
		outside := []string{
			filepath.Join(s.target.Project, hostile.SecretFile), filepath.Join(s.target.Home, hostile.SecretFile),
			g.build, filepath.Join(g.modules, "example.com"),
		}
		got := goCommand(append([]string{"run", "./steal"}, outside...)...)
		if properties.Kind == confine.None {
			want := s.secret + "\n" + s.secret + "\npoison in " + outside[2] + "\npoison in " + outside[3] + "\n"
			assert.Equal(t, want, got)
			assert.NoError(t, os.Remove(filepath.Join(outside[2], "poison")))
			assert.NoError(t, os.Remove(filepath.Join(outside[3], "poison")))
			return
		}
		assert.Empty(t, got)
	})
}

// age makes the files of a directory an hour old, because the go command does not cache files that have just changed.
func age(t *testing.T, dir string) {
	t.Helper()
	then := time.Now().Add(-time.Hour)
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(path, then, then))
	}))
}

// goCaches is a user's Go installation with warm caches, and a module that can be built with them.
type goCaches struct {
	root, build, modules string
	module               string
}

// buildCacheVariable names a directory with a build cache that has the module's dependencies.
const buildCacheVariable = "HOSTILE_TEST_GOCACHE"

func newGoCaches(t *testing.T) goCaches {
	t.Helper()
	base := t.TempDir()
	g := goCaches{
		modules: filepath.Join(base, "modules"), module: filepath.Join(base, "module"),
		build: os.Getenv(buildCacheVariable),
	}
	g.root = strings.TrimSpace(goOutput(t, "", nil, "env", "GOROOT"))
	if g.build == "" {
		g.build = strings.TrimSpace(goOutput(t, "", nil, "env", "GOCACHE"))
	}
	g.unpack(t, base)
	// Without a warm cache, the sandbox would build the standard library each time.
	goOutput(t, g.module, g.env(), "test", "-vet=off", "-c", "-o", filepath.Join(base, "warm"), ".")
	goOutput(t, g.module, g.env(), "build", "-o", filepath.Join(base, "warm"), "./steal")
	return g
}

// unpack makes the module and its dependency. A proxy in the file system serves the dependency.
func (g goCaches) unpack(t *testing.T, base string) {
	t.Helper()
	require.NoError(t, os.CopyFS(g.module, os.DirFS("testdata/work")))
	proxy := filepath.Join(base, "proxy", "example.com", "dep", "@v")
	require.NoError(t, os.MkdirAll(proxy, 0o755))
	makeZip(t, filepath.Join(proxy, "v1.0.0.zip"), "testdata/dep", "example.com/dep@v1.0.0/")
	require.NoError(t, os.WriteFile(filepath.Join(proxy, "v1.0.0.info"), []byte(`{"Version": "v1.0.0"}`), 0o644))
	gomod, err := os.ReadFile("testdata/dep/go.mod")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(proxy, "v1.0.0.mod"), gomod, 0o644))
	goOutput(t, g.module, append(g.env(), "GOPROXY=file://"+filepath.Join(base, "proxy")), "mod", "tidy")
}

// env returns the variables of the go command beside those of every command. Without GODEBUG it would write its index
// of the module's packages to the cache, and fail.
func (g goCaches) env() []string {
	return []string{
		"GODEBUG=goindex=0",
		"GOCACHE=" + g.build, "GOMODCACHE=" + g.modules, "GOFLAGS=-modcacherw", "GOPROXY=off", "GONOSUMDB=*",
		"GOTOOLCHAIN=local",
		"GOWORK=off", "CGO_ENABLED=0",
	}
}

// goOutput runs go outside of any sandbox.
func goOutput(t *testing.T, dir string, env []string, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "go %s: %s", args, &stderr)
	return string(out)
}

// makeZip packs a directory's files, with a prefix to their names.
func makeZip(t *testing.T, path, dir, prefix string) {
	t.Helper()
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	z := zip.NewWriter(f)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		w, err := z.Create(prefix + e.Name())
		require.NoError(t, err)
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		_, err = io.Copy(w, bytes.NewReader(data))
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
}

// TestWaysOut: what a playbook asks for, by `unix_sockets` and `allow_userns`, a child can do where that is all that is
// in its way. Landlock lets nobody have a namespace of use, and the kernel does not let a root that
// has no capabilities map its own id in one.
func TestWaysOut(t *testing.T) {
	t.Parallel()
	forEachKind(t, func(t *testing.T, _ *confine.Sandbox, properties confine.Properties) {
		way, ok := map[confine.Kind]struct {
			leaves confine.Property
			escape string
		}{
			confine.Landlock: {confine.Sockets, "unix-stream"},
			confine.Bwrap:    {confine.Namespaces, "unshare-by-program"},
		}[properties.Kind]
		if !ok {
			return
		}
		if os.Getuid() == 0 && way.leaves == confine.Namespaces {
			way.escape = "clone-user-namespace"
		}
		sb, err := confine.New(properties.Kind, nil, way.leaves)
		require.NoError(t, err)
		left, err := sb.Properties(t.Context())
		require.NoError(t, err)
		assert.Contains(t, left.Open, way.leaves)
		s := newScene(t)
		s.sockets(t)
		var asked []hostile.Escape
		for _, e := range hostile.Escapes() {
			if e.Name == way.escape {
				asked = append(asked, e)
			}
		}
		if !s.try(t, sandboxes[confine.None], s.policy(), asked)[way.escape].Done {
			t.Skip("this machine does not let users do it")
		}
		r := s.try(t, sb, s.policy(), asked)[way.escape]
		assert.True(t, r.Done, "%+v", r)
	})
}
