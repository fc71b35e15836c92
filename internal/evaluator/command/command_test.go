package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/command"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/script"
)

// parse returns the evaluator with those keys, from a playbook with more lines.
func parse(keys string, more ...string) (plan.Evaluator, error) {
	text := strings.Join(append([]string{
		"task: {title: t, prompt: p}",
		"variants: {v: {style: sdd, agent: {kind: acp, command: agent}}}",
		"workflow: {jobs: {j: {strategy: {matrix: {variant: [v]}}, steps: [{uses: builtin:sdd-eval/acp.prompt}]}}}",
		"evaluators: [{type: command, " + keys + "}]",
	}, more...), "\n")
	pb, err := plan.Parse("p.yaml", []byte(text), plan.Kinds{"command": command.Kind()})
	if err != nil {
		return plan.Evaluator{}, err
	}
	return pb.Evaluators[0], nil
}

// work is a workspace as an agent may have left it.
var work = map[string]string{
	"go.mod": "module work\ngo 1.26\n",
	"main.go": "package main\nimport (\n\"fmt\"\n\"os\")\nfunc main() { fmt.Println(\"out\"); " +
		"fmt.Fprintln(os.Stderr, \"err\"); os.Exit(3) }\n",
	".env":              "A=1",
	".git/config":       "x",
	"node_modules/m.js": "x",
	"write.js": "const fs = require('fs'); fs.writeFileSync('new.txt', 'x'); for (const f of ['.env', " +
		"'.git/config', 'node_modules/m.js', 'main.go']) fs.appendFileSync(f, 'y')",
	"sub/where.js": "console.log(require('path').basename(process.cwd()));" +
		"if (process.argv[2]) { console.error('at work'); setTimeout(() => {}, 60000) }",
	"print.js": "const [, , out, n, err, m, code] = process.argv; process.stdout.write(out.repeat(n));" +
		"process.stderr.write(err.repeat(m)); process.exitCode = +code",
	"kill.js":            "process.kill(process.pid, 'SIGKILL')",
	"sleep.js":           "setTimeout(() => {}, 60000)",
	"sub/node_modules/x": "x",
}

func input(t *testing.T) evaluator.Input {
	sandbox, err := confine.New(confine.None, nil)
	require.NoError(t, err)
	workspace := t.TempDir()
	for name, text := range work {
		path := filepath.Join(workspace, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return evaluator.Input{
		Run: &trajectory.Run{}, Workspace: workspace,
		Scripts: &script.Runner{Sandbox: sandbox, Environ: os.Environ(), Root: t.TempDir(), TempDir: t.TempDir()},
	}
}

func TestEvaluate(t *testing.T) {
	tests := []struct {
		name, keys string
		outcome    result.Outcome
		score      float64
		reason     string
	}{
		{"exit code 0", "run: node sub/where.js", result.Pass, 1, ""},
		{"another exit code", "run: go run .", result.Fail, 0, "go run . ends with exit code 0: exit code 1"},
		{"expected exit code", "run: node -e process.exit(3), exit_code: 3", result.Pass, 1, ""},
		{
			"output", "run: node -p 1+1, stdout: {equals: '2', contains: '2', matches: '(?m)^2$', not_contains: '3'}",
			result.Pass, 1, "",
		},
		{
			"other output", "run: node -p 1+1, stdout: {equals: '3', contains: '2'}", result.Fail, 2.0 / 3,
			`stdout equals "3": it does not`,
		},
		{
			"standard error", "run: node -e console.error(7), stderr: {contains: '7'}, stdout: {equals: ''}",
			result.Pass, 1, "",
		},
		{
			"exit code and output", "run: node -e process.exit(4), stdout: {equals: ''}", result.Fail, 1.0 / 2,
			"node -e process.exit(4) ends with exit code 0: exit code 4",
		},
		{"cwd", "run: node where.js, cwd: sub, stdout: {equals: sub}", result.Pass, 1, ""},
		{"no such cwd", "run: node where.js, cwd: none", result.Error, 0, "cwd: the workspace has no directory none"},
		{"it may write", "run: node write.js", result.Pass, 1, ""},
		{
			"killed by a signal", "run: node kill.js", result.Fail, 0,
			"node kill.js ends with exit code 0: killed by SIGKILL",
		},
		{
			"timeout", "run: node sleep.js, timeout: 300ms", result.Error, 0,
			"script node sleep.js: it did not end within its timeout of 300ms",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, err := parse(tt.keys)
			require.NoError(t, err)
			in := input(t)
			v := evaluator.Judge(t.Context(), e, in)
			require.Equal(t, tt.outcome, v.Outcome, v.Reason)
			assert.Equal(t, tt.reason, v.Reason)
			if tt.outcome == result.Error {
				assert.Nil(t, v.Score)
			} else {
				assert.InDelta(t, tt.score, *v.Score, 1e-9)
			}
			for name, text := range work {
				got, err := os.ReadFile(filepath.Join(in.Workspace, filepath.FromSlash(name)))
				require.NoError(t, err)
				assert.Equal(t, text, string(got), "the workspace stays as the agent left it")
			}
			assert.NoFileExists(t, filepath.Join(in.Workspace, "new.txt"))
			assert.Equal(t, evaluator.NeedsWorkspace|evaluator.NeedsDir|evaluator.StartsChild,
				e.Config.(evaluator.Evaluator).Needs())
			left, err := os.ReadDir(in.Scripts.TempDir)
			require.NoError(t, err)
			assert.Empty(t, left, "nothing is left")
		})
	}
}

// TestShown holds what people see of the checks: the end of an output that is long.
func TestShown(t *testing.T) {
	const ends = "run: node print.js "
	tests := []struct{ name, keys, reason, detail string }{
		{
			"exit code", ends + "1 1 2 1 4", "ends with exit code 0", "exit code 4\nstdout:\n1\nstderr:\n2",
		},
		{
			"lines", "run: node -p 12, exit_code: 4", "ends with exit code 4",
			"exit code 0\nstdout:\n12\nstderr is empty",
		},
		{"no output", ends + "1 0 2 0 4", "ends with exit code 0", "exit code 4\nstdout is empty\nstderr is empty"},
		{
			"long output", ends + "é 1001 2 0 0, stdout: {contains: y}", `stdout contains "y"`,
			"it does not\nstdout:\n..." + strings.Repeat("é", 1000),
		},
		{
			"very long output", ends + "éx 1001 2 0 0, stdout: {contains: y}", `stdout contains "y"`,
			"it does not\nstdout:\n...x" + strings.Repeat("éx", 666),
		},
		{
			"output at the limit", ends + "x 2000 2 0 0, stdout: {contains: y}", `stdout contains "y"`,
			"it does not\nstdout:\nx",
		},
		{
			"text that should not be there", "run: node -p 12, stdout: {not_contains: '2'}",
			`stdout does not contain "2"`, "it does not\nstdout:\n12",
		},
		{"standard error", ends + "1 0 7 1 0, stderr: {matches: '8'}", `stderr matches "8"`, "stderr:\n7"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, err := parse(tt.keys)
			require.NoError(t, err)
			v := evaluator.Judge(t.Context(), e, input(t))
			require.Equal(t, result.Fail, v.Outcome, v.Reason)
			assert.Contains(t, v.Reason, tt.reason)
			lines := strings.Split(v.Detail, "\n")
			for i := range lines {
				lines[i] = strings.TrimSpace(lines[i])
			}
			assert.Contains(t, strings.Join(lines, "\n")+"\n", tt.detail)
		})
	}
}

// TestCutStderr holds that nothing is said of a standard error of which a part is unknown.
func TestCutStderr(t *testing.T) {
	const run = "run: node print.js 1 0 x 2000000 0"
	e, err := parse(run + ", stderr: {not_contains: y}")
	require.NoError(t, err)
	v := evaluator.Judge(t.Context(), e, input(t))
	assert.Equal(t, result.Error, v.Outcome)
	assert.Contains(t, v.Reason, "wrote more to its standard error than is kept")
	e, err = parse(run)
	require.NoError(t, err)
	v = evaluator.Judge(t.Context(), e, input(t))
	assert.Equal(t, result.Pass, v.Outcome, "nobody asks about it: %s", v.Reason)
}

// TestErrors holds what is no verdict on the agent.
func TestErrors(t *testing.T) {
	tests := []struct {
		name, keys, reason, detail string
		change                     func(*evaluator.Input)
	}{
		{
			name: "no scripts", reason: "commands cannot be run here",
			change: func(in *evaluator.Input) { in.Scripts = nil },
		},
		{name: "no workspace", reason: "no workspace", change: func(in *evaluator.Input) { in.Workspace = "" }},
		{
			name: "workspace gone", reason: "copy the workspace: ",
			change: func(in *evaluator.Input) { in.Workspace += "/gone" },
		},
		{
			name: "no place for a copy", reason: "copy the workspace: ",
			change: func(in *evaluator.Input) { in.Scripts.TempDir += "/gone" },
		},
		{name: "cwd is a file", keys: ", cwd: go.mod", reason: "cwd: the workspace has no directory go.mod"},
		{
			name: "timeout", keys: " 1, timeout: 6s", reason: "it did not end within its timeout", detail: "at work",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, err := parse("run: node sub/where.js" + tt.keys)
			require.NoError(t, err)
			in := input(t)
			temp := in.Scripts.TempDir
			if tt.change != nil {
				tt.change(&in)
			}
			v := evaluator.Judge(t.Context(), e, in)
			assert.Equal(t, result.Error, v.Outcome)
			assert.Contains(t, v.Reason, tt.reason)
			assert.Contains(t, v.Detail, tt.detail)
			left, err := os.ReadDir(temp)
			require.NoError(t, err)
			assert.Empty(t, left, "nothing is left")
		})
	}
}

// A program that is not there says nothing about the agent.
func TestMissingProgram(t *testing.T) {
	e, err := parse("run: just test")
	require.NoError(t, err)
	in := input(t)
	in.Scripts.Environ = []string{"PATH=" + t.TempDir()}
	v := evaluator.Judge(t.Context(), e, in)
	assert.Equal(t, result.Error, v.Outcome)
	assert.Contains(t, v.Reason, "script just test")
	assert.Contains(t, v.Reason, "not found")
}

// What the playbook allows, it allows here, too.
func TestAllowedByThePlaybook(t *testing.T) {
	_, err := parse("run: tofu plan", "sandbox: {allow_commands: [tofu]}")
	require.NoError(t, err)
}

func TestDecodeErrors(t *testing.T) {
	tests := []struct{ name, keys, want string }{
		{"no command", "cwd: .", "`evaluators[0].run` is required"},
		{"shell", "run: 'go test | cat'", "evaluators[0].run: character 9: \"|\": shell operators are not supported"},
		{"not allowed", "run: sh x.sh", `command "sh" is not allowed: use one of`},
		{"relative program", "run: ./go test", "must be a name or an absolute path"},
		{"placeholder", "run: 'go test ${{ case.id }}'", "placeholders are not supported here"},
		{"leads out", "run: go test, cwd: ../x", "evaluators[0].cwd: \"../x\" must be a directory below the workspace"},
		{"absolute", "run: go test, cwd: /x", "must be a directory below the workspace"},
		{"expects nothing", "run: go test, stdout: {}", "evaluators[0].stdout"},
		{
			"expression of anything", "run: go test, stderr: {matches: 'x*'}",
			"evaluators[0].stderr.matches: matches every text",
		},
		{
			"bad expression", "run: go test, stderr: {matches: '('}",
			"evaluators[0].stderr.matches: error parsing regexp",
		},
		{"misspelt", "run: go test, stdout: {contain: x}", `did you mean "contains"`},
		{"exit code", "run: go test, exit_code: -1", "must be at least 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parse(tt.keys)
			require.ErrorContains(t, err, tt.want)
		})
	}
}
