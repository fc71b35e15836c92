//go:build oracle

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/testkit/modelserver"
)

// judged answers a request of a judge, the original's or ours: a criterion that says so is not met.
func judged(w http.ResponseWriter, r *http.Request, body []byte) bool {
	if r.URL.Path == "/v1/chat/completions" {
		id, holds := "good", true
		if bytes.Contains(body, []byte("This cannot hold")) {
			id, holds = "bad", false
		}
		said := fmt.Sprintf(`{"checks":[{"id":%q,"pass":%t,"reason":"So it is."}],"reason":"So it is."}`, id, holds)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"c","object":"chat.completion","model":"scripted","choices":[{"index":0,`+
			`"finish_reason":"stop","message":{"role":"assistant","content":%q}}]}`, said)
		return true
	}
	if !bytes.Contains(body, []byte("Respond with exactly one word")) {
		return false
	}
	word := "PASS"
	if bytes.Contains(body, []byte("This cannot hold")) {
		word = "FAIL"
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range []string{
		`{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"m","content":[],` +
			`"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
		fmt.Sprintf(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%q}}`, word),
		`{"type":"content_block_stop","index":0}`,
		`{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":1}}`,
		`{"type":"message_stop"}`,
	} {
		var kind struct{ Type string }
		_ = json.Unmarshal([]byte(e), &kind)
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind.Type, e)
	}
	return true
}

// TestOracle has Claude Code's own command, which SDD_EVAL_CLAUDE names, and ours run the same evals while the same
// script answers as the model. UPDATE_GOLDEN=1 writes what both came to, and our recordings.
func TestOracle(t *testing.T) {
	claude := os.Getenv("SDD_EVAL_CLAUDE")
	require.FileExists(t, claude, "SDD_EVAL_CLAUDE names the program: make test-oracle installs it")
	bin := t.TempDir()
	require.NoError(t, os.Symlink(claude, filepath.Join(bin, "claude")))
	build := exec.Command("go", "build", "-o", filepath.Join(bin, "sdd-eval"), "../../cmd/sdd-eval")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	for _, o := range readOracles(t) {
		t.Run(o.name(), func(t *testing.T) { o.ask(t, bin) })
	}
}

// ask runs both tools.
func (o oracle) ask(t *testing.T, bin string) {
	scripts := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(scripts, "model.yaml"), []byte(o.text("model.yaml")), 0o600))
	model, err := modelserver.Load(scripts)
	require.NoError(t, err)
	script, err := modelserver.New(model)
	require.NoError(t, err)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(http.MaxBytesReader(w, r.Body, 32<<20))
		if judged(w, r, body) {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		script.ServeHTTP(w, r)
	}))
	defer server.Close()
	presets := t.TempDir()
	require.NoError(t, modelserver.WritePresets(presets, server.URL))
	dir, home := o.unpack(t), t.TempDir()
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "plugin/evals/.sdd-eval")))
	run := func(name string, args ...string) (code int) {
		t.Helper()
		ctx := t.Context()
		cmd := exec.CommandContext(ctx, filepath.Join(bin, name), args...)
		cmd.WaitDelay = 10 * time.Second
		cmd.Dir = dir
		cmd.Env = append([]string{
			"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + home,
			"ANTHROPIC_BASE_URL=" + server.URL, "ANTHROPIC_API_KEY=sk-test-not-a-key", "IS_SANDBOX=1",
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1",
			"EVALTEST_RECORD_IN_CI=1",
		}, modelserver.Environ(server.URL)...)
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Logf("%s %s: %v\n%s", name, strings.Join(args, " "), err, said) // a fail is what is compared
		}
		return cmd.ProcessState.ExitCode()
	}
	original := filepath.Join(t.TempDir(), "original.json")
	theirCode := run("claude", append([]string{
		"plugin", "eval", "plugin", "--trust-plugin", "--no-publish", "--json", original,
	}, o.flags("original")...)...)
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "plugin/evals/results")))
	code := run("sdd-eval", append([]string{
		"run", "--from", "plugin", "--mode", "record", "--agent", "claude-cli/loopback", "--config-dir", presets,
	}, o.flags("ours")...)...)
	if err := script.Err(); err != nil {
		t.Logf("model: %v", err)
	}
	data, err := os.ReadFile(original)
	require.NoError(t, err)
	theirs := append(verdicts(t, data), exited(theirCode))
	if os.Getenv("UPDATE_GOLDEN") == "" {
		require.Equal(t, strings.TrimSpace(o.text("original")), strings.Join(theirs, "\n"))
	} else {
		o.keep(t, dir, theirs)
	}
	o.agree(t, theirs, ours(t, dir, code))
}

// keep writes the archive anew.
func (o oracle) keep(t *testing.T, dir string, original []string) {
	kept := slices.DeleteFunc(slices.Clone(o.archive.Files), func(f txtar.File) bool {
		return f.Name == "original" || strings.HasPrefix(f.Name, "plugin/evals/.sdd-eval/")
	})
	kept = append(kept, txtar.File{Name: "original", Data: []byte(strings.Join(original, "\n") + "\n")})
	cassettes, err := filepath.Glob(filepath.Join(dir, "plugin/evals/.sdd-eval/cassettes/*/*/*"))
	require.NoError(t, err)
	for _, file := range cassettes {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		name, err := filepath.Rel(dir, file)
		require.NoError(t, err)
		kept = append(kept, txtar.File{Name: filepath.ToSlash(name), Data: data})
	}
	o.archive.Files = kept
	require.NoError(t, os.WriteFile(o.file, txtar.Format(o.archive), 0o644))
}
