package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/llm"
)

// childEnv makes this test binary act as the command that with-model runs.
const childEnv = "WITH_MODEL_TEST_CHILD"

func TestMain(m *testing.M) {
	if what := os.Getenv(childEnv); what != "" {
		os.Exit(child(what))
	}
	os.Exit(m.Run())
}

// child does what the test asks for.
func child(what string) (code int) {
	fmt.Println("presets:", os.Getenv("LLMAN_CONFIG_DIR"))
	switch what {
	case "exit":
		return 7
	case "hang":
		time.Sleep(time.Minute)
		return 0
	case "judge":
		config, err := llm.FromEnvironment(os.Getenv)
		if err == nil {
			var reply llm.Reply
			reply, err = llm.New(config).Complete(context.Background(), llm.Request{Model: "m", User: "hello"})
			fmt.Println("judge:", reply.Text)
		}
		if err != nil {
			fmt.Println(err)
			return 8
		}
		return 0
	}
	preset, err := agent.Resolve("claude-code-acp", "loopback", "")
	if err != nil {
		fmt.Println(err)
		return 8
	}
	body := fmt.Sprintf(`{"max_tokens": 9, "tools": [{"name": "Bash"}], "messages": [{"role": "user", "content": %q}]}`,
		what)
	r, err := http.Post(preset.Env["ANTHROPIC_BASE_URL"]+"/v1/messages", "application/json", strings.NewReader(body))
	if err != nil {
		fmt.Println(err)
		return 8
	}
	defer r.Body.Close()
	fmt.Println("status:", r.StatusCode, "endpoint:", preset.Endpoint)
	return 0
}

// with runs with-model, with this test binary as the command, which does what is asked.
func with(ctx context.Context, t *testing.T, what string) (code int, stdout, stderr string) {
	t.Helper()
	scripts := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(scripts, "a.yaml"),
		[]byte("prompt: ^hello\nscripts: {claude: {offers: Bash, turns: [{say: Hi.}]}}\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(scripts, "b.yaml"),
		[]byte("prompt: ^hello\njudges: {m: {saw: hello, say: Good.}}\n"), 0o600))
	t.Setenv(childEnv, what)
	t.Setenv("LLMAN_CONFIG_DIR", "/the/user's/own")
	t.Setenv("OPENAI_BASE_URL", "http://192.0.2.1/the-users-own")
	self, err := os.Executable()
	require.NoError(t, err)
	var out, errOut bytes.Buffer
	code = run(ctx, []string{"-scripts", scripts, "-latency", "0", "--", self}, &out, &errOut)
	dir, _, _ := strings.Cut(strings.TrimPrefix(out.String(), "presets: "), "\n")
	require.NotContains(t, dir, "own")
	if dir != "" {
		assert.NoDirExists(t, dir, "the presets are left behind")
	}
	return code, out.String(), errOut.String()
}

func TestWithModel(t *testing.T) {
	tests := []struct {
		name, what     string
		code           int
		stdout, stderr string
	}{
		{name: "good", what: "hello", stdout: "status: 200 endpoint: scripted"},
		{name: "who asks a model to judge", what: "judge", stdout: "judge: Good."},
		{name: "the command's exit code", what: "exit", code: 7},
		{
			name: "a request without a script", what: "bye", code: 1, stdout: "status: 400",
			stderr: "with-model: the scripted model could not answer all requests:\n" +
				"POST /v1/messages: no script matches the prompt \"bye\" with the tools Bash\n",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			code, stdout, stderr := with(t.Context(), t, test.what)
			assert.Equal(t, test.code, code)
			assert.Contains(t, stdout, test.stdout)
			assert.Equal(t, test.stderr, stderr)
		})
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	code, _, stderr := with(ctx, t, "hang")
	assert.Equal(t, exitInterrupted, code)
	assert.Equal(t, "with-model: interrupted\n", stderr)
}

func TestUsage(t *testing.T) {
	const usage = "usage: with-model -scripts DIR -- COMMAND [ARG...]\n"
	none := filepath.Join(t.TempDir(), "none")
	tests := []struct {
		name   string
		args   []string
		code   int
		stderr string
	}{
		{name: "no scripts", args: []string{"--", "true"}, code: exitUsage, stderr: usage},
		{name: "no command", args: []string{"-scripts", "x"}, code: exitUsage, stderr: usage},
		{name: "unknown flag", args: []string{"-x"}, code: exitUsage, stderr: usage},
		{name: "help", args: []string{"-help"}, stderr: usage},
		{
			name: "no such directory", args: []string{"-scripts", none, "true"}, code: exitUsage,
			stderr: "with-model: read scripts: ",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var stderr bytes.Buffer
			assert.Equal(t, test.code, run(t.Context(), test.args, nil, &stderr))
			assert.Contains(t, stderr.String(), test.stderr)
		})
	}
}
