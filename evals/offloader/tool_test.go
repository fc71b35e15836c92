// Package offloader tests a skill in three layers: the command-line tool by itself, in here; that an agent uses the
// skill, in skill.yaml; and a whole piece of work over several prompts, in workflow.yaml. docs/layers.md explains them.
package offloader

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/clitest"
)

const question = "What is the capital of France?"

// reply is what a query prints.
type reply struct {
	Answer  string `json:"answer"`
	Cached  bool   `json:"cached"`
	Session string `json:"session_id"`
	Millis  int64  `json:"ms"`
}

// failure is what is printed instead, whatever goes wrong.
type failure struct {
	Error struct {
		Kind    string `json:"kind"`
		Message string `json:"message"`
	} `json:"error"`
}

// Exit codes of the tool.
const (
	exitFailed  = 1
	exitUsage   = 2
	exitMissing = 3
	exitAuth    = 4
	exitTimeout = 5
)

// offloader returns the tool with these arguments.
func offloader(t *testing.T, args ...string) *clitest.Cmd {
	t.Helper()
	return clitest.Command(t, clitest.Build(t, "../../fixtures/offloader/workspace/cmd/offloader"), args...)
}

// standIn builds our own gemini.
func standIn(t *testing.T) string {
	t.Helper()
	return clitest.Build(t, "../../fixtures/offloader/gemini")
}

// TestGemini runs the tool with gemini-cli, and with our own in its place: that is there always.
func TestGemini(t *testing.T) {
	t.Parallel()
	t.Run("stand-in", func(t *testing.T) {
		t.Parallel()
		testGemini(t, clitest.MinimalPath(t, standIn(t)), time.Second)
	})
	t.Run("gemini-cli", func(t *testing.T) {
		t.Parallel()
		cli := clitest.Require(t, "../../fixtures/agents/node_modules/.bin/gemini", []string{"--version"}, time.Minute)
		testGemini(t, clitest.MinimalPath(t, cli, "node"), 6*time.Second)
	})
}

// testGemini tests the tool where path leads to a gemini, which has had time to ask the model after hangs.
func testGemini(t *testing.T, path string, hangs time.Duration) {
	m := startModel(t)
	env := func(key string) []string {
		return []string{"PATH=" + path, "GOOGLE_GEMINI_BASE_URL=" + m.URL, "GEMINI_API_KEY=" + key}
	}

	t.Run("asks-once", func(t *testing.T) {
		t.Parallel()
		var first, second reply
		cmd := offloader(t, "query", question)
		cmd.Env = env(goodKey)
		cmd.Run().JSON(&first)
		cmd.Run().JSON(&second)
		assert.Equal(t, "Paris.", first.Answer)
		assert.False(t, first.Cached)
		assert.Len(t, first.Session, len("123e4567-e89b-42d3-a456-426614174000"))
		assert.Equal(t, reply{Answer: first.Answer, Cached: true, Session: first.Session, Millis: second.Millis},
			second)
		assert.EqualValues(t, 1, m.asked.Load(), "the second answer comes from the cache")

		var sessions struct {
			Sessions []map[string]any `json:"sessions"`
		}
		offloader(t, "sessions", "list").Run().JSON(&sessions)
		require.Len(t, sessions.Sessions, 1)
		assert.Equal(t, first.Session, sessions.Sessions[0]["session_id"])
		assert.Equal(t, question, sessions.Sessions[0]["question"])
	})

	failures := []struct {
		name, key, kind string
		exitCode        int
		message         string
	}{
		{name: "no-account", key: "", kind: "auth", exitCode: exitAuth, message: "auth method"},
		{name: "bad-key", key: badKey, kind: "auth", exitCode: exitAuth, message: "api key not valid"},
		{name: "model-hangs", key: hangsKey, kind: "timeout", exitCode: exitTimeout, message: "and was killed"},
	}
	for _, tt := range failures {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			limit := time.Minute // gemini-cli takes seconds to start
			if tt.kind == "timeout" {
				limit = hangs
			}
			cmd := offloader(t, "query", "--timeout", limit.String(), question)
			cmd.Env, cmd.ExitCode, cmd.Timeout = env(tt.key), tt.exitCode, limit+time.Minute
			var f failure
			cmd.Run().JSON(&f)
			assert.Equal(t, tt.kind, f.Error.Kind)
			assert.Contains(t, strings.ToLower(f.Error.Message), tt.message)
			assert.Eventually(t, func() bool { return m.waiting.Load() == 0 }, time.Minute, 10*time.Millisecond,
				"gemini lives")
		})
	}
}

// TestArguments: what cannot be understood is JSON, too.
func TestArguments(t *testing.T) {
	tests := []struct {
		name    string
		args    []string
		message string
	}{
		{name: "nothing", message: "usage: offloader query"},
		{name: "no-question", args: []string{"query"}, message: "there is no question"},
		{name: "blank-question", args: []string{"query", " \n"}, message: "there is no question"},
		{name: "unknown-command", args: []string{"ask", question}, message: "usage: offloader query"},
		{
			name: "unknown-flag", args: []string{"query", "--modle", "x", question},
			message: "flag provided but not defined: -modle",
		},
		{name: "sessions-of-what", args: []string{"sessions"}, message: "usage: offloader query"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cmd := offloader(t, tt.args...)
			cmd.ExitCode = exitUsage
			var f failure
			cmd.Run().JSON(&f)
			assert.Equal(t, "usage", f.Error.Kind)
			assert.Contains(t, f.Error.Message, tt.message)
		})
	}
}

// TestNoSessions: an empty list is a list.
func TestNoSessions(t *testing.T) {
	require.JSONEq(t, `{"sessions": []}`, offloader(t, "sessions", "list").Run().Stdout)
}

// TestBrokenSession: what was kept and cannot be read is told, and not left out.
func TestBrokenSession(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, "sessions", "0123.json")
	require.NoError(t, os.Mkdir(filepath.Dir(file), 0o700))
	require.NoError(t, os.WriteFile(file, []byte(`{"session_id": "5e55`), 0o600))
	cmd := offloader(t, "sessions", "list")
	cmd.Env, cmd.ExitCode = []string{"OFFLOADER_HOME=" + home}, exitFailed
	var f failure
	cmd.Run().JSON(&f)
	assert.Equal(t, "failed", f.Error.Kind)
	assert.Contains(t, f.Error.Message, file)
}

// TestMissing: where there is no gemini, the tool says what to install.
func TestMissing(t *testing.T) {
	cmd := offloader(t, "query", question)
	cmd.Env, cmd.ExitCode = []string{"PATH=" + clitest.MinimalPath(t)}, exitMissing
	var f failure
	cmd.Run().JSON(&f)
	assert.Equal(t, "missing", f.Error.Kind)
	assert.Equal(t, "gemini is not in PATH; npm install -g @google/gemini-cli installs it", f.Error.Message)
}

// TestWaitsForATerminal: a gemini that waits for somebody to log in is reported within its timeout, and nothing
// survives it: once by the tool, which has a timeout of its own, and once by clitest.
func TestWaitsForATerminal(t *testing.T) {
	t.Parallel()
	gemini := standIn(t)
	t.Run("tool", func(t *testing.T) {
		waiting := listen(t)
		cmd := offloader(t, "query", "--timeout", "3s", question)
		cmd.Env = []string{"PATH=" + clitest.MinimalPath(t, gemini), "GEMINI_WAITS=" + waiting.Addr().String()}
		cmd.ExitCode = exitTimeout
		r := cmd.Run()
		var f failure
		r.JSON(&f)
		assert.Equal(t, "timeout", f.Error.Kind)
		nobodyWaits(t, waiting)
	})
	t.Run("clitest", func(t *testing.T) {
		waiting := listen(t)
		cmd := clitest.Command(t, gemini, "--prompt", question)
		cmd.Env = []string{"GEMINI_WAITS=" + waiting.Addr().String()}
		cmd.Timeout, cmd.ExitCode = 3*time.Second, clitest.AnyEnd
		r := cmd.Run()
		assert.True(t, r.TimedOut)
		assert.Contains(t, r.Stderr, "open this page in your browser")
		nobodyWaits(t, waiting)
	})
}

func listen(t *testing.T) *net.TCPListener {
	t.Helper()
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// nobodyWaits expects that gemini and its child were there, and are gone.
func nobodyWaits(t *testing.T, l *net.TCPListener) {
	t.Helper()
	soon := time.Now().Add(time.Minute)
	require.NoError(t, l.SetDeadline(soon))
	for range 2 {
		conn, err := l.Accept()
		require.NoError(t, err)
		require.NoError(t, conn.SetReadDeadline(soon))
		_, err = conn.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.EOF, "the process at the other end lives")
		require.NoError(t, conn.Close())
	}
}
