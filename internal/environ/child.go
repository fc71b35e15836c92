package environ

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
)

// Spec says what the environment of a child is built from.
type Spec struct {
	// Environ is our own environment, as [os.Environ] returns it.
	Environ []string
	// Workspace is the child's workspace, an absolute path.
	Workspace string
	// Home and Tmp become HOME and TMPDIR; empty: ours.
	Home, Tmp string
	// Pass are the names of further variables of ours that the child sees.
	Pass []string
	// Set are variables that it gets with these values.
	Set map[string]string
}

// ForChild returns the environment of an agent, a terminal's command or a judge, sorted by name. It is built and not
// inherited: PATH, HOME, TMPDIR, LANG, LC_*, TERM and TZ, what the spec passes on, and the variables that keep go and
// git inside the workspace. PATH has lost its directories that are relative or in the workspace, where a program may be
// the agent's own work.
func ForChild(s Spec) []string {
	env := make(map[string]string)
	for name, value := range Variables(s.Environ) {
		if slices.Contains(basics, name) || strings.HasPrefix(name, "LC_") || slices.Contains(s.Pass, name) {
			env[name] = value
		}
	}
	maps.Copy(env, s.Set)
	if s.Home != "" {
		env["HOME"] = s.Home
	}
	if s.Tmp != "" {
		env["TMPDIR"] = s.Tmp
		env["TMPPREFIX"] = filepath.Join(s.Tmp, "zsh") // where zsh keeps here-documents
	}
	return seal(env, s.Workspace)
}

// ForStep returns the environment of a run step, sorted by name: ours, environ, without what looks like a credential,
// without the variables of model providers and of presets, and without git's word of which repository it is in; the
// names in pass are kept anyway. Set has further variables. PATH and the variables that keep go and git inside the
// workspace are as in [ForChild].
func ForStep(
	environ []string, workspace string, pass []string, set map[string]string, presets ...string,
) []string {
	env := make(map[string]string)
	for name, value := range Variables(environ) {
		private := IsCredential(name, value) || hasPrefix(name, providers) || slices.Contains(presets, name) ||
			slices.Contains(repository, name) || slices.Contains(directories, name)
		if !private || slices.Contains(pass, name) {
			env[name] = value
		}
	}
	maps.Copy(env, set)
	return seal(env, workspace)
}

// IsOurs reports whether a variable is one that is given to each child anew, so that a value of it would be lost or
// mislead.
func IsOurs(name string) bool {
	return slices.Contains([]string{
		"PATH", "HOME", "TMPDIR", "TMPPREFIX", "GOWORK", "GIT_CEILING_DIRECTORIES", "CODEX_HOME",
	}, name)
}

var (
	// basics are the variables of ours that every child sees, beside LC_*.
	basics = []string{"PATH", "HOME", "TMPDIR", "LANG", "TERM", "TZ"}
	// providers are prefixes of the variables by which agents and judges find their models.
	providers = []string{"OPENAI_", "ANTHROPIC_"}
	// repository is what git sets for its hooks (git rev-parse --local-env-vars): a go test in a hook of the user's
	// repository would have the steps work on that.
	repository = []string{
		"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_CONFIG", "GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS",
		"GIT_DIR", "GIT_GRAFT_FILE", "GIT_IMPLICIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_INTERNAL_SUPER_PREFIX",
		"GIT_NO_REPLACE_OBJECTS", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX", "GIT_REPLACE_REF_BASE", "GIT_SHALLOW_FILE",
		"GIT_WORK_TREE",
	}
	// directories would lie to a child, which has another one.
	directories = []string{"PWD", "OLDPWD"}

	// steering are prefixes and names of variables that make allowed programs run other code or look elsewhere. Agents
	// may not set them for their commands, nor what is set here.
	steeringPrefixes = []string{"LD_", "DYLD_", "GIT_"}
	steering         = []string{
		"NODE_OPTIONS", "BASH_ENV", "ENV", "PYTHONSTARTUP", "PATH", "HOME", "TMPDIR", "TMPPREFIX", "GOWORK",
	}
)

// seal adds the variables that hold for every child, and returns the environment as processes get it.
func seal(env map[string]string, workspace string) []string {
	if !filepath.IsAbs(workspace) {
		panic(fmt.Sprintf("environ: workspace %q is not an absolute path", workspace))
	}
	if path, ok := env["PATH"]; ok {
		env["PATH"] = outsidePath(path, workspace)
	}
	env["GOWORK"] = "off"
	env["GIT_CEILING_DIRECTORIES"] = filepath.Dir(workspace)
	all := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		all = append(all, name+"="+env[name])
	}
	return all
}

// outsidePath returns the list of directories without those that are relative or in the workspace.
func outsidePath(list, workspace string) string {
	inside := disk.Locate(workspace)
	dirs := slices.DeleteFunc(filepath.SplitList(list), func(dir string) bool {
		return !filepath.IsAbs(dir) || inside.Has(dir)
	})
	return strings.Join(dirs, string(filepath.ListSeparator))
}

// With returns env with the variables that an agent adds for a command, and the names of those it may not.
func With(env, additions []string) (all, dropped []string) {
	merged := Variables(env)
	for _, kv := range additions {
		name, value, ok := strings.Cut(kv, "=")
		malformed := !ok || name == "" || strings.ContainsRune(kv, 0)
		if malformed || Steers(name) {
			dropped = append(dropped, name)
			continue
		}
		merged[name] = value
	}
	for _, name := range slices.Sorted(maps.Keys(merged)) {
		all = append(all, name+"="+merged[name])
	}
	return all, dropped
}

// Steers reports whether a variable makes programs run other code or look elsewhere.
func Steers(name string) bool {
	return hasPrefix(name, steeringPrefixes) || slices.Contains(steering, name)
}

func hasPrefix(s string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p) })
}

var (
	// credentialWords are words of names, between underscores, that tell a credential.
	credentialWords = []string{
		"AUTH", "COOKIE", "DSN", "JWT", "KEY", "KEYS", "PASS", "PAT", "PWD", "WEBHOOK",
	}
	// credentialParts tell one wherever in the name they stand, and credentialEnds at the end of a word.
	credentialParts = []string{"SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "APIKEY"}
	credentialEnds  = []string{"TOKEN", "TOKENS"}

	urlWithPassword = lazyregexp.New(`://[^/@\s]*:[^/@\s]+@`)
)

// IsCredential reports whether a variable of ours looks like a credential: by its name, or because it is a URL with a
// password.
func IsCredential(name, value string) bool {
	if slices.Contains(directories, name) { // which hold PWD
		return false
	}
	name = strings.ToUpper(name)
	if slices.ContainsFunc(credentialParts, func(p string) bool { return strings.Contains(name, p) }) {
		return true
	}
	for word := range strings.SplitSeq(name, "_") {
		if slices.Contains(credentialWords, word) ||
			slices.ContainsFunc(credentialEnds, func(end string) bool { return strings.HasSuffix(word, end) }) {
			return true
		}
	}
	return urlWithPassword.MatchString(value)
}
