package agent

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/environ"
)

// decodeGroup reads files in which each key of [groups.NAME] is a variable, but for those that all presets have.
func decodeGroup(f presetFile, name string) (Preset, error) {
	t, err := f.table("groups", name)
	if err != nil {
		return Preset{}, err
	}
	return t.group(name)
}

// decodeClaude is decodeGroup for claude-code.toml, whose groups once had other keys.
func decodeClaude(f presetFile, name string) (Preset, error) {
	t, err := f.table("groups", name)
	if err != nil {
		return Preset{}, err
	}
	t.rename("api_host", "ANTHROPIC_BASE_URL")
	t.rename("api_key", "ANTHROPIC_AUTH_TOKEN")
	return t.group(name)
}

// group takes the keys of a group.
func (t *table) group(name string) (Preset, error) {
	p := t.common(name)
	p.Env = t.variables()
	t.checkSecret(p)
	t.checkCredentials(p.Env)
	if len(p.Env) == 0 && len(p.files) == 0 && p.authMethod == nil && len(t.errs) == 0 {
		return Preset{}, fmt.Errorf("%s: [%s] sets no variable and has no `files`, so the agent cannot log in",
			t.position(t.path...), t.name())
	}
	return p, t.err()
}

// rename gives a key its name of today.
func (t *table) rename(old, today string) {
	v, ok := t.take(old)
	if !ok {
		return
	}
	if _, both := t.entries[today]; both {
		t.fail(old, "is the old name of "+today+", which the preset sets too; remove one of them")
		return
	}
	t.entries[today] = v
	if t.renamed == nil {
		t.renamed = make(map[string]string)
	}
	t.renamed[today] = old
}

// commonKeys are the keys that presets of all kinds may have, besides variables and those of a provider.
var commonKeys = []string{"endpoint", "secret", "files", "write_back", "auth_method"}

// common takes the commonKeys.
func (t *table) common(name string) Preset {
	p := Preset{Name: name, Endpoint: Real, Secret: t.texts("secret")}
	switch t.text("endpoint") {
	case "", Real:
	case Scripted:
		p.Endpoint = Scripted
	default:
		t.fail("endpoint", `must be "`+Real+`" or "`+Scripted+`"`)
	}
	slices.Sort(p.Secret)
	p.Secret = slices.Compact(p.Secret)
	if _, ok := t.entries["auth_method"]; ok {
		p.authMethod = &authMethod{t.text("auth_method"), t.position(t.key("auth_method")...)}
	}
	writeBack, hasWriteBack := t.flag("write_back")
	files := t.table("files")
	p.files = files.accountFiles(writeBack)
	t.errs = append(t.errs, files.errs...)
	if hasWriteBack && len(p.files) == 0 {
		t.fail("write_back", "is about `files`, and the preset has none")
	}
	return p
}

// accountFiles takes all keys as files for the agent's home.
func (t *table) accountFiles(writeBack bool) []accountFile {
	var files []accountFile
	for _, key := range slices.Sorted(maps.Keys(t.entries)) {
		reason := unfitPath(key)
		from, isText := t.entries[key].(string)
		t.text(key)
		switch {
		case !isText:
		case reason != "":
			t.fail(key, reason)
		case from == "":
			t.fail(key, "must name the file to copy")
		case strings.HasPrefix(from, "~") && !strings.HasPrefix(from, "~/"):
			t.fail(key, "names another user's home: write an absolute path")
		}
		for _, f := range files {
			if overlap(key, f.Path) {
				t.fail(key, fmt.Sprintf("is the path of %q too", f.Path))
			}
		}
		files = append(files, accountFile{
			at:   t.position(t.key(key)...),
			File: File{Path: key, From: from, WriteBack: writeBack},
		})
	}
	return files
}

// checkSecret reports names of secrets that are not variables of p.
func (t *table) checkSecret(p Preset) {
	for _, s := range p.Secret {
		if _, ok := p.Env[s]; !ok {
			t.fail("secret", "names a variable that the preset does not set")
		}
	}
}

// checkCredentials reports empty keys and tokens, unless another one is not empty: an empty ANTHROPIC_API_KEY beside an
// ANTHROPIC_AUTH_TOKEN says which of them counts.
func (t *table) checkCredentials(env map[string]string) {
	var empty []string
	for _, name := range slices.Sorted(maps.Keys(env)) {
		switch credential := strings.HasSuffix(name, "_KEY") || strings.HasSuffix(name, "_TOKEN"); {
		case credential && env[name] != "":
			return
		case credential:
			empty = append(empty, name)
		}
	}
	for _, name := range empty {
		t.fail(name, "is empty, so the agent cannot log in")
	}
}

// provider is a model provider in the configuration of Codex or OpenCode.
type provider struct {
	Name, BaseURL, EnvKey string
	// Own are the keys of Codex's own, as they are written, and of OpenCode none.
	Own map[string]any
	// Models are for OpenCode, which does not know the models of other providers.
	Models []string
}

// decodeCodex reads codex.toml, whose providers are those of Codex. One without an address and a key is no provider of
// its own: Codex uses OpenAI's, under the account in the preset's files.
func decodeCodex(f presetFile, name string) (Preset, error) {
	return decodeProvider(f, name, func(t *table, p *Preset) {
		wireAPI := t.text("wire_api")
		own := t.foreign("name", "base_url", "wire_api", "env_key", "env", "llman_configs")
		account := own["requires_openai_auth"] == true
		switch {
		case p.provider.BaseURL == "" && p.provider.EnvKey == "" && wireAPI == "" && len(own) == 0:
			p.provider = nil
			if len(p.files) == 0 && p.authMethod == nil && len(t.entriesOf("env")) == 0 {
				t.fail("base_url", "is required, unless `files` has the account, such as .codex/auth.json")
			}
			return
		case p.provider.BaseURL == "" && !account:
			t.fail("base_url", "is required with other keys of a provider, unless `requires_openai_auth = true`")
		}
		if wireAPI != "" {
			own["wire_api"] = wireAPI
		}
		p.provider.Own = own
		p.masked = maskedIn(own)
		if strings.ContainsAny(p.provider.BaseURL, "?@") {
			p.masked["base_url"] = p.provider.BaseURL
		}
	})
}

// decodeOpenCode reads opencode.toml, whose providers have models. A preset that has but files leaves the provider to
// OpenCode.
func decodeOpenCode(f presetFile, name string) (Preset, error) {
	return decodeProvider(f, name, func(t *table, p *Preset) {
		p.provider.Models = t.texts("models")
		if p.provider.BaseURL == "" && p.provider.EnvKey == "" && p.provider.Models == nil && len(p.files) > 0 {
			p.provider = nil
			return
		}
		const required = "is required, unless `files` has the account, such as .local/share/opencode/auth.json"
		if len(p.provider.Models) == 0 {
			t.fail("models", required)
		}
		if p.provider.BaseURL == "" {
			t.fail("base_url", required)
		}
	})
}

// decodeProvider reads a file with providers in [model_providers.NAME], and their variables in
// [model_providers.NAME.env]. own takes the keys that only one kind of agent has.
func decodeProvider(f presetFile, name string, own func(*table, *Preset)) (Preset, error) {
	t, err := f.table("model_providers", name)
	if err != nil {
		return Preset{}, err
	}
	t.take("llman_configs") // llman's own
	p := t.common(name)
	p.provider = &provider{Name: cmp.Or(t.text("name"), name), BaseURL: t.text("base_url"), EnvKey: t.text("env_key")}
	own(t, &p)
	env := t.table("env")
	p.Env = env.variables()
	env.checkCredentials(p.Env)
	t.checkSecret(p)
	t.done()
	t.errs = append(t.errs, env.errs...)
	return p, t.err()
}

// foreign takes the keys that are not known, as they are: they are another program's, which knows them. A key that
// looks like a known one is left, as a mistake.
func (t *table) foreign(known ...string) map[string]any {
	keys := make(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(t.entries)) {
		switch hint := doc.DidYouMean(key, append(known, commonKeys...)); {
		case slices.Contains(known, key):
		case hint != "":
			t.fail(key, "unknown key"+hint)
			delete(t.entries, key)
		default:
			keys[key], _ = t.take(key)
		}
	}
	return keys
}

// maskedIn returns the texts in a provider's keys that may be secrets, by names for them.
func maskedIn(own map[string]any) map[string]string {
	masked := make(map[string]string)
	add := func(name, value string) {
		masked[name] = value
		if scheme, token, ok := strings.Cut(value, " "); ok && slices.Contains(authSchemes, strings.ToLower(scheme)) {
			masked[name+"_token"] = token
		}
	}
	for key, value := range own {
		text, ok := value.(string)
		if ok && environ.IsCredential(key, text) && !strings.Contains(text, " ") { // or it is for people
			add(key, text)
		}
	}
	for _, key := range []string{"http_headers", "query_params"} {
		values, _ := own[key].(map[string]any)
		for name, value := range values {
			if text, ok := value.(string); ok {
				add(key+"_"+strings.ReplaceAll(name, "-", "_"), text)
			}
		}
	}
	return masked
}

// authSchemes begin the values of headers that have a token.
var authSchemes = []string{"bearer", "basic", "token"}
