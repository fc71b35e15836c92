package confine

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/supervise"
)

// TestInstalls: only files that are installed with a program can be read. The user's home is home, and the project's
// root is project.
func TestInstalls(t *testing.T) {
	tests := []struct {
		name    string
		files   []string
		program string // empty: none
		path    string // the one directory in PATH; empty: none
		read    []string
		not     []string
	}{
		{
			name: "node-in-home",
			files: []string{
				"home/.nvm/v22/bin/node", "home/.nvm/v22/lib/node_modules/npm/cli.js", "home/.nvm/versions.txt",
				"home/.npmrc.txt",
			},
			program: "home/.nvm/v22/bin/node",
			read:    []string{"home/.nvm/v22/bin/node", "home/.nvm/v22/lib/node_modules/npm/cli.js"},
			not:     []string{"home/.npmrc.txt", "home/.nvm/versions.txt"},
		},
		{
			name: "agent-of-npm",
			files: []string{
				"home/npm/bin/agent -> ../lib/node_modules/@x/agent/dist/agent",
				"home/npm/lib/node_modules/@x/agent/dist/agent",
				"home/npm/lib/node_modules/@x/agent/node_modules/dep/index.js", "home/npm/cache.txt",
			},
			program: "home/npm/bin/agent",
			read:    []string{"home/npm/bin/agent", "home/npm/lib/node_modules/@x/agent/node_modules/dep/index.js"},
			not:     []string{"home/npm/cache.txt"},
		},
		{
			name: "agent-of-a-project",
			files: []string{
				"project/node_modules/.bin/agent -> ../agent/agent", "project/node_modules/agent/agent",
				"project/node_modules/dep/index.js", "project/main.go",
			},
			program: "project/node_modules/.bin/agent",
			read:    []string{"project/node_modules/agent/agent", "project/node_modules/dep/index.js"},
			not:     []string{"project/main.go"},
		},
		{
			name: "distribution-of-go",
			files: []string{
				"home/sdk/go/bin/go", "home/sdk/go/go.env", "home/sdk/go/src/fmt/print.go", "home/sdk/notes.txt",
			},
			program: "home/sdk/go/bin/go",
			read:    []string{"home/sdk/go/src/fmt/print.go"},
			not:     []string{"home/sdk/notes.txt"},
		},
		{
			name: "linked-into-a-virtual-environment",
			files: []string{
				"home/.local/bin/tool -> ../pipx/venvs/tool/bin/tool", "home/.local/pipx/venvs/tool/bin/tool",
				"home/.local/pipx/venvs/tool/pyvenv.cfg", "home/.local/pipx/venvs/tool/share.txt",
				"home/.local/pipx/venvs/other/share.txt", "home/.local/share/keyring.txt", "home/.local/lib/a.py",
			},
			path: "home/.local/bin",
			read: []string{"home/.local/bin/tool", "home/.local/pipx/venvs/tool/share.txt", "home/.local/lib/a.py"},
			not:  []string{"home/.local/pipx/venvs/other/share.txt", "home/.local/share/keyring.txt"},
		},
		{
			name: "links-in-path-that-lead-anywhere",
			files: []string{
				"home/bin/tool -> ../src/tool/run", "home/src/tool/run", "home/src/tool/notes.txt",
				"home/bin/key -> ../.ssh/id.txt", "home/.ssh/id.txt", "home/bin/gone -> nowhere",
			},
			path: "home/bin",
			read: []string{"home/bin/tool", "home/src/tool/run"},
			not:  []string{"home/src/tool/notes.txt", "home/.ssh/id.txt"},
		},
		{
			name:  "shims",
			files: []string{"home/.pyenv/shims/python", "home/.pyenv/versions/3.12/bin/python", "home/.profile.txt"},
			path:  "home/.pyenv/shims",
			read:  []string{"home/.pyenv/versions/3.12/bin/python"},
			not:   []string{"home/.profile.txt"},
		},
		{
			name:    "in-home-itself",
			files:   []string{"home/tool", "home/notes.txt"},
			program: "home/tool",
			read:    []string{"home/tool"},
			not:     []string{"home/notes.txt"},
		},
		{
			name:    "bin-of-the-home",
			files:   []string{"home/bin/tool", "home/lib/mail.txt"},
			program: "home/bin/tool",
			read:    []string{"home/bin/tool"},
			not:     []string{"home/lib/mail.txt"},
		},
		{
			name:    "bin-of-the-project",
			files:   []string{"project/bin/tool", "project/lib/secret.txt", "project/go.env"},
			program: "project/bin/tool",
			path:    "project/bin",
			read:    []string{"project/bin/tool"},
			not:     []string{"project/lib/secret.txt", "project/go.env"},
		},
		{
			name:  "the-project-in-path",
			files: []string{"project/tool", "project/main.go"},
			path:  "project",
			not:   []string{"project/tool", "project/main.go"},
		},
		{
			name:    "above-the-home",
			files:   []string{"tool", "home/notes.txt", "project/main.go"},
			program: "tool",
			path:    ".",
			read:    []string{"tool"},
			not:     []string{"home/notes.txt", "project/main.go"},
		},
		{name: "not-there", program: "home/bin/gone", path: "home/gone"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := plant(t, append(tt.files, "home/", "project/")...)
			in := func(name string) string { return filepath.Join(root, name) }
			t.Setenv("HOME", in("home"))
			var programs []string
			env := []string{"PATH=relative:/usr/bin"}
			if tt.program != "" {
				programs = append(programs, in(tt.program))
			}
			if tt.path != "" {
				env = append(env, "PATH="+in(tt.path))
			}
			v, err := newView(Policy{Private: []string{in("project")}}, programs, env)
			require.NoError(t, err)
			for _, file := range tt.read {
				real, err := filepath.EvalSymlinks(in(file))
				require.NoError(t, err)
				assert.True(t, shows(v.read, real), "%s cannot be read: %q", file, below(root, v.read))
			}
			for _, file := range tt.not {
				assert.False(t, shows(v.read, in(file)), "%s can be read: %q", file, below(root, v.read))
			}
			assert.Empty(t, v.write)
			for _, path := range v.read {
				assert.True(t, filepath.IsAbs(path), path)
			}
		})
	}
}

// TestLinkedProgram: a program that is reached by links to links starts, whether it is named or found in PATH.
func TestLinkedProgram(t *testing.T) {
	root := plant(t,
		"few/tool -> ../links/tool", "links/tool -> more", "v3/bin/tool", "current -> v3", "some -> few", "ws/")
	in := func(name string) string { return filepath.Join(root, name) }
	require.NoError(t, os.Symlink(in("current/bin/tool"), in("links/more")))
	inPath := func(dir string) supervise.Command {
		return supervise.Command{
			Path: "/bin/sh", Args: []string{"sh", "-c", "tool"}, Env: []string{"PATH=/usr/bin:/bin:" + in(dir)},
		}
	}
	for _, kind := range []Kind{Bwrap, Landlock} {
		for name, command := range map[string]supervise.Command{
			"named":              {Path: in("few/tool"), Args: []string{"tool"}, Env: []string{"PATH=/usr/bin:/bin"}},
			"in PATH":            inPath("few"),
			"by a link in PATH":  inPath("some"),
			"below one, in PATH": inPath("current/bin"),
		} {
			t.Run(string(kind)+" "+name, func(t *testing.T) {
				var stderr bytes.Buffer
				command.Dir, command.Stderr = in("ws"), &stderr
				s, err := New(kind, nil)
				require.NoError(t, err)
				p, err := s.Start(t.Context(), command, Policy{Write: []string{in("ws")}})
				require.NoError(t, err)
				exit, err := p.Wait()
				require.NoError(t, err)
				assert.Equal(t, supervise.Exit{}, exit, stderr.String())
			})
		}
	}
}

// TestPrograms: programs of a policy that do not exist are ignored.
func TestPrograms(t *testing.T) {
	root := plant(t, "bin/server", "home/script.js", "home/")
	in := func(name string) string { return filepath.Join(root, name) }
	t.Chdir(root)
	p := Policy{Programs: []string{
		"server", "--verbose", in("home/script.js"), "home/script.js", in("home"), "/gone", "",
	}}
	assert.Equal(t, []string{in("bin/server"), in("home/script.js")}, p.paths([]string{"PATH=" + in("bin")}))
}

// TestArguments: a file that an argument names is shown alone, a directory as a whole, and never one that holds more.
func TestArguments(t *testing.T) {
	root := plant(t,
		"tools/agent.js", "tools/key.txt", "data/a/b.txt", "home/notes.txt", "home/.ssh/id", "link -> home",
		"x/node_modules/agent/main.js", "x/node_modules/lib/lib.js", "x/key.txt", "bin/server", "lib/helper.js",
		"alias -> tools/agent.js", "project/main.go")
	in := func(name string) string { return filepath.Join(root, name) }
	t.Setenv("HOME", in("home"))
	p := Policy{
		Arguments: []string{
			"--verbose", in("tools/agent.js"), in("alias"), in("data"), in("home"), in("link"), in("home/.ssh/gone"),
			"/", "/var", in("x/node_modules/agent/main.js"), in("project"), "tools", in("lib/helper.js"),
		},
		Private: []string{in("project")},
	}
	v, err := newView(p, p.paths(nil), nil)
	require.NoError(t, err)
	for _, file := range []string{"tools/agent.js", "data/a/b.txt", "x/node_modules/lib/lib.js", "lib/helper.js"} {
		assert.True(t, shows(v.read, in(file)), "%s cannot be read: %q", file, v.read)
	}
	for _, file := range []string{
		"tools/key.txt", "home/notes.txt", "home/.ssh/id", "x/key.txt", "bin/server", "project/main.go",
	} {
		assert.False(t, shows(v.read, in(file)), "%s can be read: %q", file, v.read)
	}
	assert.False(t, shows(v.read, "/var/log"))
}
