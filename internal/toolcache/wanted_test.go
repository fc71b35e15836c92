package toolcache_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/toolcache"
)

// TestWanted: what a preset shows and sets, with network and without; $H is the user's home.
func TestWanted(t *testing.T) {
	tests := []struct {
		name          string
		wanted        toolcache.Cache
		env           []string
		shown         []string
		offline, both string // of the variables; both with network, too
		missing, next string // of the error where nothing is there
	}{
		{
			name: "cargo", wanted: toolcache.Cache{Preset: "cargo"},
			shown:   []string{".cargo/registry", ".cargo/git", ".rustup"},
			offline: "CARGO_HOME=$H/.cargo CARGO_NET_OFFLINE=true", both: "RUSTUP_HOME=$H/.rustup",
			missing: "cargo: $H/.cargo/registry or $H/.cargo/git is no directory", next: "cargo fetch",
		},
		{
			name: "gradle", wanted: toolcache.Cache{Preset: "gradle"}, env: []string{"GRADLE_RO_DEP_CACHE=$H/ro"},
			shown: []string{"ro"}, both: "GRADLE_RO_DEP_CACHE=$H/ro",
			missing: "gradle: $H/ro is no directory", next: "modules-2",
		},
		{
			name: "maven", wanted: toolcache.Cache{Preset: "maven"}, env: []string{"MAVEN_OPTS=-Xmx1g"},
			shown:   []string{".m2/repository"},
			offline: "MAVEN_OPTS=-Xmx1g_-Dmaven.repo.local=$H/.m2/repository",
			missing: "maven: $H/.m2/repository is no directory", next: "go-offline",
		},
		{
			name: "npm", wanted: toolcache.Cache{Preset: "npm"}, env: []string{"npm_config_cache=$H/else"},
			shown: []string{"else/_cacache"}, offline: "npm_config_cache=$H/else npm_config_offline=true",
			missing: "npm: $H/else/_cacache is no directory", next: "npm ci",
		},
		{
			name: "pip", wanted: toolcache.Cache{Preset: "pip"}, shown: []string{".cache/wheelhouse"},
			offline: "PIP_NO_INDEX=1 UV_NO_INDEX=1 UV_OFFLINE=1",
			both:    "PIP_FIND_LINKS=$H/.cache/wheelhouse UV_FIND_LINKS=$H/.cache/wheelhouse",
			missing: "pip: $H/.cache/wheelhouse is no directory", next: "pip wheel",
		},
		{
			name: "directory", wanted: toolcache.Cache{Dir: "$H/own", Env: "OWN"}, shown: []string{"own"},
			both: "OWN=$H/own", missing: "OWN: $H/own is no directory", next: "make the directory",
		},
		{
			name: "copy", wanted: toolcache.Cache{Dir: "$H/own", Env: "OWN", Copy: true}, shown: []string{"own"},
			both: "OWN=$N/.cache/copies/OWN", missing: "OWN: $H/own is no directory", next: "make the directory",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			user, home := t.TempDir(), t.TempDir()
			at := func(text string) string { return strings.NewReplacer("$H", user, "$N", home).Replace(text) }
			tt.wanted.Dir = at(tt.wanted.Dir)
			env := []string{"HOME=" + user, "GOCACHE=" + user + "/none"}
			for _, kv := range tt.env {
				env = append(env, at(kv))
			}
			err := toolcache.Check(env, tt.wanted)
			require.EqualError(t, err, at(tt.missing))
			assert.Contains(t, fault.Advice(err), tt.next)

			var shown []string
			for _, path := range tt.shown {
				shown = append(shown, filepath.Join(user, path))
				require.NoError(t, os.MkdirAll(filepath.Join(user, path), 0o755))
			}
			require.NoError(t, toolcache.Check(env, tt.wanted))
			none, caches := toolcache.Find(env), toolcache.Find(env, tt.wanted)
			assert.Subset(t, caches.Paths(), shown)
			assert.Len(t, caches.Paths(), len(none.Paths())+len(shown))
			online, offline := caches.Variables(home, false), caches.Variables(home, true)
			words := func(text string) (kvs []string) {
				for word := range strings.FieldsSeq(at(text)) {
					kvs = append(kvs, strings.ReplaceAll(word, "_-D", " -D"))
				}
				return kvs
			}
			assert.Equal(t, words(tt.both), online)
			assert.ElementsMatch(t, words(tt.both+" "+tt.offline), offline)
			assert.Equal(t, []string{"KEPT=1"}, caches.Without(append(offline, "KEPT=1")))
		})
	}
}

// TestLay: a copy is the process's to write, and is the directory that a link leads to.
func TestLay(t *testing.T) {
	base, home := t.TempDir(), t.TempDir()
	dir := filepath.Join(base, "dir")
	require.NoError(t, os.Mkdir(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), []byte("old"), 0o644))
	require.NoError(t, os.Symlink(dir, filepath.Join(base, "link")))
	caches := toolcache.Find([]string{"HOME=" + base},
		toolcache.Cache{Dir: filepath.Join(base, "link"), Env: "A", Copy: true}, toolcache.Cache{Dir: dir, Env: "B"})
	require.NoError(t, caches.Lay(t.Context(), home))
	name := filepath.Join(home, ".cache", "copies", "A", "file")
	require.NoError(t, os.WriteFile(name, []byte("new"), 0o644))
	text, err := os.ReadFile(filepath.Join(dir, "file"))
	require.NoError(t, err)
	assert.Equal(t, "old", string(text))
	assert.NoDirExists(t, filepath.Join(home, ".cache", "copies", "B"))
}
