package environ

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestForChild(t *testing.T) {
	tests := []struct {
		name, reason string
		spec         Spec
		want         []string
	}{
		{
			name: "empty",
			spec: Spec{Workspace: "/w/s"},
			want: []string{"GIT_CEILING_DIRECTORIES=/w", "GOWORK=off"},
		},
		{
			name:   "built",
			reason: "only what every program needs is taken over",
			spec: Spec{
				Environ: []string{
					"PATH=/usr/bin:/bin", "HOME=/home/u", "TMPDIR=/tmp/u", "LANG=C.UTF-8", "LC_ALL=C", "LC_TIME=C",
					"TERM=xterm", "TZ=UTC",
					"USER=u", "GOFLAGS=-v", "GITHUB_TOKEN=t", "ANTHROPIC_API_KEY=k", "LD_PRELOAD=x.so",
					"GOWORK=/w/go.work",
					"GIT_CEILING_DIRECTORIES=/elsewhere", "LCX=x",
				},
				Workspace: "/w/s",
			},
			want: []string{
				"GIT_CEILING_DIRECTORIES=/w", "GOWORK=off", "HOME=/home/u", "LANG=C.UTF-8", "LC_ALL=C", "LC_TIME=C",
				"PATH=/usr/bin:/bin", "TERM=xterm", "TMPDIR=/tmp/u", "TZ=UTC",
			},
		},
		{
			name: "own-home-and-temporaries",
			spec: Spec{
				Environ: []string{"HOME=/home/u", "TMPDIR=/tmp"}, Workspace: "/w/s", Home: "/w/home", Tmp: "/w/tmp",
			},
			want: []string{
				"GIT_CEILING_DIRECTORIES=/w", "GOWORK=off", "HOME=/w/home", "TMPDIR=/w/tmp",
				"TMPPREFIX=/w/tmp/zsh",
			},
		},
		{
			name:   "passed",
			reason: "what the playbook names is its author's decision; what keeps go inside is not",
			spec: Spec{
				Environ:   []string{"HTTPS_PROXY=http://p:1", "API_TOKEN=t", "GOWORK=/w/go.work", "OTHER=o"},
				Workspace: "/w/s",
				Pass:      []string{"HTTPS_PROXY", "API_TOKEN", "GOWORK", "UNSET"},
			},
			want: []string{"API_TOKEN=t", "GIT_CEILING_DIRECTORIES=/w", "GOWORK=off", "HTTPS_PROXY=http://p:1"},
		},
		{
			name:   "path",
			reason: "a relative directory, or one in the workspace, may hold an agent's own git",
			spec:   Spec{Environ: []string{"PATH=/usr/bin::.:/w/s/bin:bin:/w/s:/w/s-evil:/bin"}, Workspace: "/w/s"},
			want:   []string{"GIT_CEILING_DIRECTORIES=/w", "GOWORK=off", "PATH=/usr/bin:/w/s-evil:/bin"},
		},
		{
			name: "last-of-a-name",
			spec: Spec{Environ: []string{"TZ=UTC", "TZ=CET", "=C:=x", "nonsense"}, Workspace: "/w/s"},
			want: []string{"GIT_CEILING_DIRECTORIES=/w", "GOWORK=off", "TZ=CET"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, ForChild(tt.spec)); diff != "" {
				t.Errorf("%s: -want +got\n%s", tt.reason, diff)
			}
		})
	}
	assert.Panics(t, func() { ForChild(Spec{Workspace: "relative"}) })
}

func TestPathThroughLinks(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	ws, alias := filepath.Join(base, "ws"), filepath.Join(base, "alias")
	require.NoError(t, os.MkdirAll(filepath.Join(ws, "bin"), 0o755))
	require.NoError(t, os.Symlink(ws, alias))
	require.NoError(t, os.Symlink(filepath.Join(ws, "bin"), filepath.Join(base, "bin")))
	for _, workspace := range []string{ws, alias} {
		path := strings.Join([]string{base + "/bin", alias + "/bin", ws + "/bin", base}, ":")
		env := ForChild(Spec{Environ: []string{"PATH=" + path}, Workspace: workspace})
		assert.Contains(t, env, "PATH="+base)
	}
}

func TestForStep(t *testing.T) {
	environ := []string{
		"PATH=/usr/bin:/w/s/bin", "HOME=/home/u", "USER=u", "GOFLAGS=-mod=mod", "GOPROXY=https://proxy", "CI=true",
		"LD_PRELOAD=x.so", "PWD=/project", "OLDPWD=/", "GIT_DIR=/project/.git", "GIT_WORK_TREE=/project",
		"GIT_AUTHOR_NAME=u",
		"GOWORK=/project/go.work", "OPENAI_BASE_URL=http://m", "ANTHROPIC_MODEL=m", "MY_PRESET=p", "DEPLOY_TOKEN=t",
		"PROXY=http://u:p@proxy",
	}
	tests := []struct {
		name          string
		pass, presets []string
		set           map[string]string
		want          []string
	}{
		{
			name: "inherited",
			want: []string{
				"CI=true", "GIT_AUTHOR_NAME=u", "GIT_CEILING_DIRECTORIES=/w", "GOFLAGS=-mod=mod",
				"GOPROXY=https://proxy", "GOWORK=off",
				"HOME=/home/u", "LD_PRELOAD=x.so", "MY_PRESET=p", "PATH=/usr/bin", "USER=u",
			},
		},
		{
			name:    "presets-and-passed",
			pass:    []string{"DEPLOY_TOKEN", "PROXY", "GIT_DIR", "OPENAI_BASE_URL"},
			presets: []string{"MY_PRESET"},
			set:     map[string]string{"USER": "them"},
			want: []string{
				"CI=true", "DEPLOY_TOKEN=t", "GIT_AUTHOR_NAME=u", "GIT_CEILING_DIRECTORIES=/w", "GIT_DIR=/project/.git",
				"GOFLAGS=-mod=mod", "GOPROXY=https://proxy", "GOWORK=off", "HOME=/home/u", "LD_PRELOAD=x.so",
				"OPENAI_BASE_URL=http://m", "PATH=/usr/bin", "PROXY=http://u:p@proxy", "USER=them",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, ForStep(environ, "/w/s", tt.pass, tt.set, tt.presets...)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestIsCredential(t *testing.T) {
	credentials := []string{
		"TOKEN=x", "GITHUB_TOKEN=x", "GH_PAT=x", "NPM_AUTH_TOKENS=x", "AUTHTOKEN=x", "AWS_ACCESS_KEY_ID=x",
		"AWS_SECRET_ACCESS_KEY=x",
		"GEMINI_API_KEY=x", "APIKEY=x", "openai_apikey=x", "MYSQL_PWD=x", "PGPASSWORD=x", "DB_PASS=x",
		"SSH_AUTH_SOCK=x",
		"GOOGLE_APPLICATION_CREDENTIALS=x", "client_secret=x", "SENTRY_DSN=x", "SLACK_WEBHOOK_URL=x",
		"SESSION_COOKIE=x",
		"DATABASE_URL=postgres://u:p@db/x", "GOPROXY=https://u:p@proxy,direct", "SIGNING_KEY=x",
	}
	plain := []string{
		"PATH=/bin", "PWD=/x", "OLDPWD=/x", "HOME=/x", "TOKENIZERS_PARALLELISM=1", "KEYBOARD=us", "MONKEY=1",
		"AUTHOR=u",
		"GIT_AUTHOR_NAME=u", "PASSENGER=x", "COMPASS=x", "GOPROXY=https://proxy,direct", "URL=https://host/a:b@c",
		"MAIL=u@host:1",
		"DISPLAY=:0", "EDITOR=vi",
	}
	for want, list := range map[bool][]string{true: credentials, false: plain} {
		for _, kv := range list {
			name, value, _ := strings.Cut(kv, "=")
			assert.Equal(t, want, IsCredential(name, value), kv)
		}
	}
}

func TestWith(t *testing.T) {
	all, dropped := With([]string{"PATH=/bin", "HOME=/h", "A=1"}, []string{
		"A=2", "B=b=c", "CLAUDECODE=1", "EMPTY=", "LD_PRELOAD=x", "DYLD_INSERT_LIBRARIES=x", "NODE_OPTIONS=-r x",
		"GIT_PAGER=x",
		"BASH_ENV=x", "ENV=x", "PYTHONSTARTUP=x", "PATH=/ws", "HOME=/ws", "TMPDIR=/ws", "GOWORK=x", "=x", "novalue",
		"N=a\x00b",
	})
	assert.Equal(t, []string{"A=2", "B=b=c", "CLAUDECODE=1", "EMPTY=", "HOME=/h", "PATH=/bin"}, all)
	assert.Equal(t, []string{
		"LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "NODE_OPTIONS", "GIT_PAGER", "BASH_ENV", "ENV", "PYTHONSTARTUP", "PATH",
		"HOME",
		"TMPDIR", "GOWORK", "", "novalue", "N",
	}, dropped)
}
