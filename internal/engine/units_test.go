package engine_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/convert"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/llm"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/secret"
)

// TestUnit holds how units end whose agents follow a script.
func TestUnit(t *testing.T) {
	t.Parallel()
	const (
		token  = "a-value-that-nobody-may-see"
		theirs = "sk-test-of-a-shop"
	)
	says := func(actions string) string { return `{"turns": [{"actions": [` + actions + `]}]}` }
	key := "AKIA" + "Z7Q2M4N6P8R1T3V5"
	keys := `{"disk_write": {"path": "a.txt", "text": "1\n` + key + `\n"}},
		{"disk_write": {"path": "` + key + `", "text": ""}}, {"say": {"text": "` + key + `"}}`
	const keyPlaces = "[REDACTED:key]; a.txt:2; turn 1, message"
	tests := []struct {
		name, reason string
		mode         engine.Mode // empty: record
		more         string      // of the playbook
		replace      [2]string   // in the playbook
		script       string      // empty: that of wholeScript
		keep         bool
		change       func(*engine.Config)
		environ      string         // what the user has
		outcome      result.Outcome // empty: completed
		says, next   string         // what the reason has, or a warning, and what to do next
		not          string         // what neither has
		cassette     bool           // one was written
	}{
		{name: "recorded", cassette: true, not: "credentials"},
		{name: "live", mode: engine.Live, reason: "nothing is recorded"},
		{
			name: "not prepared", reason: "the agent would work in an empty directory",
			replace: [2]string{"        - uses: builtin:sdd-eval/workspace.prepare\n" +
				"        - run: sh -c 'echo before > " +
				"before.txt; echo changed > dir/run.sh'\n", ""},
			outcome: result.Error, says: "the workspace has not been prepared",
		},
		{
			name: "no source", replace: [2]string{"from: src", "from: none"}, outcome: result.Error,
			says: "workspace.from: ",
		},
		{
			name: "source that is a file", replace: [2]string{"from: src", "from: agent.json"}, outcome: result.Error,
			says: "agent.json is not a directory",
		},
		{
			name: "step that fails", replace: [2]string{"'echo before > before.txt;", "'exit 3;"},
			outcome: result.Fail, says: "exit code 3", not: "credentials",
		},
		{
			name: "secret in a file", script: says(`{"disk_write": {"path": "t", "text": "` + token + `"}}`),
			outcome: result.Error, says: "leak: the workspace holds secrets: t", not: "masked",
		},
		{
			name: "secret in a file that is kept", keep: true,
			script: says(`{"disk_write": {"path": "t", "text": "` + token + `"}}`), outcome: result.Error,
			says: "leak: the workspace holds secrets, masked in the copy that is kept: t",
		},
		{
			name: "secret in a file that a step removes", reason: "the agent had it", keep: true,
			script:  says(`{"disk_write": {"path": "late.txt", "text": "` + token + `"}}`),
			more:    "evaluators: [{type: files, expect: [{path: stock.txt, exists: true}]}]\n",
			outcome: result.Error, says: "leak: the workspace holds secrets",
		},
		{
			name: "secret that is said", script: says(`{"say": {"text": "it is ` + token + `"}}`),
			outcome: result.Error,
			says:    "leak: the session shows the value of TOKEN; no cassette was written",
		},
		{
			name: "secret that is said live", mode: engine.Live, reason: "nobody commits it",
			script: says(`{"say": {"text": "it is ` + token + `"}}`),
		},
		{
			name: "secret in the name of an agent", script: `{"version": "` + token + `", "turns": [{}]}`,
			outcome: result.Error, says: "leak: the session shows",
		},
		{
			name: "secret that a step says", reason: "it is masked",
			replace: [2]string{"late.txt; env'", "late.txt; echo " + token + "; exit 4'"}, outcome: result.Fail,
			says: "[REDACTED:TOKEN]", cassette: true,
		},
		{
			name: "credentials", reason: "ordinary code has such texts",
			script: says(`{"disk_write": {"path": "a.txt", "text": "1\n2\nDB_KEY=0123456789\n"}},
				{"say": {"text": "DB_KEY=0123456789"}}`),
			says: "may hold credentials that nobody has named: a.txt:3; turn 1, message: if one is real", not: "more",
			cassette: true,
		},
		{
			name: "many credentials", script: says(strings.TrimSuffix(strings.Repeat(
				`{"tool": {"name": "Bash", "title": "t", "kind": "execute", "output": "A_KEY=0123456789"}},`, 7), ",")),
			says: "; and 2 more: if one is real", cassette: true,
		},
		{
			name: "keys", script: says(keys), outcome: result.Error,
			says: "leak: the session has what looks like a key of a vendor: " + keyPlaces + "; no cassette was written",
			next: "in a file that it begins with, have it write one that says EXAMPLE, or leave it out of recordings",
		},
		{
			name: "keys in the name of an agent", script: `{"version": "` + key + `", "turns": [{}]}`,
			outcome: result.Error, says: "a key of a vendor: what the agent calls itself",
		},
		{
			name: "keys, live", mode: engine.Live, reason: "nobody commits them", script: says(keys),
			says: "nobody has named: turn 1, message: if one is real",
		},
		{
			name: "keys that are kept", mode: engine.Live, keep: true, reason: "they are judged as the agent left them",
			more:    "evaluators: [{type: files, expect: [{path: a.txt, equals: \"1\\n" + key + "\\n\"}]}]\n",
			outcome: result.Pass, script: says(keys),
			says: "is masked in the copy that is kept: [REDACTED:key]: its name contains key; a.txt: key at offset 2",
		},
		{
			name: "keys of the prompt", script: says(keys), replace: [2]string{"Do it.", "Write " + key},
			not: "credentials", cassette: true,
		},
		{
			name: "keys of a file that it begins with", script: says(keys), not: "credentials", cassette: true,
			replace: [2]string{"echo changed >", "echo " + key + " >"},
		},
		{
			name: "published keys", script: says(strings.ReplaceAll(keys, key, "AKIA"+"IOSFODNN7EXAMPLE")),
			not: "credentials", cassette: true,
		},
		{
			name: "keys that are left out", script: says(keys), cassette: true,
			more: "cassette: {exclude: [a.txt, " + key + "], normalise: [AKIA.*]}\n",
		},
		{
			name: "where no cassette can be", reason: "before the agent does work that would be lost",
			change: func(c *engine.Config) { c.Cassettes = "agent.json" }, outcome: result.Error,
			says: "agent.json",
		},
		{
			name: "a directory in place of the cassette", outcome: result.Error,
			change: func(c *engine.Config) { _ = os.MkdirAll(filepath.Join(c.Root, runnerCassette), 0o755) },
			says:   runnerCassette + " is not a regular file: no cassette can be written there",
		},
		{
			name: "a directory in place of the rehearsal", outcome: result.Error,
			script: says(`{"exec": {"command": "mkdir", "args": ["../rehearsal.jsonl"]}}`),
			says:   "rehearsal.jsonl", not: "cannot be replayed",
		},
		{
			name: "what no cassette keeps", script: says(`{"exec": {"command": "mkfifo", "args": ["pipe"]}}`),
			more:    "evaluators: [{type: files, expect: [{path: pipe, exists: true}]}]\n",
			outcome: result.Error, says: "no cassette was written, because its replay ends differently",
			next: "have the evaluators look at what a recording keeps", not: "the cassette does not keep",
		},
		{
			name: "secret of the user's environment", mode: engine.Live, reason: "the agent reads files of the user's",
			script:  says(`{"disk_write": {"path": "t", "text": "` + theirs + `"}}`),
			environ: "SHOP_TOKEN=" + theirs, outcome: result.Error, says: "leak: the workspace holds secrets: t",
		},
		{
			name: "more than the disk that is allowed", mode: engine.Live, outcome: result.Fail, says: "limit disk",
			more:   "limits: {disk: 4MiB, exceeded: fail}\n",
			script: says(`{"exec": {"command": "sh", "args": ["-c", "head -c 9000000 /dev/zero >big; sleep 30"]}}`),
		},
		{
			name: "own process", more: "cassette: {level: client}\n", outcome: result.Error,
			says: "it works in its own process", next: "write `cassette: {level: run}` in bench.yaml",
		},
		{
			name: "override in vain", mode: engine.Live, keep: true,
			more:    "cassette: {overrides: [{tool: Bash, error: disk full}]}\n",
			outcome: result.Error, says: "the override of Bash was not used", next: "see which calls there were in ",
		},
		{
			name: "override in vain, not kept", mode: engine.Live,
			more:    "cassette: {overrides: [{tool: Bash, error: disk full}]}\n",
			outcome: result.Error, says: "the override of Bash was not used",
			next: "correct the override, or take it away",
		},
		{
			name: "unasked", more: "permissions: {default: reject}\n", outcome: result.Error,
			says: "the agent did what `permissions` forbid, unasked",
		},
		{
			name: "replaced", reason: "a link would lead us elsewhere", keep: true,
			script: says(`{"exec": {"command": "sh",
				"args": ["-c", "cd ..; rm -rf workspace; ln -s /etc workspace"]}}`),
			outcome: result.Error, says: "the agent replaced ",
		},
		{
			name: "refused", script: `{"turns": [{"stop": "refusal"}]}`, outcome: result.Fail, says: "refusal",
			cassette: true,
		},
		{
			name: "refused as expected", script: `{"turns": [{"stop": "refusal"}]}`, more: "expect_stop: [refusal]\n",
			cassette: true,
		},
		{
			name: "files that git ignores", reason: "a cassette does not keep them",
			script:  says(`{"disk_write": {"path": "node_modules/x.txt", "text": "x"}}`),
			more:    "evaluators: [{type: files, expect: [{path: node_modules/x.txt, exists: true}]}]\n",
			outcome: result.Error, says: "node_modules",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{}
			if tt.script != "" {
				files["agent.json"] = tt.script
			}
			root := project(t, files)
			text := strings.Replace(wholePlaybook, "rm late.txt", "rm -f late.txt", 1)
			if tt.replace[0] != "" {
				require.Contains(t, text, tt.replace[0])
				text = strings.Replace(text, tt.replace[0], tt.replace[1], 1)
			}
			temp := t.TempDir()
			runner, unit := newRunner(t, root, text+tt.more, orRecord(tt.mode), unconfined, func(c *engine.Config) {
				c.TempDir, c.Secrets = temp, new(secret.Set)
				c.Secrets.Mark("TOKEN", token)
				if tt.environ != "" {
					c.Environ = append(c.Environ, tt.environ)
				}
				if tt.keep {
					c.Keep = &engine.Keep{Below: root}
				}
				if tt.change != nil {
					tt.change(c)
				}
			})
			var u result.Unit
			if tt.keep {
				sunk := new(sink)
				_, err := runner.Run(t.Context(), sunk)
				_ = err // a leak is told twice
				u = sunk.units[0]
			} else {
				u = runner.Unit(t.Context(), unit, io.Discard)
			}
			want := tt.outcome
			if want == "" {
				want = result.Completed
			}
			var told strings.Builder
			told.WriteString(u.Reason + strings.Join(u.Warnings, "\n"))
			for _, s := range u.Steps {
				told.WriteString(s.Reason + s.Output)
			}
			for _, e := range u.Evaluations {
				told.WriteString(e.Reason)
			}
			require.Equal(t, want, u.Outcome, "%s: %s", tt.reason, told.String())
			require.Contains(t, told.String(), tt.says, tt.reason)
			require.Contains(t, u.Next, tt.next)
			require.NotContains(t, judged(u), token)
			require.Equal(t, strings.Contains(tt.more, "expect_stop"), u.ExpectedAt != "")
			if tt.not != "" {
				require.NotContains(t, told.String(), tt.not, tt.reason)
			}
			if tt.change != nil {
				require.Nil(t, u.Run, "the agent did not start")
			} else {
				require.Equal(t, tt.cassette, cassette.Exists(runner.CassettePath(unit)), tt.reason)
			}
			left, err := os.ReadDir(temp)
			require.NoError(t, err)
			require.Empty(t, left, "what was made for the unit alone is gone")
		})
	}
}

func orRecord(m engine.Mode) engine.Mode {
	if m == "" {
		return engine.Record
	}
	return m
}

// TestAnswered replays recordings that answer an agent which runs.
func TestAnswered(t *testing.T) {
	t.Parallel()
	var reads []string
	for i := range 12 {
		reads = append(reads, fmt.Sprintf(`{"read": {"path": "stock.txt", "line": %d}}`, i+1))
	}
	script := func(actions ...string) string {
		return `{"turns": [{"actions": [` + strings.Join(actions, ",") + `]}]}`
	}
	text := strings.Replace(wholePlaybook, "        - run: sh", "        #", 1) + "cassette: {level: client}\n"
	tests := []struct {
		name, script, more string
		outcome            result.Outcome
		says, not          string
	}{
		{"as recorded", script(reads...), "", result.Completed, "", "reordered"},
		{
			"another order", script(append([]string{reads[11]}, reads[:11]...)...), "", result.Completed, "reordered: ",
			"did not ask",
		},
		{
			"one less", script(reads[:11]...), "", result.Fail,
			"the agent did not ask for all that was recorded (cassette.allow_unused permits it for a tool):\n  ",
			"more",
		},
		{"eleven less", script(reads[:1]...), "", result.Fail, "line=12", "more"},
		{"twelve less", script(`{"say": {"text": "no"}}`), "", result.Fail, "\n  and 2 more", "line=11"},
		{
			"less, which is allowed", script(reads[:1]...), "  allow_unused: [fs/read_text_file]\n", result.Completed,
			"", "did not ask",
		},
	}
	root := project(t, map[string]string{"agent.json": script(reads...)})
	recorder, unit := newRunner(t, root, text, engine.Record, unconfined)
	u := recorder.Unit(t.Context(), unit, io.Discard)
	require.Equal(t, result.Completed, u.Outcome, u.Reason)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(filepath.Join(root, "agent.json"), []byte(tt.script), 0o644))
			text := text
			if tt.more != "" {
				text = strings.Replace(text, "{level: client}", "\n  level: client\n"+tt.more, 1)
			}
			u := replayed(t, root, text)()
			told := u.Reason + strings.Join(u.Warnings, "\n")
			require.Equal(t, tt.outcome, u.Outcome, told)
			require.Contains(t, told, tt.says)
			if tt.not != "" {
				require.NotContains(t, told, tt.not)
			}
			if tt.outcome == result.Fail {
				require.Equal(t, "record bench/task/fake/1", u.Next)
			}
			require.False(t, u.Replayed)
		})
	}
}

// TestNeeds holds what runs after a job that a unit, or a unit that a job needs.
func TestNeeds(t *testing.T) {
	root := recorded(t, 1)
	text := strings.Replace(benchPlaybook, "    eval:\n", "    setup: {steps: [{run: git %s}]}\n"+
		"    last: {needs: [eval], steps: [{run: git --version}]}\n    eval:\n      needs: [setup]\n", 1)
	for command, want := range map[string]string{
		"--version": "pass setup: pass last: pass", "no-such-command": "skip setup: fail last: skip",
	} {
		runner, _ := newRunner(t, root, fmt.Sprintf(text, command), engine.Replay, unconfined)
		sunk := new(sink)
		_, err := runner.Run(t.Context(), sunk)
		require.NoError(t, err)
		var got strings.Builder
		got.WriteString(string(sunk.units[0].Outcome))
		for _, j := range sunk.jobs {
			got.WriteString(" " + j.ID + ": " + string(j.Outcome))
		}
		require.Equal(t, want, got.String())
		if command != "--version" {
			require.Equal(t, "needs job setup, which did not pass", sunk.units[0].Reason)
			require.Equal(t, "needs job eval, which did not pass", sunk.jobs[1].Reason)
		}
	}
}

// TestImported holds what is not known of a session that was imported.
func TestImported(t *testing.T) {
	const head = `name: bench
task: {prompt: Fix it.}
variants: {fake: {agent: {kind: claude-code-acp, preset: mine}}}
workflow: {jobs: {eval: {strategy: {matrix: {variant: [fake]}}, steps: [{uses: "builtin:sdd-eval/acp.prompt"}%s]}}}
`
	tests := []struct {
		name, step, more string
		outcome          result.Outcome
		says, not        string
	}{
		{"no question", "", "", result.Completed, "was imported from claude 2.1.0: only its prompts", "permissions"},
		{
			"permissions", "", "permissions: {default: reject}\n", result.Completed,
			"`permissions` are not checked, since what its agent asked is not known", "",
		},
		{
			"files", "", "evaluators: [{type: files, expect: [{path: a, exists: false}]}]\n", result.Error,
			"the session was imported, so the files that the agent left are unknown", "",
		},
		{
			"a step after it", ", {name: look, run: git --version}", "", result.Error,
			"the step look runs after the agent, and cassettes/bench/task/fake.1.jsonl was imported from ", "",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			runner, unit := newRunner(t, root, fmt.Sprintf(head, tt.step)+tt.more, engine.Replay, unconfined,
				func(c *engine.Config) { c.Keep = &engine.Keep{Below: root} })
			imported(t, runner, unit)
			sunk := new(sink)
			done, err := runner.Run(t.Context(), sunk)
			require.NoError(t, err)
			u := sunk.units[0]
			var told strings.Builder
			told.WriteString(u.Reason + strings.Join(u.Warnings, "\n"))
			for _, e := range u.Evaluations {
				told.WriteString(e.Reason)
			}
			require.Equal(t, tt.outcome, u.Outcome, told.String())
			require.Contains(t, told.String(), tt.says)
			if tt.not != "" {
				require.NotContains(t, told.String(), tt.not)
			}
			if tt.outcome != result.Completed {
				return
			}
			dirs := filesOf(t, root, done, unit)
			require.FileExists(t, filepath.Join(dirs.Artifacts, rundir.Metrics))
			require.NoFileExists(t, filepath.Join(dirs.Artifacts, rundir.Changes),
				"that there are none would not be true")
		})
	}
}

// TestJudges holds where what models say comes from, and why they are not asked.
func TestJudges(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "fake.1.judges.jsonl")
	damaged := filepath.Join(t.TempDir(), "fake.1.judges.jsonl")
	require.NoError(t, os.WriteFile(damaged, []byte("{}\n"), 0o644))
	tests := []struct {
		name                 string
		mode                 engine.Mode
		path, decider, ci    string
		record, allowed, key bool
		opened               bool
		err, advice          string
	}{
		{name: "nobody may", mode: engine.Replay, path: missing},
		{name: "nobody may live", mode: engine.Live, path: missing, decider: "p.yaml:3: evaluator \"j\""},
		{name: "nobody may in CI, and nothing decides", mode: engine.Live, path: missing, ci: "1"},
		{
			name: "nobody may in CI", mode: engine.Live, path: missing, ci: "1", decider: "p.yaml:3: evaluator \"j\"",
			err: "p.yaml:3: evaluator \"j\" needs a model, but model calls are disabled; " +
				"CI is set, so this is an error",
			advice: "allow it",
		},
		{
			name: "not recorded in CI", mode: engine.Replay, path: missing, ci: "1",
			decider: "p.yaml:3: evaluator \"j\"",
			err:     "its judges", advice: "record it",
		},
		{name: "damaged", mode: engine.Replay, path: damaged, err: "its judges:1: ", advice: "record it"},
		{name: "no key", mode: engine.Replay, path: missing, allowed: true, err: llm.ErrNoKey.Error()},
		{name: "asked", mode: engine.Replay, path: missing, allowed: true, key: true, opened: true},
		{name: "asked anew", mode: engine.Replay, path: missing, record: true, key: true, opened: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			j := engine.Judges{
				Path: tt.path, Tree: disk.Tree(filepath.Dir(tt.path)), Name: "its judges", Command: "record it",
				Advice: "allow it", Decider: tt.decider,
				Mode: tt.mode, Record: tt.record, Allowed: tt.allowed, Secrets: new(secret.Set),
				Models: func() (llm.Asker, error) {
					if !tt.key {
						return nil, llm.ErrNoKey
					}
					return asker(func(llm.Request) string { return "" }), nil
				},
				Getenv: func(name string) string { return map[string]string{"CI": tt.ci}[name] },
			}
			file, err := j.Open()
			if tt.err != "" {
				require.ErrorContains(t, err, tt.err)
				require.Equal(t, tt.advice, fault.Advice(err))
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.opened, file != nil)
			want := "not asked: it needs EVAL_LLM_JUDGE=1 or --llm-judge"
			if tt.mode != engine.Live {
				want += ", or a recording: record it"
			}
			require.Equal(t, want, j.Unasked())
		})
	}
}

// TestJudgesInCI holds that a unit names the first evaluator that decides and may not ask, and lets the others be.
func TestJudgesInCI(t *testing.T) {
	root := recorded(t, 1)
	text := benchPlaybook + `  - {name: reported, type: llm_judge, judges: [a], prompt: "{{.}}", required: false}
  - {name: first, type: llm_judge, model: a}
  - {name: second, type: llm_judge, model: a}
`
	text = strings.Replace(text, `, judges: [a], prompt: "{{.}}"`, ", model: a", 1)
	runner, unit := newRunner(t, root, text, engine.Live, unconfined, func(c *engine.Config) {
		c.Getenv = func(name string) string { return map[string]string{"CI": "1"}[name] }
	})
	u := runner.Unit(t.Context(), unit, io.Discard)
	require.Equal(t, result.Error, u.Outcome)
	require.Equal(t, `bench.yaml:13: evaluator "first" needs a model, but model calls are disabled; `+
		"CI is set, so this is an error", u.Reason)
	require.Contains(t, u.Next, "or add `required: false` to the evaluator")

	runner, unit = newRunner(t, root, text, engine.Replay, func(c *engine.Config) {
		c.Getenv = func(name string) string { return map[string]string{"CI": "1"}[name] }
	})
	u = runner.Unit(t.Context(), unit, io.Discard)
	require.Equal(t, result.Error, u.Outcome)
	require.Equal(t, result.Pass, u.Evaluations[0].Outcome, "it is judged by what asks no model all the same")
	require.Equal(t, result.Error, u.Evaluations[2].Outcome)
	require.Equal(t, "EVALTEST_JUDGES=record replay bench/task/fake/1", u.Next)
}

// imported writes a session as it is imported from another tool.
func imported(t *testing.T, runner *engine.Runner, u plan.Unit) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log.jsonl")
	require.NoError(t, os.WriteFile(log, []byte(claudeLog), 0o644))
	session, err := convert.Read(convert.Claude, log, convert.Options{})
	require.NoError(t, err)
	c, _, err := session.Cassette(convert.Unit{ID: u.ID(), Kind: u.Variant.Agent.Kind})
	require.NoError(t, err)
	now, err := runner.Fingerprints(t.Context(), u)
	require.NoError(t, err)
	c.Header.Fingerprints = now.OfImport()
	require.NoError(t, cassette.Write(disk.Tree(filepath.Dir(runner.CassettePath(u))), runner.CassettePath(u), c))
}

// TestSlowEnd: what took too long when a session ended, and what to do about it, is said.
func TestSlowEnd(t *testing.T) {
	t.Parallel()
	runner, unit := newRunner(t, project(t, nil), wholePlaybook, engine.Record, unconfined,
		func(c *engine.Config) { c.Grace = 2 })
	u := runner.Unit(t.Context(), unit, io.Discard)
	require.Equal(t, result.Error, u.Outcome)
	require.Contains(t, u.Reason, ": ending the agent and reading what it left took longer than 1ns")
	require.Contains(t, u.Next, "write `cassette: {exclude: [...]}` in bench.yaml")
}
