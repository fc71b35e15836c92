package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSparse holds that a file that is nearly all hole keeps nobody waiting, and that a secret in it is masked.
func TestSparse(t *testing.T) {
	t.Parallel()
	l := newLeaky(t)
	l.write("claude-code.toml", "[groups.mine]\nSERVICE_TOKEN = \"a-value-that-nobody-may-see\"\n", 0o600)
	l.write("agent", "#!/bin/sh\nexec fake-acp \"$@\"\n", 0o755)
	l.write("script.json", `{"turns": [{"actions": [{"exec": {"command": "sh", "args": ["-c",
		"printf %s $SERVICE_TOKEN | dd of=big bs=1M seek=5000000 2>/dev/null; truncate -s 12T big"]}}]}]}`, 0o644)
	text := strings.NewReplacer("VARIANT", "a", "COMMAND", filepath.Join(l.outside, "agent"), "SCRIPT",
		filepath.Join(l.outside, "script.json"), "STEPS\n", "").Replace(leakyPlaybook)
	require.NoError(t, os.WriteFile(filepath.Join(l.dir, "p.yaml"), []byte(text), 0o644))
	said, code := l.run("run", "--playbook", "p.yaml", "--sandbox", "none")
	require.Equal(t, 3, code, said)
	require.Contains(t, said, "leak: ")
	require.Contains(t, said, "big: SERVICE_TOKEN at offset 5242880000000")
	info, err := os.Stat(filepath.Join(runs(t, l.dir)[0], "variants", "a", "workspace", "big"))
	require.NoError(t, err)
	require.Greater(t, info.Size(), int64(11<<40), "the rest is there")
}
