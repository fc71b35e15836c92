package modelserver

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/pelletier/go-toml/v2"
)

// preset is the name of the presets that point at the model server.
const preset = "loopback"

// key is what agents authenticate with: the server asks for nothing, but agents refuse to start without a key. It is
// put together so that no scanner takes it for a real one.
const key = "sk-test-" + "not-a-key"

// Environ returns the variables by which those who have a model judge ask the server at address.
func Environ(address string) []string {
	return []string{"OPENAI_BASE_URL=" + address + "/v1", "OPENAI_API_KEY=" + key}
}

// WritePresets writes into dir the files with a preset called "loopback" for each kind of agent that has presets; it
// points the agent at the model server at address.
func WritePresets(dir, address string) error {
	claude := map[string]string{
		"endpoint":           "scripted",
		"ANTHROPIC_BASE_URL": address,
		"ANTHROPIC_API_KEY":  key,

		// For gemini, where a skill has Claude run it.
		"GOOGLE_GEMINI_BASE_URL": address,
		"GEMINI_API_KEY":         key,

		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
		"CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION":     "false",
		"DISABLE_AUTOUPDATER":                      "1",
		"DISABLE_ERROR_REPORTING":                  "1",
		"DISABLE_TELEMETRY":                        "1",
	}
	if os.Geteuid() == 0 {
		// Without it Claude refuses the mode bypassPermissions to root.
		claude["IS_SANDBOX"] = "1"
	}
	const loopbackKey = "LOOPBACK_API_KEY"
	codex := map[string]any{
		"endpoint": "scripted",
		"name":     preset,
		"base_url": address + "/v1",
		"wire_api": "responses",
		"env_key":  loopbackKey,
		"env":      map[string]string{loopbackKey: key},
	}
	gemini := map[string]string{"endpoint": "scripted", "GOOGLE_GEMINI_BASE_URL": address, "GEMINI_API_KEY": key}
	openCode := map[string]any{
		"endpoint": "scripted",
		"name":     preset,
		"base_url": address + "/v1",
		"models":   []string{"scripted"},
		"env_key":  loopbackKey,
		"env": map[string]string{
			loopbackKey: key, "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
		},
	}
	for file, content := range map[string]any{
		"claude-code.toml": map[string]any{"groups": map[string]any{preset: claude}},
		"gemini.toml":      map[string]any{"groups": map[string]any{preset: gemini}},
		"opencode.toml":    map[string]any{"model_providers": map[string]any{preset: openCode}},
		"codex.toml":       map[string]any{"model_providers": map[string]any{preset: codex}},
	} {
		data, err := toml.Marshal(content)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, file), data, 0o600)
		}
		if err != nil {
			return fmt.Errorf("write preset: %w", err)
		}
	}
	return nil
}
