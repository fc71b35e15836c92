package agent

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
)

// Program is a program that agents of a kind are started with, as npm installs it.
type Program struct {
	// Command is its name in PATH.
	Command string
	// Package is npm's name for what has the program.
	Package string
	// Tested is the version that the kind was tested with.
	Tested string
}

// Install is the command line that installs the version that was tested.
func (p Program) Install() string { return "npm install -g " + p.Package + "@" + p.Tested }

// Install says how a person gets the program that a playbook names, or the kind's own.
func (p Profile) Install(command string) string {
	for _, known := range p.Programs {
		if known.Command == command {
			return known.Install()
		}
	}
	return "install " + command
}

// The samples of presets, by what is in them. After the table come the lines of one account; each comment that begins
// with "# or" is followed by those of another one, in comments.
const (
	anthropicSample = `[groups.NAME]
ANTHROPIC_API_KEY = "YOUR-KEY"
# or a plan, by the token that ` + "`claude setup-token`" + ` prints:
# CLAUDE_CODE_OAUTH_TOKEN = "YOUR-TOKEN"
# or by the file that ` + "`claude auth login`" + ` writes on Linux:
# files = {".claude/.credentials.json" = "~/.claude/.credentials.json"}
`
	codexSample = `[model_providers.NAME]
base_url = "https://api.openai.com/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
env = {OPENAI_API_KEY = "YOUR-KEY"}
# or a plan, by the file that ` + "`codex login`" + ` writes:
# files = {".codex/auth.json" = "~/.codex/auth.json"}
`
	geminiSample = `[groups.NAME]
GEMINI_API_KEY = "YOUR-KEY"
# or a Google account, by the file that ` + "`gemini`" + ` writes:
# files = {".gemini/oauth_creds.json" = "~/.gemini/oauth_creds.json"}
# auth_method = "oauth-personal"
`
	openCodeSample = `[model_providers.NAME]
base_url = "https://models.example.com/v1"
models = ["MODEL"]
env_key = "EXAMPLE_API_KEY"
env = {EXAMPLE_API_KEY = "YOUR-KEY"}
# or what ` + "`opencode auth login`" + ` writes; then the playbook names the model:
# files = {".local/share/opencode/auth.json" = "~/.local/share/opencode/auth.json"}
`
	copilotSample = `[groups.NAME]
COPILOT_GITHUB_TOKEN = "YOUR-TOKEN"
# or a provider that has Chat Completions:
# COPILOT_PROVIDER_BASE_URL = "https://models.example.com/v1"
# COPILOT_PROVIDER_API_KEY = "YOUR-KEY"
# COPILOT_MODEL = "MODEL"
`
	openAISample = `[groups.NAME]
OPENAI_BASE_URL = "https://models.example.com/v1"
OPENAI_API_KEY = "YOUR-KEY"
OPENAI_MODEL = "MODEL"
`
	anySample = `[groups.NAME]
EXAMPLE_API_KEY = "YOUR-KEY"
# or a file of yours, for the home that the agent gets:
# files = {".agent/token.json" = "~/.agent/token.json"}
# or the id of a method to authenticate by:
# auth_method = "api-key"
`
)

// bareKey matches the keys of TOML that need no quotes.
var bareKey = lazyregexp.New(`^[A-Za-z0-9_-]+$`)

// SamplePreset returns lines of TOML with an account to fill in, below a comment with the file that they belong into.
// It is empty if the kind has no presets.
func (p Profile) SamplePreset(file, name string) string {
	if p.sample == "" {
		return ""
	}
	if !bareKey.MatchString(name) {
		name = strconv.Quote(name)
	}
	return "# " + file + "\n" + strings.Replace(p.sample, ".NAME]", "."+name+"]", 1)
}

// advisePreset adds to an error about a preset that there is not what a person can write down for it.
func (p Profile) advisePreset(err error, dir, name string) error {
	lines := p.SamplePreset(filepath.Join(dir, p.PresetFile), name)
	return fault.Advise(err, "write down your account, such as:\n"+strings.TrimSuffix(lines, "\n"))
}
