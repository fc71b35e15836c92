package modelserver

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/agent"
)

// TestPresets resolves what WritePresets writes.
func TestPresets(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, WritePresets(dir, "http://127.0.0.1:1"))
	for _, profile := range agent.Profiles() {
		if profile.PresetFile == "" {
			continue
		}
		p, err := agent.Resolve(profile.Kind, preset, dir)
		require.NoError(t, err)
		assert.Equal(t, agent.Scripted, p.Endpoint)
		launch, err := profile.Launch("", nil, p)
		require.NoError(t, err)
		var said strings.Builder
		for name, value := range launch.Env {
			fmt.Fprintln(&said, name, value)
		}
		for _, f := range launch.Files {
			said.Write(f.Data)
		}
		assert.Contains(t, said.String(), "http://127.0.0.1:1", "%s is not pointed at the server", profile.Kind)
		assert.Contains(t, said.String(), key, "%s has no key", profile.Kind)
	}
}
