package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/cmd/sdd-eval-scale/internal/unit"
	"github.com/sdd-eval/sdd-eval/internal/cli"
	"github.com/sdd-eval/sdd-eval/internal/helper"
	"github.com/sdd-eval/sdd-eval/internal/helper/program"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
)

// asMain has the test's program be one of ours: what is behind it.
const asMain = "SDD_EVAL_SCALE_TEST_AS"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == helper.Word {
		program.Main(os.Args[2:])
	}
	as := os.Getenv(asMain)
	if as != "" {
		helper.Self()
	}
	switch {
	case len(os.Args) > 1 && os.Args[1] == unit.Word, as == "scale":
		main()
	case as == "sdd-eval":
		os.Exit(cli.Main())
	case as == "server":
		serveForever()
	}
	os.Exit(m.Run())
}

// child returns a command of a program of ours that is not started.
func child(ctx context.Context, as, dir string, args ...string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Dir = dir
	for _, kv := range os.Environ() {
		switch name, _, _ := strings.Cut(kv, "="); name {
		case "CI", "CLAUDE_PROJECT_DIR", "TEST_RUN_ID": // of whoever runs the tests
		default:
			if !strings.HasPrefix(name, "EVAL") {
				cmd.Env = append(cmd.Env, kv)
			}
		}
	}
	cmd.Env = append(cmd.Env, asMain+"="+as, "EVALTEST_SANDBOX=none", "GORACE=atexit_sleep_ms=0")
	return cmd
}

// do runs a command and returns its exit code and what it wrote.
func do(t *testing.T, cmd *exec.Cmd) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		require.NoError(t, err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// newProject makes a directory with these files.
func newProject(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	// A project's root of its own, wherever the directory is.
	require.NoError(t, os.MkdirAll(filepath.Join(dir, ".git"), 0o755))
	out, err := exec.Command("git", "init", "-q", dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return dir
}

const steps = `
workflow:
  jobs:
    before: {steps: [{run: git --version}]}
    eval:
      needs: [before]
      strategy: {matrix: {variant: [good, bad, missing]}}
      steps:
        - uses: builtin:sdd-eval/workspace.prepare
        - uses: builtin:sdd-eval/acp.prompt
        - run: git grep --no-index --quiet hello -- hello.txt
    report: {needs: [eval], steps: [{uses: builtin:sdd-eval/report.generate}]}
`

// mixed is a playbook whose units pass, fail and end in errors.
var mixed = map[string]string{
	"README.md": "# A shop\n",
	"good.json": `{"turns": [{"actions": [{"disk_write": {"path": "hello.txt", "text": "hello\n"}}]}]}`,
	"bad.json":  `{"turns": [{"actions": [{"disk_write": {"path": "hello.txt", "text": "bye\n"}}]}]}`,
	"evals/mixed.yaml": `name: mixed
cases: [{id: one, prompt: Say hello.}, {id: two, prompt: Say it again.}]
trials: {count: 2}
variants:
  good: {agent: {kind: fake-acp, args: [../good.json]}}
  bad: {agent: {kind: fake-acp, args: [../bad.json]}}
  missing: {agent: {kind: acp, command: no-such-agent}}
` + steps,
}

// results returns the lines of a run's results without times, ids and what the machine used.
func results(t *testing.T, dir string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, rundir.ResultsFile))
	require.NoError(t, err)
	var lines []string
	for line := range strings.Lines(string(data)) {
		var v map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &v))
		same, err := json.Marshal(withoutTimes(v))
		require.NoError(t, err)
		lines = append(lines, string(same))
	}
	return lines
}

func withoutTimes(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if strings.HasSuffix(key, "_ms") || strings.HasSuffix(key, "_at") || key == "run_id" || key == "machine" {
				delete(v, key)
				continue
			}
			v[key] = withoutTimes(value)
		}
	case []any:
		for i := range v {
			v[i] = withoutTimes(v[i])
		}
	case string:
		return runID.ReplaceAllString(v, "RUN")
	}
	return v
}

var runID = regexp.MustCompile(`\d{8}-\d{6}-[a-z]+-[a-z0-9]{8}`)

// tree returns the paths of files below a run's directory.
func tree(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			name, _ := filepath.Rel(dir, path)
			names = append(names, runID.ReplaceAllString(name, "RUN"))
		}
		return err
	}))
	return names
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// TestEmbedded runs a playbook here and by an embedded queue: the directories of both have the same in them.
func TestEmbedded(t *testing.T) {
	dir := newProject(t, mixed)
	code, out, text := do(t, child(t.Context(), "sdd-eval", dir, "run", "evals/mixed.yaml"))
	require.Equal(t, 3, code, text)
	here := lastLine(out)
	code, out, text = do(t, child(t.Context(), "scale", dir, "run", "--parallel", "3", "evals/mixed.yaml"))
	require.Equal(t, 3, code, text)
	fetched := lastLine(out)
	require.Contains(t, text, "12 of 12 units done, 0 running, 0 waiting")
	require.Empty(t, cmp.Diff(results(t, here), results(t, fetched)))
	require.Empty(t, cmp.Diff(tree(t, here), tree(t, fetched)))
	require.Equal(t, outcomes(t, here), outcomes(t, fetched))

	code, out, text = do(t, child(t.Context(), "sdd-eval", dir, "report", filepath.Base(fetched)))
	require.Equal(t, 3, code, text+out) // as the run
	code, out, _ = do(t, child(t.Context(), "scale", dir, "status"))
	require.Equal(t, 0, code)
	require.Equal(t, filepath.Base(fetched)+"  evals/mixed.yaml  complete\n", out)
	code, _, text = do(t, child(t.Context(), "scale", dir, "fetch", filepath.Base(fetched)))
	require.Equal(t, 3, code)
	require.Contains(t, text, "is there already")

	// What the queue and the workers had of it is removed.
	code, _, text = do(t, child(t.Context(), "scale", dir, "remove", filepath.Base(fetched)))
	require.Equal(t, 0, code, text)
	code, _, text = do(t, child(t.Context(), "scale", dir, "status", filepath.Base(fetched)))
	require.Equal(t, 2, code)
	require.Contains(t, text, "the queue has no such run")
	entries, err := os.ReadDir(filepath.Join(dir, ".llman", "sdd-eval", "queue"))
	require.NoError(t, err)
	for _, e := range entries {
		require.Contains(t, []string{".gitignore", "store"}, e.Name())
	}
}

// outcomes returns the outcomes of a run's units, by its report.
func outcomes(t *testing.T, dir string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "report.json"))
	require.NoError(t, err)
	var report struct {
		Units []struct {
			Unit    string `json:"unit"`
			Outcome string `json:"outcome"`
		} `json:"units"`
	}
	require.NoError(t, json.Unmarshal(data, &report))
	m := make(map[string]string)
	for _, r := range report.Units {
		m[r.Unit] = r.Outcome
	}
	require.NotEmpty(t, m)
	return m
}

// fields returns some of the keys of a JSON file in a run's directory.
func fields(t *testing.T, dir, name string, keys ...string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
	var all map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(data, &all))
	some := make(map[string]string)
	for _, key := range keys {
		some[key] = string(all[key])
	}
	return some
}

// TestSelection: the queue runs the units that sdd-eval run does by the same flags, and its directory says so.
func TestSelection(t *testing.T) {
	dir := newProject(t, mixed)
	flags := []string{"evals/mixed.yaml", "--case", "one", "--variant", "good,bad"}
	code, out, text := do(t, child(t.Context(), "sdd-eval", dir, append([]string{"run"}, flags...)...))
	require.Equal(t, 1, code, text)
	here := lastLine(out)
	code, out, text = do(t, child(t.Context(), "scale", dir, append([]string{"run"}, flags...)...))
	require.Equal(t, 1, code, text)
	require.Contains(t, text, "4 of 12 units selected (--case one --variant good,bad)")
	fetched := lastLine(out)
	require.Len(t, results(t, fetched), 4)
	require.Empty(t, cmp.Diff(results(t, here), results(t, fetched)))
	of := []string{"selection", "cases", "variants", "units", "sandbox"}
	require.Equal(t, fields(t, here, "manifest.json", of...), fields(t, fetched, "manifest.json", of...))
}

// TestJobsBefore: a worker carries out the jobs before the units once, and units that need one that failed are skipped.
func TestJobsBefore(t *testing.T) {
	there := t.TempDir()
	dir := newProject(t, map[string]string{"p.yaml": `name: p
task: {prompt: Say hello.}
trials: {count: 5}
variants: {a: {agent: {kind: fake-acp}}}
sandbox: {allow_commands: [sh]}
workflow:
  jobs:
    before: {steps: [{run: sh -c "echo once >> ` + there + `/ran; test ! -e ` + there + `/broken"}]}
    eval:
      needs: [before]
      strategy: {matrix: {variant: [a]}}
      steps: [{uses: builtin:sdd-eval/workspace.prepare}, {uses: builtin:sdd-eval/acp.prompt}]
`})
	ran := filepath.Join(there, "ran")
	code, out, text := do(t, child(t.Context(), "scale", dir, "run", "--parallel", "3", "p.yaml"))
	require.Equal(t, 0, code, text)
	require.Len(t, results(t, lastLine(out)), 5)
	data, err := os.ReadFile(ran)
	require.NoError(t, err)
	require.Equal(t, "once\n", string(data))
	jobs, err := os.ReadFile(filepath.Join(lastLine(out), "jobs.jsonl"))
	require.NoError(t, err)
	require.Equal(t, 1, bytes.Count(jobs, []byte("\n")), "%s", jobs)

	require.NoError(t, os.WriteFile(filepath.Join(there, "broken"), nil, 0o600))
	code, out, text = do(t, child(t.Context(), "sdd-eval", dir, "run", "p.yaml"))
	require.Equal(t, 1, code, text)
	here := results(t, lastLine(out))
	code, out, text = do(t, child(t.Context(), "scale", dir, "run", "--parallel", "3", "p.yaml"))
	require.Equal(t, 1, code, text)
	require.Empty(t, cmp.Diff(here, results(t, lastLine(out))))
	require.Contains(t, text, "5 skipped")
}

// TestSandbox: what a worker has measured of the sandbox is what its units say that confined them.
func TestSandbox(t *testing.T) {
	dir := newProject(t, mixed)
	var said []string
	for _, as := range []string{"sdd-eval", "scale"} {
		cmd := child(t.Context(), as, dir, "run", "evals/mixed.yaml", "--variant", "good", "--case", "one")
		cmd.Env = append(cmd.Env, "EVALTEST_SANDBOX=auto")
		code, out, text := do(t, cmd)
		require.Equal(t, 0, code, text)
		said = append(said, fields(t, lastLine(out), "manifest.json", "sandbox")["sandbox"])
	}
	require.Equal(t, said[0], said[1])
	require.NotContains(t, said[1], "none")
}

// TestRefused: what cannot be run is told before anything is in the queue.
func TestRefused(t *testing.T) {
	files := map[string]string{
		".gitignore":       "secret.json\n",
		"secret.json":      mixed["good.json"],
		"evals/mixed.yaml": mixed["evals/mixed.yaml"],
		"good.json":        mixed["good.json"],
		"bad.json":         mixed["bad.json"],
		"evals/hidden.yaml": `name: hidden
task: {prompt_file: ../secret.md}
variants: {a: {agent: {kind: fake-acp}}}
workflow: {jobs: {eval: {strategy: {matrix: {variant: [a]}}, steps: [{uses: builtin:sdd-eval/acp.prompt}]}}}
`,
		"evals/account.yaml": `name: account
task: {prompt: Do it.}
variants: {a: {agent: {kind: claude-code-acp, preset: nobody}}}
workflow: {jobs: {eval: {strategy: {matrix: {variant: [a]}}, steps: [{uses: builtin:sdd-eval/acp.prompt}]}}}
`,
	}
	dir := newProject(t, files)
	outside := filepath.Join(newProject(t, mixed), "evals", "mixed.yaml")
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"run", "--playbook", "evals/none.yaml"}, "evals/none.yaml: no such file or directory\nnext: "},
		{[]string{"run", "--playbook", "evals/hidden.yaml"}, "evals/hidden.yaml:2"},
		{[]string{"run", "--playbook", outside}, "is not below the project's root"},
		{[]string{"run", "--playbook", "evals/mixed.yaml", "--mode", "record"}, "recordings are made on one machine"},
		{
			[]string{"run", "--playbook", "evals/mixed.yaml", "--limit", "claude=3"},
			"the run has no such account: it has fake-acp, acp",
		},
		{[]string{"run", "--playbook", "evals/mixed.yaml", "--limit", "fake-acp"}, "want KIND/PRESET=N"},
		{[]string{"status", "--queue", "me:word@there"}, "--queue there: want embedded or a URL"},
		{[]string{"status", "--queue", "nats://me:word%w@there"}, "queue nats://there: its URL cannot be read"},
		{[]string{"status", "--queue", "nats://me:word,w@there"}, "queue nats://there: its URL cannot be read"},
		{[]string{"run", "--playbook", "evals/mixed.yaml", "--parallel", "0"}, "want a number above 0"},
		{[]string{"run", "--playbook", "evals/mixed.yaml", "--budget-usd", "-1"}, "want US dollars"},
		{[]string{"run", "--playbook", "evals/mixed.yaml", "--case", "three"}, "there is no case \"three\""},
		{[]string{"run", "--playbook", "evals/mixed.yaml", "--sandbox", "jail"}, `unknown kind of sandbox "jail"`},
		{[]string{"run", "--playbook", "evals/mixed.yaml", "--assume-cost", "1"}, "the run has no budget"},
		{[]string{"run", "--playbook", "evals/mixed.yaml", "--mode", "quick"}, `unknown mode "quick"`},
		{[]string{"run", "--resume", "none", "--case", "one"}, "continues a run as it began: remove --case"},
		{[]string{"run", "--resume", "none", "--budget-usd", "9"}, "a run as it began: remove --budget-usd"},
		{[]string{"worker", "--budget-usd", "9"}, "worker: remove --budget-usd: only run takes it"},
		{[]string{"status", "--parallel", "2"}, "status: remove --parallel: only run and worker take it"},
		{[]string{"cancel", "none", "--config-dir", "."}, "--config-dir: only run, worker and fetch take it"},
		{
			[]string{"run", "evals/mixed.yaml", "--queue", "nats://there", "--parallel", "4"},
			"run: remove --parallel: the workers of the queue have one each",
		},
		{[]string{"run"}, "give either --playbook FILE or --resume RUN"},
		{[]string{"run", "--resume", "none"}, "run none: the queue has no such run\nnext: sdd-eval-scale status\n"},
		{[]string{"fetch", "../x"}, "the queue has no such run\nnext: sdd-eval-scale status\n"},
		{[]string{"cancel", "none"}, "the queue has no such run\nnext: sdd-eval-scale status\n"},
		{[]string{"remove", "none"}, "the queue has no such run\nnext: sdd-eval-scale status\n"},
		{[]string{"fetch"}, "give one RUN"},
		{[]string{"worker"}, "must be the URL of a server"},
		{[]string{"go"}, `no command "go"`},
		{nil, "give a command: run, worker, "},
		{[]string{"run", "--no-such-flag"}, "unknown flag: --no-such-flag; sdd-eval-scale help lists them"},
		{[]string{"run", "--playbook", "evals/account.yaml"}, `preset "nobody": `},
	} {
		code, _, text := do(t, child(t.Context(), "scale", dir, tt.args...))
		require.Equal(t, 2, code, "%v: %s", tt.args, text)
		require.Contains(t, text, tt.want, tt.args)
		require.NotContains(t, text, "me:word")
	}
	code, out, _ := do(t, child(t.Context(), "scale", dir, "status"))
	require.Equal(t, 0, code)
	require.Empty(t, out, "nothing is in the queue")

	cmd := child(t.Context(), "scale", dir, "run", "--playbook", "evals/mixed.yaml")
	key := "a-value-" + strings.Repeat("x7", 12)
	cmd.Env = append(cmd.Env, "OPENAI_API_KEY="+key)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("use "+key+"\n"), 0o644))
	code, out, text := do(t, cmd)
	require.Equal(t, 2, code)
	require.Contains(t, text, "notes.txt: it contains the value of OPENAI_API_KEY, and secrets do not travel")
	require.NotContains(t, text+out, key)

	user, err := nkeys.CreateUser()
	require.NoError(t, err)
	seed, err := user.Seed()
	require.NoError(t, err)
	creds := fmt.Sprintf("-----BEGIN NATS USER JWT-----\nx.y.z\n------END NATS USER JWT------\n\n"+
		"-----BEGIN USER NKEY SEED-----\n%s\n------END USER NKEY SEED------\n", seed)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "me.creds"), []byte(creds), 0o600))
	code, _, text = do(t, child(t.Context(), "scale", dir, "run", "evals/mixed.yaml", "--creds", "me.creds"))
	require.Equal(t, 2, code, text)
	require.Contains(t, text, "me.creds: it contains the value of --creds, and secrets do not travel")
	require.NoError(t, os.Remove(filepath.Join(dir, "me.creds")))

	// A project may have many files.
	for i := range 5000 {
		name := fmt.Sprintf("%d-%s", i, strings.Repeat("x", 230))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	code, _, text = do(t, child(t.Context(), "scale", dir, "run", "evals/mixed.yaml", "--case", "three"))
	require.Equal(t, 2, code)
	require.Contains(t, text, `there is no case "three"`)

	code, out, _ = do(t, child(t.Context(), "scale", dir, "help"))
	require.Equal(t, 0, code)
	require.Contains(t, out, "--queue QUEUE")
}

// TestRateLimit: the first agent meets the limit of its account. That is no failure: the account pauses, and then each
// unit has its result. What it cost counts.
func TestRateLimit(t *testing.T) {
	helper.Self()
	p, err := helper.Find()
	require.NoError(t, err)
	there := t.TempDir()
	agent := func(script, text string) string {
		file := filepath.Join(there, script)
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
		return strings.Join(p.Command(helper.Agent, file), " ")
	}
	limited := agent("limited.json",
		`{"turns": [{"actions": [{"usage": {"used": 1, "size": 9, "cost_usd": 3}}],
  "error": {"code": -32603, "message": "API Error: 429, retry after 1s\n::error::a\u001b[2J"}}]}`)
	works := agent("works.json", `{"turns": [{"actions": [{"usage": {"used": 1, "size": 9, "cost_usd": 0.5}}]}]}`)
	program := filepath.Join(there, "agent.sh")
	text := fmt.Sprintf("#!/bin/sh\nif mkdir %s/met 2>/dev/null; then exec %s; fi\nexec %s\n", there, limited, works)
	require.NoError(t, os.WriteFile(program, []byte(text), 0o755))
	dir := newProject(t, map[string]string{"limit.yaml": `name: limit
task: {prompt: Do it.}
trials: {count: 3}
variants: {a: {agent: {kind: acp, command: ` + program + `}}}
workflow:
  jobs:
    eval:
      strategy: {matrix: {variant: [a]}}
      steps: [{uses: builtin:sdd-eval/workspace.prepare}, {uses: builtin:sdd-eval/acp.prompt}]
`})
	run := child(t.Context(), "scale", dir, "run", "limit.yaml", "--limit", "acp=2", "--parallel", "3",
		"--budget-usd", "9")
	code, out, said := do(t, run)
	require.Equal(t, 0, code, said)
	require.Contains(t, said, "rate limit of acp: ")
	id := filepath.Base(lastLine(out))
	require.Len(t, results(t, lastLine(out)), 3)
	code, out, text = do(t, child(t.Context(), "scale", dir, "status", id))
	require.Equal(t, 0, code, text)
	require.Regexp(t, `limit/task/a/[123]: attempt 1 on [^ ]+: limited: .*429, retry after 1s`, out)
	for _, text := range []string{said, out} { // what a model says is no command for a terminal or a CI system
		require.Contains(t, text, `::error::a\x1b[2J`)
		require.NotContains(t, text, "\x1b")
		require.NotRegexp(t, `(?m)^\s*::error`, text)
	}
	require.NotContains(t, out, "failed")
	require.Contains(t, out, "budget: $9.00, of which $4.50 are spent")
}

// serveForever is a server in a process of its own, which keeps its streams in the directory of the first argument, and
// listens at the address of the second one.
func serveForever() {
	host, port, err := net.SplitHostPort(os.Args[2])
	if err != nil {
		panic(err)
	}
	o := &server.Options{Host: host, JetStream: true, StoreDir: os.Args[1], NoLog: true, NoSigs: true}
	if o.Port, err = strconv.Atoi(port); err != nil {
		panic(err)
	}
	s, err := server.NewServer(o)
	if err != nil {
		panic(err)
	}
	s.Start()
	if !s.ReadyForConnections(time.Minute) {
		panic("the server does not start")
	}
	fmt.Println(s.Addr())
	select {}
}
