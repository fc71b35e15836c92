package main

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// shardPlaybook has cases of two arms and two trials; what the agent writes decides which fail.
const shardPlaybook = `name: shop
trials: {count: 2}
variants:
  a: {agent: {kind: fake-acp}}
  b: {agent: {kind: fake-acp}, reference: true}
evaluators:
  - {name: hello, type: files, expect: [{path: hello.txt, exists: true}]}
  - {name: words, type: command, run: "test -e {{case.id}}.txt -o -e hello.txt"}
cases:
  - {id: one, prompt: Do one.}
  - {id: two, prompt: Do two., evaluators: [{name: gone, type: files, expect: [{path: hello.txt, absent: true}]}]}
  - {id: three, prompt: Do three., files: {three.txt: three}}
  - {id: four, prompt: Do four.}
  - {id: five, prompt: Do five.}
sandbox: {allow_commands: [test, go]}
workflow:
  jobs:
    before: {steps: [{run: go version}]}
    eval:
      needs: [before]
      strategy: {matrix: {variant: [a, b]}}
      steps: [{uses: builtin:sdd-eval/workspace.prepare}, {uses: builtin:sdd-eval/acp.prompt}]
    after: {needs: [before], steps: [{run: go version}]}
    report: {needs: [eval], steps: [{uses: builtin:sdd-eval/report.generate}]}
`

// ran runs the command and returns the directory of its run, with what it told; its exit code must be the one wanted.
func ran(t *testing.T, code int, dir string, env []string, args ...string) (run, told string) {
	t.Helper()
	c := command(dir, args...)
	c.Env = append(c.Env, env...)
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	_ = c.Run()
	require.Equal(t, code, c.ProcessState.ExitCode(), "%v\n%s", args, &stderr)
	lines := strings.Split(strings.TrimSpace(stdout.String()), "\n")
	return lines[len(lines)-1], stderr.String()
}

// varying are the times and ids in reports.
var varying = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`\d{8}-\d{6}-shop-[a-z0-9]+`), "RUN"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z| UTC)?`), "TIME"},
	{regexp.MustCompile(`"([a-z_]*_ms|ms)":\s*(\{[^{}]*\}|[0-9.e+-]+)`), `"$1": N`},
	{regexp.MustCompile(`(seconds" value|time|timestamp)="[^"]*"`), `$1="N"`},
	{regexp.MustCompile(`\b\d+(\.\d+)?(ms|s)\b`), "N s"},
	{regexp.MustCompile(`\b\d+m\d\ds\b`), "N s"},
}

// packed is what the page has of the details: a part for each unit, whose length the index has.
var (
	packed = regexp.MustCompile(`<script type="application/gzip" id="details">([^<]*)</script>`)
	sizes  = regexp.MustCompile(`"size":(\d+)`)
)

// unpacked returns a page with its details as text.
func unpacked(t *testing.T, page string) string {
	t.Helper()
	return packed.ReplaceAllStringFunc(page, func(m string) string {
		block, text := packed.FindStringSubmatch(m)[1], ""
		for _, size := range sizes.FindAllStringSubmatch(page, -1) {
			n, err := strconv.Atoi(size[1])
			require.NoError(t, err)
			data, err := base64.StdEncoding.DecodeString(block[:n])
			require.NoError(t, err)
			in, err := gzip.NewReader(bytes.NewReader(data))
			require.NoError(t, err)
			part, err := io.ReadAll(in)
			require.NoError(t, err)
			block, text = block[n:], text+string(part)
		}
		require.Empty(t, block)
		return text
	})
}

// same requires that a report of two runs differs in nothing but times and ids.
func same(t *testing.T, name, a, b string) {
	t.Helper()
	var texts [2]string
	for i, dir := range []string{a, b} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		text := string(data)
		if name == "report.html" {
			text = sizes.ReplaceAllString(unpacked(t, text), `"size":N`)
		}
		for _, v := range varying {
			text = v.pattern.ReplaceAllString(text, v.instead)
		}
		texts[i] = strings.ReplaceAll(text, ",\"", ",\n\"") // short lines to compare
	}
	require.Equal(t, texts[0], texts[1], name)
}

var reportFiles = []string{"report.json", "report.md", "report.junit.xml", "report.html"}

// TestShards holds that the reports of merged shards are those of the run that was not divided.
func TestShards(t *testing.T) {
	t.Parallel()
	dir := project(t, shardPlaybook)
	ran(t, 1, dir, nil, "run", "p.yaml", "--mode", "record", "--parallel", "4")
	whole, _ := ran(t, 1, dir, nil, "run", "p.yaml", "--mode", "replay")
	for _, of := range []int{1, 6} {
		var shards []string
		codes, all := map[string]bool{}, map[string]int{}
		for i := range of {
			c := command(dir, "run", "p.yaml", "--mode", "replay", "--shard", fmt.Sprintf("%d/%d", i+1, of))
			var stdout, stderr bytes.Buffer
			c.Stdout, c.Stderr = &stdout, &stderr
			_ = c.Run()
			require.Contains(t, []int{0, 1}, c.ProcessState.ExitCode(), "%s", &stderr)
			codes[fmt.Sprint(c.ProcessState.ExitCode())] = true
			require.Contains(t, stderr.String(), fmt.Sprintf("shard %d of %d (--shard): ", i+1, of))
			shards = append(shards, strings.TrimSpace(stdout.String()))
			cases := map[string]int{}
			for id, n := range unitsOf(t, shards[i]) {
				all[id] += n
				cases[strings.Split(id, "/")[1]]++
			}
			for id, units := range cases {
				require.Equal(t, 4, units, "both arms and all trials of %s are in one shard", id)
			}
			text, err := os.ReadFile(filepath.Join(shards[i], "report.md"))
			require.NoError(t, err)
			if of > 1 {
				require.Contains(t, string(text), fmt.Sprintf("of 20 units selected (--shard %d/%d)", i+1, of))
			}
			if strings.Contains(stderr.String(), "none of the 20 units is this shard's") {
				require.Zero(t, c.ProcessState.ExitCode(), "a shard without units is green")
			}
		}
		require.True(t, codes["1"])
		require.Equal(t, unitsOf(t, whole), all, "each unit is in one shard")
		merged, told := ran(t, 1, dir, nil, append([]string{"merge", "--into", fmt.Sprint("n", of)}, shards...)...)
		require.Contains(t, filepath.Base(merged), fmt.Sprint("-n", of))
		require.Contains(t, told, fmt.Sprintf("merged %d shard", of))
		for _, name := range reportFiles {
			same(t, name, whole, merged)
		}
		for _, unit := range []string{"one/1", "four/2"} {
			require.FileExists(t, filepath.Join(merged, "variants/a/cases", unit, "artifacts/trajectory.json"))
		}
		ran(t, 1, dir, nil, "report", "--run", filepath.Base(merged))
		require.DirExists(t, filepath.Join(merged, "variants/a/cases/one/1"))
	}
}

// shardsOf runs the playbook in so many shards, and returns their directories.
func shardsOf(t *testing.T, dir, playbook string, of int, args ...string) (shards []string) {
	t.Helper()
	for i := range of {
		line := append([]string{"run", playbook, "--shard", fmt.Sprintf("%d/%d", i+1, of)}, args...)
		run, _ := ran(t, 0, dir, nil, line...)
		shards = append(shards, run)
	}
	return shards
}

// greenPlaybook has cases that all pass.
const greenPlaybook = `name: NAME
variants: {a: {agent: {kind: fake-acp}}}
evaluators: [{type: files, expect: [{path: hello.txt, exists: true}]}]
cases: [{id: one, prompt: Do.}, {id: two, prompt: Do.}, {id: three, prompt: Do.}, {id: four, prompt: Do.}]
workflow:
  jobs:
    eval:
      strategy: {matrix: {variant: [a]}}
      steps: [{uses: builtin:sdd-eval/workspace.prepare}, {uses: builtin:sdd-eval/acp.prompt}]
`

// TestShardsThatDoNotFit holds that shards which are missing, there twice, of another plan or of another division are
// told by name, and that nothing of them looks green.
func TestShardsThatDoNotFit(t *testing.T) {
	t.Parallel()
	green := strings.Replace(greenPlaybook, "NAME", "green", 1)
	dir := project(t, green)
	shards := shardsOf(t, dir, "p.yaml", 3)

	merged, told := ran(t, 3, dir, nil, "merge", shards[0], shards[2])
	require.Contains(t, told, "lost: shard 2 of 3 is not among the directories")
	report, err := os.ReadFile(filepath.Join(merged, "report.json"))
	require.NoError(t, err)
	var rep struct {
		Outcome string
		Notes   []string
		Units   []struct{ Outcome string }
	}
	require.NoError(t, json.Unmarshal(report, &rep))
	require.Equal(t, "not_run", rep.Outcome)
	require.Contains(t, strings.Join(rep.Notes, "\n"), "lost: shard 2 of 3")
	require.Len(t, rep.Units, 4, "never a smaller suite")
	require.Contains(t, fmt.Sprint(rep.Units), "{not_run}")
	require.Contains(t, told, "--resume "+filepath.Base(merged))
	ran(t, 0, dir, nil, "run", "--resume", filepath.Base(merged))

	_, told = ran(t, 2, dir, nil, "merge", shards[0], shards[1], shards[1], shards[2])
	require.Contains(t, told, "doubled: shard 2 of 3 ("+shards[1]+") is also in "+shards[1])

	half := shardsOf(t, dir, "p.yaml", 2)
	_, told = ran(t, 2, dir, nil, "merge", shards[0], half[1])
	require.Contains(t, told, "foreign: ")
	require.Contains(t, told, "were not divided alike")

	whole, _ := ran(t, 0, dir, nil, "run", "p.yaml")
	_, told = ran(t, 2, dir, nil, "merge", shards[0], whole)
	require.Contains(t, told, whole+" is no part of a run")
	_, told = ran(t, 2, dir, nil, "merge", t.TempDir())
	require.Contains(t, told, "there is no run")

	// A part that was begun and not ended is not taken for one that has nothing to say.
	require.NoError(t, os.WriteFile(filepath.Join(shards[1], "results.jsonl"), nil, 0o600))
	_, told = ran(t, 3, dir, nil, "merge", shards[0], shards[1], shards[2])
	require.Regexp(t, `shard 2 of 3 \(.*\) ended before [1-4] of its [1-4] units had run`, told)

	write := func(text string) { require.NoError(t, os.WriteFile(filepath.Join(dir, "p.yaml"), []byte(text), 0o600)) }
	write(green + "# changed\n")
	stale, _ := ran(t, 0, dir, nil, "run", "p.yaml", "--shard", "2/3")
	_, told = ran(t, 2, dir, nil, "merge", shards[0], stale, shards[2])
	require.Contains(t, told, "stale: shard 1 of 3 ("+shards[0]+") and shard 2 of 3 ("+stale+") are of different plans")
	require.Contains(t, told, "the playbook has changed")
	write(strings.Replace(greenPlaybook, "NAME", "other", 1))
	foreign, _ := ran(t, 0, dir, nil, "run", "p.yaml", "--shard", "2/3")
	_, told = ran(t, 2, dir, nil, "merge", shards[0], foreign, shards[2])
	require.Contains(t, told, "is of the playbook other")

	for _, tt := range []struct{ flag, env, want string }{
		{flag: "0/3", want: "shards count from 1"},
		{flag: "4/3", want: "shards count from 1"},
		{env: "x", want: "EVALTEST_SHARD: \"x\" is no shard"},
		{flag: "auto", want: "nothing says which shard this is"},
	} {
		args := []string{"run", "p.yaml"}
		if tt.flag != "" {
			args = append(args, "--shard", tt.flag)
		}
		_, told := ran(t, 2, dir, append(quiet(), "EVALTEST_SHARD="+tt.env), args...)
		require.Contains(t, told, tt.want)
	}
}

// heldPlaybook has a step that waits while a file is there, but for the unit that comes first, a job before the units
// that needs a file, and one after them that counts how often it runs. DIR is where the files are.
var heldPlaybook = strings.NewReplacer("NAME", "held", "[{uses", "[{run: sh DIR/hold.sh}, {uses",
	"    eval:\n", `    before: {steps: [{run: test -e DIR/flag}]}
    after: {needs: [eval], steps: [{run: sh -c "echo once >> DIR/after"}]}
    eval:
      needs: [before]
`, "workflow:", "sandbox: {allow_commands: [sh, test]}\nworkflow:").Replace(greenPlaybook)

// TestShardThatWasKilled: what a killed shard has not run is missed by merge, until it is resumed. What became of the
// jobs of one shard is what became of the run.
func TestShardThatWasKilled(t *testing.T) {
	t.Parallel()
	at := t.TempDir()
	file := func(name string) string { return filepath.Join(at, name) }
	write := func(name, text string) { require.NoError(t, os.WriteFile(file(name), []byte(text), 0o600)) }
	dir := project(t, strings.ReplaceAll(heldPlaybook, "DIR", at))
	write("hold.sh", strings.ReplaceAll(`if [ -e DIR/first ]; then
	while [ -e DIR/hold ]; do touch DIR/held; sleep 0.05; done
else
	touch DIR/first
fi
`, "DIR", at))
	write("flag", "")
	write("hold", "")
	c := command(dir, "run", "p.yaml", "--shard", "1/2")
	require.NoError(t, c.Start())
	t.Cleanup(func() { _ = c.Process.Kill() })
	require.Eventually(t, func() bool {
		_, err := os.Stat(file("held"))
		return err == nil
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, c.Process.Kill())
	require.Error(t, c.Wait())
	killed := runs(t, dir)[0]
	require.Len(t, unitsOf(t, killed), 1)
	require.NoError(t, os.Remove(file("hold")))

	other, _ := ran(t, 0, dir, nil, "run", "p.yaml", "--shard", "2/2")
	merged, told := ran(t, 3, dir, nil, "merge", killed, other)
	require.Contains(t, told, "shard 1 of 2 ("+killed+") ended before 1 of its 2 units had run")
	require.Contains(t, told, "3 passed, 1 not run")
	require.NoFileExists(t, file("after"), "not all units have run")
	id := filepath.Base(killed)
	_, told = ran(t, 2, dir, append(quiet(), "EVALTEST_SHARD=2/2"), "run", "--resume", id)
	require.Contains(t, told, "a run goes on as it began")
	_, told = ran(t, 2, dir, nil, "run", "--resume", id, "--shard", "1/2")
	require.Contains(t, told, "remove --shard and --weights")
	ran(t, 0, dir, nil, "run", "--resume", id)
	require.Len(t, unitsOf(t, killed), 2)
	again, told := ran(t, 0, dir, nil, "merge", killed, other)
	require.Contains(t, told, "4 passed")
	require.NotEqual(t, merged, again)
	after, err := os.ReadFile(file("after"))
	require.NoError(t, err)
	require.Equal(t, "once\n", string(after), "it runs where the shards are merged")
	_, told = ran(t, 2, dir, nil, "merge", ".")
	require.Contains(t, told, "is no part of a run: it has all units of its plan\nnext: name the directories")

	// The job before the units fails on one machine.
	require.NoError(t, os.Remove(file("flag")))
	bad, _ := ran(t, 1, dir, nil, "run", "p.yaml", "--shard", "1/2")
	_, told = ran(t, 1, dir, nil, "merge", bad, other)
	require.Contains(t, told, "job before")
	require.Contains(t, told, "2 passed, 2 skipped")

	// A copy that is damaged is told with the line.
	results := filepath.Join(killed, "results.jsonl")
	data, err := os.ReadFile(results)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(results, append(data, "garbage\n"...), 0o600))
	_, told = ran(t, 2, dir, nil, "merge", killed, other)
	require.Contains(t, told, results+":3: ")
	require.Contains(t, told, "next: take the directory once more from where it was made, or run that part again")
}

// TestShardWithAnError: a merged run is as bad as the worst of its shards.
func TestShardWithAnError(t *testing.T) {
	t.Parallel()
	dir := project(t, strings.NewReplacer("NAME", "bad", "two, prompt: Do.", "two, prompt: Do., evaluators: "+
		"[{type: command, name: j, run: no-such-judge}]", "workflow:", "sandbox: {allow_commands: [no-such-judge]}\n"+
		"workflow:").Replace(greenPlaybook))
	var shards []string
	codes := map[int]int{}
	for i := range 2 {
		c := command(dir, "run", "p.yaml", "--shard", fmt.Sprintf("%d/2", i+1))
		out, _ := c.Output()
		codes[c.ProcessState.ExitCode()]++
		shards = append(shards, strings.TrimSpace(string(out)))
	}
	require.Equal(t, map[int]int{0: 1, 3: 1}, codes)
	_, told := ran(t, 3, dir, nil, "merge", shards[0], shards[1])
	require.Contains(t, told, "1 error, 3 passed")
}

// quiet is an environment in which nothing says which shard a process is.
func quiet() (env []string) {
	for _, name := range []string{
		"CI_NODE_INDEX", "CI_NODE_TOTAL", "CIRCLE_NODE_INDEX", "CIRCLE_NODE_TOTAL", "BUILDKITE_PARALLEL_JOB",
		"BUILDKITE_PARALLEL_JOB_COUNT", "JOB_COMPLETION_INDEX", "JOB_COMPLETIONS", "SLURM_ARRAY_TASK_ID",
		"SLURM_ARRAY_TASK_COUNT", "AWS_BATCH_JOB_ARRAY_INDEX", "AWS_BATCH_JOB_ARRAY_SIZE", "TEST_SHARD_INDEX",
		"TEST_TOTAL_SHARDS", "TEST_SHARD_STATUS_FILE",
	} {
		env = append(env, name+"=")
	}
	return env
}

// TestShardsOfSchedulers runs like Kubernetes, Bazel and GitLab do, by the environment alone.
func TestShardsOfSchedulers(t *testing.T) {
	t.Parallel()
	dir := project(t, strings.Replace(greenPlaybook, "NAME", "green", 1))
	kept := t.TempDir() // as a volume, or what a job uploads: called otherwise
	pods, status := filepath.Join(kept, "pods"), filepath.Join(kept, "status")
	require.NoError(t, os.Mkdir(pods, 0o700))
	for i := range 2 {
		env := append(quiet(), "EVALTEST_SHARD=auto", fmt.Sprint("JOB_COMPLETION_INDEX=", i), "JOB_COMPLETIONS=2")
		run, told := ran(t, 0, dir, env, "run", "p.yaml")
		require.Contains(t, told,
			fmt.Sprintf("shard %d of 2 (Kubernetes's JOB_COMPLETION_INDEX and JOB_COMPLETIONS)", i+1))
		require.NoError(t, os.Rename(run, filepath.Join(pods, fmt.Sprint("pod-", i))))
	}
	_, told := ran(t, 0, dir, nil, "merge", pods)
	require.Contains(t, told, "4 passed")

	var shards []string
	for i := range 3 {
		file := status + fmt.Sprint(i)
		env := append(quiet(), fmt.Sprint("TEST_SHARD_INDEX=", i), "TEST_TOTAL_SHARDS=3",
			"TEST_SHARD_STATUS_FILE="+file)
		run, told := ran(t, 0, dir, env, "run", "p.yaml")
		require.Contains(t, told, fmt.Sprintf("shard %d of 3 (Bazel's TEST_SHARD_INDEX and TEST_TOTAL_SHARDS)", i+1))
		require.FileExists(t, file)
		shards = append(shards, run)
	}
	_, told = ran(t, 0, dir, nil, append([]string{"merge"}, shards...)...)
	require.Contains(t, told, "4 passed")

	// GitLab sets these for the jobs of any matrix: each is to run everything.
	_, told = ran(t, 0, dir, append(quiet(), "CI_NODE_INDEX=1", "CI_NODE_TOTAL=3"), "run", "p.yaml")
	require.Contains(t, told, "4 passed")
}

// TestShardsShareBudget holds that the shards of a run may together spend what it may, by the work that they have.
func TestShardsShareBudget(t *testing.T) {
	t.Parallel()
	dir := project(t, strings.Replace(greenPlaybook, "NAME", "green", 1))
	weights := `{"version": 1, "seconds": {"green/one/a": 60, "green/two/a": 20, "green/three/a": 20,
		"green/four/a": 20}}`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "p.weights.json"), []byte(weights), 0o600))
	shards := shardsOf(t, dir, "p.yaml", 2, "--budget-usd", "12", "--assume-cost", "1")
	var text strings.Builder
	for _, s := range shards {
		data, err := os.ReadFile(filepath.Join(s, "manifest.json"))
		require.NoError(t, err)
		require.Contains(t, string(data), "packed by the times of former runs")
		text.WriteString(string(data))
	}
	require.Equal(t, 2, strings.Count(text.String(), `"max_usd": 6,`), "60 s of 120 s each")
	merged, _ := ran(t, 0, dir, nil, "merge", shards[0], shards[1])
	data, err := os.ReadFile(filepath.Join(merged, "manifest.json"))
	require.NoError(t, err)
	require.Contains(t, string(data), `"max_usd": 12,`)
	require.Contains(t, string(data), `"spent_usd": 4`)

	// Weights that differ divide differently.
	others := strings.Replace(weights, "60", "1", 1)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "w.json"), []byte(others), 0o600))
	other, _ := ran(t, 0, dir, nil, "run", "p.yaml", "--shard", "2/2", "--weights", "w.json")
	_, told := ran(t, 2, dir, nil, "merge", shards[0], other)
	require.Contains(t, told, "were not divided alike")
	_, told = ran(t, 2, dir, nil, "run", "p.yaml", "--shard", "2/2", "--weights", "p.yaml")
	require.Contains(t, told, "weights of units: ")
}

// TestShardsByFormerRun divides by what a former run took, which its report has.
func TestShardsByFormerRun(t *testing.T) {
	t.Parallel()
	dir := project(t, strings.Replace(greenPlaybook, "NAME", "green", 1))
	former, _ := ran(t, 0, dir, nil, "run", "p.yaml", "--mode", "record")
	file, _ := ran(t, 0, dir, nil, "report", filepath.Base(former), "--format", "weights")
	require.Equal(t, filepath.Join(former, "weights.json"), file)
	var shards []string
	for i := range 2 {
		shard := fmt.Sprintf("%d/2", i+1)
		run, _ := ran(t, 0, dir, nil, "run", "p.yaml", "--mode", "replay", "--shard", shard, "--weights", file)
		data, err := os.ReadFile(filepath.Join(run, "manifest.json"))
		require.NoError(t, err)
		require.Contains(t, string(data), "packed by the times of former runs")
		shards = append(shards, run)
	}
	merged, told := ran(t, 0, dir, nil, "merge", shards[0], shards[1])
	require.Contains(t, told, "4 passed")
	_, told = ran(t, 2, dir, nil, "report", filepath.Base(merged), "--format", "weights")
	require.Contains(t, told, "no unit of this run says how long an agent takes")
	require.Contains(t, told, "next: name a run whose agents ran: sdd-eval list")
}
