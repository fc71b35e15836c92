package agent

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/fault"
)

// Names of presets that need no file: the account is that of whoever is at the machine. A preset of the same name in
// the kind's file comes first.
const (
	// Login is the account by which the agent has logged in on this machine.
	Login = "login"
	// APIKey is the key that the agent's own variables have in our environment.
	APIKey = "api-key"
)

// machineAccount says where a machine has accounts for a kind of agent. The zero value knows of none.
type machineAccount struct {
	// token is the variable by which the agent takes an access token. If ours is set, the agent is given no file.
	token string
	// file is where a login is kept, in the user's home as in the agent's; empty: nobody knows. In place of its first
	// directory it has the one that the variable movedBy names, if that is set.
	file, movedBy string
	// access returns what an agent needs of the file to work, and not what renews the login: tokens that renew are
	// often taken only once, and the user's would be spent. Nil: the file as it is.
	access func(a machineAccount, data []byte, now time.Time) (env map[string]string, file []byte, err error)
	// authMethod is the method to authenticate with by the file; empty: the kind's.
	authMethod string
	// keys are variables with a key, which agents prefer to a login, and endpoint those that say where it counts.
	keys, endpoint []string
	// provider is for agents that take a key from their configuration alone.
	provider func(a machineAccount) *provider
	// elsewhere says what to do where the login is in no file.
	elsewhere string
}

// What is known of agents' logins was read in the programs of fixtures/agents: claude 2.1 takes an access token, and
// Codex 0.166 an auth.json whose refresh_token is empty.
var (
	claudeAccount = machineAccount{
		token: "CLAUDE_CODE_OAUTH_TOKEN", file: ".claude/.credentials.json", movedBy: "CLAUDE_CONFIG_DIR",
		access: claudeAccess, keys: []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"},
		endpoint: []string{"ANTHROPIC_BASE_URL"},
		elsewhere: "where the login is in a keychain, as on macOS, or to have one that lasts: `claude setup-token`, " +
			"then set CLAUDE_CODE_OAUTH_TOKEN to what it prints",
	}
	codexAccount = machineAccount{
		token: "CODEX_ACCESS_TOKEN", file: ".codex/auth.json", movedBy: "CODEX_HOME",
		access: codexAccess, keys: []string{"OPENAI_API_KEY", "CODEX_API_KEY"},
		endpoint: []string{"OPENAI_BASE_URL"}, provider: openAI,
		elsewhere: "where the login is in a keychain: `codex -c cli_auth_credentials_store=file login`",
	}
	geminiAccount = machineAccount{
		file: ".gemini/oauth_creds.json", authMethod: "oauth-personal",
		keys: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, endpoint: []string{"GOOGLE_GEMINI_BASE_URL"},
	}
	openCodeAccount = machineAccount{file: ".local/share/opencode/auth.json"}
	copilotAccount  = machineAccount{
		token: "COPILOT_GITHUB_TOKEN", keys: []string{"COPILOT_PROVIDER_API_KEY"},
		endpoint:  []string{"COPILOT_PROVIDER_BASE_URL", "COPILOT_MODEL"},
		elsewhere: "set COPILOT_GITHUB_TOKEN to a token with the permission Copilot Requests",
	}
	qwenAccount = machineAccount{
		keys: []string{"OPENAI_API_KEY"}, endpoint: []string{"OPENAI_BASE_URL", "OPENAI_MODEL"},
	}
)

// ofMachine returns a preset that needs no file; ok is false if the kind has none of that name.
func (p Profile) ofMachine(name string) (preset Preset, ok bool, err error) {
	a := p.machine
	switch {
	case name == Login && (a.token != "" || a.file != ""):
		preset, err = p.loggedIn()
	case name == APIKey && len(a.keys) > 0:
		preset, err = p.keyed()
	default:
		return Preset{}, false, nil
	}
	preset.Name, preset.Endpoint = name, Real
	return preset, true, err
}

// loggedIn returns the account by which the agent has logged in.
func (p Profile) loggedIn() (preset Preset, err error) {
	a := p.machine
	preset.Withheld = slices.Concat(a.keys, a.endpoint)
	if token := os.Getenv(a.token); a.token != "" && token != "" {
		preset.Env, preset.Secret = map[string]string{a.token: token}, []string{a.token}
		return preset, nil
	}
	file, err := a.find()
	var data []byte
	if err == nil {
		data, err = disk.ReadRegular(file, MaxAccountFile)
	}
	if err == nil && a.access != nil {
		preset.Env, data, err = a.access(a, data, time.Now())
		if err != nil {
			err = fmt.Errorf("%s: %w", file, err)
		}
	}
	if err != nil {
		return Preset{}, p.adviseLogin(err)
	}
	for name := range preset.Env {
		preset.Secret = append(preset.Secret, name)
	}
	if data != nil {
		preset.files = []accountFile{{File{Path: a.file, Data: data, From: file}, "the machine's login"}}
		if a.authMethod != "" {
			preset.authMethod = &authMethod{a.authMethod, "the machine's login"}
		}
	}
	return preset, nil
}

// find returns the path of the user's file with the login.
func (a machineAccount) find() (string, error) {
	if a.file == "" {
		return "", fmt.Errorf("%s is not set: %w", a.token, fs.ErrNotExist)
	}
	if dir := os.Getenv(a.movedBy); a.movedBy != "" && dir != "" {
		_, below, _ := strings.Cut(a.file, "/")
		return filepath.Join(dir, filepath.FromSlash(below)), nil
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, filepath.FromSlash(a.file)), err
}

// adviseLogin adds to an error about the machine's login how a person logs in.
func (p Profile) adviseLogin(err error) error {
	next := p.Login
	switch {
	case p.machine.file == "":
		next = ""
	case errors.Is(err, errExpired):
		next = "start the agent once yourself, which renews the login, or " + next
	}
	if elsewhere := p.machine.elsewhere; elsewhere != "" && next != "" {
		next += "; " + elsewhere
	} else {
		next += elsewhere
	}
	for _, key := range p.machine.keys {
		if os.Getenv(key) != "" {
			next += "; or let it use " + key + ", which is set: the preset " + APIKey
			break
		}
	}
	return fault.Advise(fmt.Errorf("the login of this machine: %w", err), next)
}

// keyed returns the account of the key in our environment.
func (p Profile) keyed() (preset Preset, err error) {
	a := p.machine
	preset.Env = make(map[string]string)
	for _, name := range slices.Concat(a.keys, a.endpoint) {
		if value := os.Getenv(name); value != "" {
			preset.Env[name] = value
		}
	}
	for _, name := range a.keys {
		if preset.Env[name] != "" {
			preset.Secret = append(preset.Secret, name)
		}
	}
	slices.Sort(preset.Secret)
	if len(preset.Secret) == 0 {
		err := fmt.Errorf("none of the variables with a key is set: %s", strings.Join(a.keys, ", "))
		return Preset{}, fault.Advise(err, "set "+a.keys[0])
	}
	if a.provider != nil {
		preset.provider = a.provider(a)
	}
	return preset, nil
}

// openAI is the provider of Codex for a key in the environment.
func openAI(a machineAccount) *provider {
	key := a.keys[0]
	if os.Getenv(key) == "" {
		key = a.keys[1]
	}
	address := os.Getenv(a.endpoint[0])
	if address == "" {
		address = "https://api.openai.com/v1"
	}
	return &provider{Name: "OpenAI", BaseURL: address, EnvKey: key, Own: map[string]any{"wire_api": "responses"}}
}

// errExpired says that a login has to be renewed, which the agents of a run cannot do.
var errExpired = errors.New("the login has expired")

// notALogin is what is said of a file that is of another form than the agent writes.
const notALogin = "not a login as the agent writes it"

// claudeAccess returns the access token of Claude Code's file.
func claudeAccess(a machineAccount, data []byte, now time.Time) (map[string]string, []byte, error) {
	var file struct {
		OAuth struct {
			AccessToken string `json:"accessToken"`
			ExpiresAt   int64  `json:"expiresAt"` // in milliseconds since 1970; 0: it does not say
		} `json:"claudeAiOauth"`
	}
	switch err := json.Unmarshal(data, &file); {
	case err != nil, file.OAuth.AccessToken == "": // the decoder's error may quote the file
		return nil, nil, errors.New(notALogin)
	case file.OAuth.ExpiresAt > 0 && now.After(time.UnixMilli(file.OAuth.ExpiresAt)):
		return nil, nil, errExpired
	}
	return map[string]string{a.token: file.OAuth.AccessToken}, nil, nil
}

// codexAccess returns Codex's file without the token that renews it. A login by a key has none.
func codexAccess(_ machineAccount, data []byte, now time.Time) (map[string]string, []byte, error) {
	var file map[string]any
	if json.Unmarshal(data, &file) != nil {
		return nil, nil, errors.New(notALogin)
	}
	tokens, ok := file["tokens"].(map[string]any)
	if !ok {
		if key, _ := file["OPENAI_API_KEY"].(string); key == "" {
			return nil, nil, errors.New(notALogin)
		}
		return nil, data, nil
	}
	access, _ := tokens["access_token"].(string)
	switch end := expiry(access); {
	case access == "":
		return nil, nil, errors.New(notALogin)
	case !end.IsZero() && now.After(end):
		return nil, nil, errExpired
	}
	tokens["refresh_token"] = "" // the field is required
	file["last_refresh"] = now.UTC().Format(time.RFC3339)
	data, err := json.Marshal(file)
	return nil, data, err
}

// expiry returns when a JSON Web Token expires, the zero value if it does not say.
func expiry(token string) time.Time {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct {
		Exp int64 `json:"exp"`
	}
	if err != nil || json.Unmarshal(payload, &claims) != nil || claims.Exp <= 0 {
		return time.Time{}
	}
	return time.Unix(claims.Exp, 0)
}

// MachineLogin returns the machine's own login for agents of a kind. Ok is false if none can be known of, or if
// the kind's file has a preset of that name. The error says why there is none, and how to log in.
func MachineLogin(p Profile, configDir string) (preset Preset, ok bool, err error) {
	_, names, _ := Presets(p, configDir)
	if slices.Contains(names, Login) {
		return Preset{}, false, nil
	}
	return p.ofMachine(Login)
}
