package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFullDisk fills the disk of an embedded queue while a run goes on. The run ends, with the cause, and goes on when
// there is room again.
func TestFullDisk(t *testing.T) {
	if !enclosed(t, 0) {
		return
	}
	for _, tt := range []struct{ name, fill string }{
		{"by results", ""}, // up to the limit of the server
		{"by others", "head -c 38000000 /dev/zero > %s/other; "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := newProject(t, nil)
			disk := filepath.Join(dir, ".llman", "sdd-eval", "queue")
			if tt.fill != "" {
				tt.fill = fmt.Sprintf(tt.fill, disk)
			}
			files := playbook(8, map[string]string{"a": "kind: fake-acp, args: [agent.json]"})
			files["agent.json"] = fmt.Sprintf(`{"turns": [{"actions": [{"exec": {"command": "sh",
  "args": ["-c", "%shead -c 6000000 /dev/urandom > data"]}}]}]}`, tt.fill)
			for name, text := range files {
				require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
			}
			require.NoError(t, os.MkdirAll(disk, 0o755))
			require.NoError(t, syscall.Mount("none", disk, "tmpfs", 0, "size=40m"))
			t.Cleanup(func() { require.NoError(t, syscall.Unmount(disk, syscall.MNT_DETACH)) })
			run := func(args ...string) (int, string, string) {
				return do(t, child(t.Context(), "scale", dir, append([]string{"run"}, args...)...))
			}

			code, out, said := run("p.yaml", "--lease", "4s")
			require.Equal(t, exitHarness, code, "%s%s", out, said)
			require.Contains(t, said, "the queue has no room, as its disk is full or its limit is reached")
			next := regexp.MustCompile(`(?m)^next: sdd-eval-scale run --resume (\S+)$`).FindStringSubmatch(said)
			require.NotNil(t, next, said)

			bytes, err := exec.Command("mount", "-o", "remount,size=400m", disk).CombinedOutput()
			require.NoError(t, err, "%s", bytes)
			code, out, said = run("--resume", next[1])
			require.Equal(t, exitOK, code, "%s%s", out, said)
			require.Contains(t, said, "8 of 8 units done")
		})
	}
}
