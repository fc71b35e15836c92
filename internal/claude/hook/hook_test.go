package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/capture"
	"github.com/sdd-eval/sdd-eval/internal/claude"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/secret"
	"github.com/sdd-eval/sdd-eval/internal/testkit/soak"
)

var noon = time.Date(2026, 1, 31, 12, 0, 0, 5, time.UTC)

// ran is the result of a hook.
type ran struct {
	code           int
	stdout, stderr string
}

// run runs a hook with these variables, "NAME=value" each.
func run(t *testing.T, phase claude.Phase, policy Policy, stdin io.Reader, environ ...string) ran {
	t.Helper()
	var stdout, stderr bytes.Buffer
	env := make(map[string]string)
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		env[name] = value
	}
	secrets := new(secret.Set)
	secrets.AddEnvironment(environ)
	code := Hook{
		Phase: phase, Policy: policy, Stdin: stdin, Stdout: &stdout, Stderr: &stderr, Dir: t.TempDir(),
		Getenv: func(name string) string { return env[name] }, Now: func() time.Time { return noon }, Secrets: secrets,
	}.Run()
	return ran{code, stdout.String(), stderr.String()}
}

// payloadOf returns what Claude Code gives a hook: the fields that it always does, and more, given as pairs.
func payloadOf(t *testing.T, phase claude.Phase, pairs ...any) io.Reader {
	t.Helper()
	p := map[string]any{
		"session_id": "s1", "transcript_path": "/t.jsonl", "cwd": "/work", "permission_mode": "default",
		"hook_event_name": phase.Event(), "tool_name": "Read", "tool_input": map[string]any{"file_path": "/work/a.go"},
		"tool_use_id": "t1",
	}
	for i := 0; i < len(pairs); i += 2 {
		p[pairs[i].(string)] = pairs[i+1]
	}
	data, err := json.MarshalIndent(p, "", "\t")
	require.NoError(t, err)
	return bytes.NewReader(data)
}

// lines returns the lines of a file, decoded.
func lines(t *testing.T, file string) []map[string]any {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var all []map[string]any
	for line := range bytes.Lines(data) {
		var m map[string]any
		require.NoError(t, json.Unmarshal(line, &m), string(line))
		all = append(all, m)
	}
	return all
}

func TestRunWritesLines(t *testing.T) {
	file := filepath.Join(t.TempDir(), "deep", "er", "calls.jsonl")
	env := VariableCapture + "=" + file
	require.Equal(t, ran{},
		run(t, claude.Pre, Policy{}, payloadOf(t, claude.Pre, "phase", "theirs", "new_field", []int{1}), env))
	require.Equal(t, ran{},
		run(t, claude.Post, Policy{},
			payloadOf(t, claude.Post, "tool_name", "Bash", "duration_ms", 7, "tool_use_id", "t2",
				"tool_response", map[string]any{"stdout": "<a>", "interrupted": false}), env))
	require.Equal(t, ran{},
		run(t, claude.Failure, Policy{}, payloadOf(t, claude.Failure, "tool_name", "Bash", "error", "Exit code 3\nno"),
			env))
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, strings.Join([]string{
		`{"timestamp":"2026-01-31T12:00:00.000000005Z","phase":"pre","cwd":"/work","hook_event_name":"PreToolUse",` +
			`"new_field":[1],` +
			`"permission_mode":"default","payload_phase":"theirs","session_id":"s1",` +
			`"tool_input":{"file_path":"/work/a.go"},` +
			`"tool_name":"Read","tool_use_id":"t1","transcript_path":"/t.jsonl"}`,
		`{"timestamp":"2026-01-31T12:00:00.000000005Z","phase":"post","cwd":"/work","duration_ms":7,` +
			`"hook_event_name":"PostToolUse",` +
			`"permission_mode":"default","session_id":"s1","tool_input":{"file_path":"/work/a.go"},` +
			`"tool_name":"Bash",` +
			`"tool_response":{"interrupted":false,"stdout":"\u003ca\u003e"},"tool_use_id":"t2",` +
			`"transcript_path":"/t.jsonl",` +
			`"tool_output":{"interrupted":false,"stdout":"\u003ca\u003e"},"exit_code":0,"error":null}`,
		`{"timestamp":"2026-01-31T12:00:00.000000005Z","phase":"failure","cwd":"/work","error":"Exit code 3\nno",` +
			`"hook_event_name":"PostToolUseFailure","permission_mode":"default","session_id":"s1",` +
			`"tool_input":{"file_path":"/work/a.go"},` +
			`"tool_name":"Bash","tool_use_id":"t1","transcript_path":"/t.jsonl","tool_output":null,"exit_code":3,` +
			`"duration_ms":null}`,
		"",
	}, "\n"), string(got))
	c, err := capture.Read(file)
	require.NoError(t, err)
	require.Equal(t, []string{"Bash", "Read"}, c.Tools(), "the agent says that Bash ran for 7 ms")
}

func TestExitCode(t *testing.T) {
	tests := []struct {
		name     string
		phase    claude.Phase
		tool     string
		response string
		error    string
		want     any
	}{
		{name: "ok", phase: claude.Post, tool: "Bash", response: `{"stdout":""}`, want: 0},
		{
			name: "a code that is taken for a success", phase: claude.Post, tool: "Bash",
			response: `{"stdout":"","returnCodeInterpretation":"No matches found"}`,
		},
		{name: "in the background", phase: claude.Post, tool: "Bash", response: `{"stdout":"","backgroundTaskId":"b"}`},
		{name: "interrupted", phase: claude.Post, tool: "Bash", response: `{"stdout":"","interrupted":true}`},
		{name: "unknown response", phase: claude.Post, tool: "Bash", response: `"text"`},
		{name: "no response", phase: claude.Post, tool: "Bash"},
		{name: "no command", phase: claude.Post, tool: "Read", response: `{"stdout":""}`},
		{name: "failed", phase: claude.Failure, tool: "Bash", error: `"Exit code 127\nnot found"`, want: 127},
		{name: "failed without a code", phase: claude.Failure, tool: "Bash", error: `"timed out"`},
		{name: "a code of no digits", phase: claude.Failure, tool: "Bash", error: `"Exit code x"`},
		{name: "a number", phase: claude.Failure, tool: "Bash", error: `"127"`},
		{name: "too large", phase: claude.Failure, tool: "Bash", error: `"Exit code 99999999999999999999"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := payload{Tool: tt.tool, Response: json.RawMessage(tt.response), Error: json.RawMessage(tt.error)}
			got := p.exitCode(tt.phase)
			if tt.want == nil {
				require.Nil(t, got)
				return
			}
			require.NotNil(t, got)
			require.Equal(t, tt.want, *got)
		})
	}
}

func TestPlaces(t *testing.T) {
	project, elsewhere := t.TempDir(), t.TempDir()
	const calls = "tool-calls.jsonl"
	tests := []struct {
		name    string
		environ []string
		want    string // the file; empty: nothing is written
		errors  string // what the file beside it says
	}{
		{name: "no test", environ: []string{"TEST_RUN_ID=r1", "CLAUDE_PROJECT_DIR=" + project}},
		{name: "not true", environ: []string{"TEST_MODE=false", "TEST_RUN_ID=r1", "CLAUDE_PROJECT_DIR=" + project}},
		{
			name: "run", environ: []string{"TEST_MODE=true", "TEST_RUN_ID=r1", "CLAUDE_PROJECT_DIR=" + project},
			want: project + "/test-output/r1/" + calls,
		},
		{
			name: "run in the payload's directory", environ: []string{"TEST_MODE=true", "TEST_RUN_ID=r2"},
			want: elsewhere + "/test-output/r2/" + calls,
		},
		{name: "capture", environ: []string{"EVALTEST_CAPTURE=" + project + "/c"}, want: project + "/c"},
		{
			name:    "capture below the project",
			environ: []string{"EVALTEST_CAPTURE=x/c", "CLAUDE_PROJECT_DIR=" + project}, want: project + "/x/c",
		},
		{
			name:    "capture before run",
			environ: []string{"TEST_MODE=true", "TEST_RUN_ID=../x", "EVALTEST_CAPTURE=" + project + "/d"},
			want:    project + "/d",
		},
		{
			name:    "no id",
			environ: []string{"TEST_MODE=true", "CLAUDE_PROJECT_DIR=" + project + "/none"},
			want:    project + "/none/test-output/" + calls,
			errors:  "TEST_RUN_ID is not set, and neither is EVALTEST_CAPTURE",
		},
		{
			name:    "an id that leads elsewhere",
			environ: []string{"TEST_MODE=true", "TEST_RUN_ID=../up", "CLAUDE_PROJECT_DIR=" + project + "/up"},
			want:    project + "/up/test-output/" + calls, errors: `TEST_RUN_ID: "../up" cannot name a run`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, ran{},
				run(t, claude.Pre, Policy{}, payloadOf(t, claude.Pre, "cwd", elsewhere), tt.environ...))
			switch {
			case tt.want == "":
				require.NoDirExists(t, filepath.Join(project, "test-output"))
			case tt.errors == "":
				require.Len(t, lines(t, tt.want), 1)
				require.NoFileExists(t, tt.want+".errors")
				if before, _, ok := strings.Cut(tt.want, "/test-output/"); ok {
					require.FileExists(t, before+"/test-output/.gitignore")
				}
			default:
				require.NoFileExists(t, tt.want)
				_, err := capture.Read(tt.want)
				require.ErrorContains(t, err, tt.errors)
			}
		})
	}
}

// broken fails like a pipe whose other end is gone.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("the pipe broke") }

func TestErrorsNeverBlock(t *testing.T) {
	deny := Policy{Deny: []Rule{{tool: "*", text: "*"}}}
	tests := []struct {
		name  string
		stdin io.Reader
		want  string
	}{
		{"no standard input", nil, "no standard input"},
		{"unreadable", broken{}, "read standard input: the pipe broke"},
		{"empty", strings.NewReader(""), "the payload is not a JSON object: the text is incomplete"},
		{"not JSON", strings.NewReader("hello"), "the payload is not a JSON object: invalid character"},
		{"an array", strings.NewReader("[]"), "the payload is not a JSON object: this is not a JSON object"},
		{"two", strings.NewReader("{} {}"), "the payload is not a JSON object: text after the object"},
		{
			"cut off", strings.NewReader(`{"tool_name":"Re`),
			"the payload is not a JSON object: the text is incomplete",
		},
		{
			"a name that is no text", strings.NewReader(`{"tool_name":1}`),
			"the payload: tool_name: json: cannot unmarshal number",
		},
		{"a name in other letters", strings.NewReader(`{"Tool_Name":"Read"}`), "the payload has no tool_name"},
		{"no tool", strings.NewReader(`{"tool_use_id":"1"}`), "the payload has no tool_name"},
		{"no id", strings.NewReader(`{"tool_name":"Read"}`), "the payload has no tool_use_id"},
		{
			"another event", payloadOf(t, claude.Post),
			"the payload is for \"PostToolUse\", but `sdd-eval hook pre` handles PreToolUse",
		},
		{"too large", io.LimitReader(endless{}, maxPayload+2), "the payload has more than 16777216 bytes"},
		{"too deep", strings.NewReader(`{"a":` + strings.Repeat("[", 20000)), "the payload is not a JSON object"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "c")
			require.Equal(t, ran{}, run(t, claude.Pre, deny, tt.stdin, "EVALTEST_CAPTURE="+file))
			require.NoFileExists(t, file)
			_, err := capture.Read(file)
			require.ErrorContains(t, err, "pre: "+tt.want)
		})
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func TestLargestPayload(t *testing.T) {
	if soak.Raced() {
		return
	}
	head := `{"tool_name":"Bash","tool_use_id":"1","tool_response":"`
	text := head + strings.Repeat("x", maxPayload-len(head)-2) + `"}`
	p, err := readPayload(strings.NewReader(text), claude.Post)
	require.NoError(t, err)
	line, err := p.line(claude.Post, noon, decision{})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "c")
	require.NoError(t, appendLine(disk.Tree(filepath.Dir(file)), file, line))
	c, err := capture.Read(file)
	require.NoError(t, err)
	require.Len(t, c.Calls[0].Output, maxPayload-len(head)-2)
}

func TestFileCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	require.Equal(t, ran{}, run(t, claude.Pre, Policy{}, payloadOf(t, claude.Pre), "EVALTEST_CAPTURE="+dir))
	_, err := capture.Read(dir)
	require.ErrorContains(t, err, "pre: capture a call of Read: ")
	require.NoError(t, os.Remove(dir+".errors"))

	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	got := run(t, claude.Pre, Policy{}, payloadOf(t, claude.Pre), "EVALTEST_CAPTURE="+file+"/c")
	require.Zero(t, got.code)
	require.Contains(t, got.stderr, "sdd-eval hook: capture a call of Read: ", "neither can the file of errors")
}

// TestModeThatIsNotTrue: only the value true activates hooks; another value that may have been meant to gives a
// warning.
func TestModeThatIsNotTrue(t *testing.T) {
	for _, mode := range []string{"", "0", "false"} {
		require.Equal(t, ran{}, run(t, claude.Pre, Policy{}, payloadOf(t, claude.Pre), VariableMode+"="+mode))
	}
	for _, mode := range []string{"1", "True", "yes", " true"} {
		said := "sdd-eval hook: TEST_MODE is " + strconv.Quote(mode) + ": calls are captured only if it is true\n"
		require.Equal(t, ran{stderr: said},
			run(t, claude.Pre, Policy{}, payloadOf(t, claude.Pre), VariableMode+"="+mode))
	}
	file := filepath.Join(t.TempDir(), "calls.jsonl")
	require.Equal(t, ran{},
		run(t, claude.Pre, Policy{}, payloadOf(t, claude.Pre), VariableMode+"=1", VariableCapture+"="+file))
	require.Len(t, lines(t, file), 1)
}

func TestFaultIsNotSilent(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c")
	h := Hook{
		Phase: claude.Pre, Fault: errors.New("unknown flag --dney"), Stdin: payloadOf(t, claude.Pre),
		Stdout: io.Discard, Stderr: io.Discard,
		Getenv: func(name string) string { return map[string]string{VariableCapture: file}[name] },
		Dir:    t.TempDir(), Now: func() time.Time { return noon },
	}
	require.Zero(t, h.Run())
	c, err := capture.Read(file)
	require.ErrorContains(t, err, "pre: unknown flag --dney")
	require.Len(t, c.Calls, 1)

	h.Stdin = panicking{}
	require.Zero(t, h.Run(), "a process that panics exits with 2, which denies the call")
	_, err = capture.Read(file)
	require.ErrorContains(t, err, "pre: panic: reader")
}

type panicking struct{}

func (panicking) Read([]byte) (int, error) { panic("reader") }

func TestSecretsAreMasked(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c")
	key := "sk-test-" + "not-a-real-key-77"
	deny := Policy{Deny: []Rule{{tool: "*", text: "*"}}}
	input := map[string]any{"command": "A_TOKEN=of-nobody-4711 echo " + key}
	got := run(t, claude.Pre, deny, payloadOf(t, claude.Pre, "tool_input", input),
		"EVALTEST_CAPTURE="+file, "ANTHROPIC_API_KEY="+key)
	require.Equal(t, 2, got.code)
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NotContains(t, string(data)+got.stderr, key)
	require.Contains(t, string(data), "[REDACTED:ANTHROPIC_API_KEY]")
	require.Contains(t, string(data), "A_TOKEN=[REDACTED:key]")
	require.Contains(t, got.stderr, "[REDACTED:ANTHROPIC_API_KEY]")
}

func TestTornLineIsClosed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c")
	require.NoError(t, os.WriteFile(file, []byte(`{"timestamp":"20`), 0o644))
	require.Equal(t, ran{}, run(t, claude.Pre, Policy{}, payloadOf(t, claude.Pre), "EVALTEST_CAPTURE="+file))
	c, err := capture.Read(file)
	require.ErrorContains(t, err, ":1: ")
	require.Equal(t, []string{"Read"}, c.Tools(), "what follows the torn line is whole")
}

func TestTarget(t *testing.T) {
	target := Target{RunID: "r", Project: "/p", Capture: "/c/calls.jsonl"}
	require.Equal(t,
		[]string{"TEST_MODE=true", "TEST_RUN_ID=r", "CLAUDE_PROJECT_DIR=/p", "EVALTEST_CAPTURE=/c/calls.jsonl"},
		target.Environment())
}

func FuzzLine(f *testing.F) {
	f.Add([]byte(`{"tool_name":"Bash","tool_use_id":"1","tool_input":{"command":"ls"},"error":"Exit code ` +
		`2","phase":1,"a":1,"a":2}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, phase := range claude.Phases {
			p, err := parsePayload(data, phase)
			if err != nil {
				continue
			}
			line, err := p.line(phase, noon, decision{})
			if err != nil || bytes.ContainsRune(line, '\n') || !json.Valid(line) {
				t.Fatalf("%v: %q", err, line)
			}
			d, err := Policy{
				Deny:    []Rule{{tool: "Read", pattern: "a/**"}},
				Rewrite: []Rewrite{{rule: Rule{tool: "*"}, field: "x", filler: "{old}"}},
			}.
				decide(newCall(p, ""))
			if err == nil && d.input != nil && !json.Valid(d.input) {
				t.Fatalf("%q", d.input)
			}
		}
	})
}

// A link in the agent's project does not lead calls elsewhere.
func TestCaptureFollowsNoLink(t *testing.T) {
	for _, link := range []string{"test-output", "test-output/r", "test-output/r/tool-calls.jsonl"} {
		project, outside := t.TempDir(), t.TempDir()
		path := filepath.Join(project, filepath.FromSlash(link))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		target := outside
		if strings.HasSuffix(link, "l") {
			target = filepath.Join(outside, "new")
		}
		require.NoError(t, os.Symlink(target, path))
		tree, file, output, err := captureFile(func(name string) string {
			return map[string]string{VariableRunID: "r", VariableProject: project}[name]
		}, project)
		require.NoError(t, err)
		h := Hook{tree: tree, output: output, Secrets: new(secret.Set)}
		require.ErrorContains(t, h.append(file, []byte("{}")), "is a symbolic link", link)
		entries, err := os.ReadDir(outside)
		require.NoError(t, err)
		require.Empty(t, entries, link)
	}
}
