package agent

import (
	"encoding/json"
	"fmt"
)

// openCodeFiles returns OpenCode's configuration, which it looks for in ~/.config/opencode. What opencode.json in the workspace
// says wins over it.
func openCodeFiles(p Preset) ([]File, error) {
	config := map[string]any{
		"autoupdate": false,
		"share":      "disabled",
		// Without it OpenCode asks for nothing, and a playbook's permissions decide nothing.
		"permission": map[string]string{"edit": "ask", "bash": "ask", "webfetch": "ask"},
	}
	if p.provider != nil {
		const id = "preset"
		models := make(map[string]any)
		for _, m := range p.provider.Models {
			models[m] = struct{}{}
		}
		options := map[string]string{"baseURL": p.provider.BaseURL}
		if p.provider.EnvKey != "" {
			options["apiKey"] = "{env:" + p.provider.EnvKey + "}"
		}
		config["model"] = id + "/" + p.provider.Models[0]
		config["small_model"] = config["model"] // for titles
		config["enabled_providers"] = []string{id}
		config["provider"] = map[string]any{id: map[string]any{
			"npm": "@ai-sdk/openai-compatible", "name": p.provider.Name, "options": options, "models": models,
		}}
	}
	data, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write OpenCode's configuration: %w", err)
	}
	return []File{{Path: ".config/opencode/opencode.json", Data: append(data, '\n')}}, nil
}
