package engine_test

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/testkit/mutatedata"
	"github.com/sdd-eval/sdd-eval/internal/wildcard"
)

// TestMutants changes recordings in small ways, one at a time, and replays them: the result is an error or a fail, or
// what survives lists the change. `make mutants-data` has all of them, `make test` a sample.

// subject is a recorded unit whose recording is mutated.
type subject struct {
	// file is the recording, seal what computes its checksums anew.
	file string
	seal mutatedata.Seal
	// run replays the unit.
	run func() result.Unit
	// survives are the mutants that may pass, and evaluators that may pass although they failed.
	survives []survivor
	// sample is how many mutants run, unless all do. With an agent's process they never do: it takes too long.
	sample int
	agent  bool
}

// survivor is a key, with wildcards, or a line, whose mutants may pass if the checksums are computed anew, and why.
type survivor struct {
	kinds []string
	key   string
	why   string
}

// What may be done to a survivor. Nothing of it leaves a file that sessions do not leave.
var (
	values = []string{
		mutatedata.Changed, mutatedata.Emptied, mutatedata.Dropped, mutatedata.Null, mutatedata.Reordered,
	}
	elements = []string{mutatedata.Doubled} // of lists
	anyJSON  = append([]string{
		mutatedata.OtherType, mutatedata.OtherCase, mutatedata.Twin, mutatedata.Renamed,
	}, values...)
	lines  = []string{mutatedata.LineDropped, mutatedata.LinesSwap, mutatedata.LineDoubled}
	zipped = []string{mutatedata.FileZipped}
)

func (s subject) mayPass(a survivor, m mutatedata.Mutant) bool {
	return (m.Sealed || m.Gzip || s.seal == nil) && slices.Contains(a.kinds, m.Kind) && wildcard.Match(a.key, m.Key)
}

// all says that all mutants run, not a sample.
func all() bool { return os.Getenv("MUTANTS_DATA") != "" }

// seed is that of the samples.
const seed = 18

// hunt runs the subject with its mutants.
func (s subject) hunt(t *testing.T) {
	t.Helper()
	data, err := os.ReadFile(s.file)
	require.NoError(t, err)
	t.Cleanup(func() { s.write(t, mutatedata.Mutant{}, data) })
	want := s.run()
	require.NotEqual(t, result.Error, want.Outcome, "%s", judged(want))
	mutants := mutatedata.All(data, s.seal)
	n := s.sample
	if all() && !s.agent {
		n = 0
	}
	sample := mutatedata.Sample(mutants, n, seed)
	count, needed, greens := make(map[string]int), make(map[int]bool), make(map[string]int)
	first := make(map[string]string)
	for _, m := range sample {
		changed := m.Data()
		if string(changed) == string(data) && !m.Gzip {
			count["equal"]++
			continue
		}
		s.write(t, m, changed)
		got := s.run()
		green := passed(want, got)
		if green == "" {
			count[string(got.Outcome)]++
			continue
		}
		at := slices.IndexFunc(s.survives, func(a survivor) bool { return s.mayPass(a, m) })
		if at >= 0 {
			count["survives"]++
			needed[at] = true
			continue
		}
		count["false green"]++
		group := fmt.Sprintf("%s %s (%s)", m.Key, m.Kind, green)
		if greens[group]++; greens[group] == 1 {
			first[group] = m.String()
		}
	}
	t.Logf("%d of %d mutants: %v", len(sample), len(mutants), count)
	for _, group := range slices.Sorted(maps.Keys(greens)) {
		t.Errorf("%d times: %s: e.g. %s", greens[group], group, first[group])
	}
	for i, a := range s.survives {
		if all() && !s.agent && !needed[i] {
			t.Errorf("no mutant survives as %v says: take the row away", a)
		}
	}
}

// write writes a mutant in place of the recording.
func (s subject) write(t *testing.T, m mutatedata.Mutant, data []byte) {
	t.Helper()
	name, other := s.file, s.file+".gz"
	if m.Gzip {
		name, other = other, name
	}
	_ = os.Remove(other)
	require.NoError(t, os.WriteFile(name, data, 0o644))
}

// passed says what passes of a mutant's result, given that of what was recorded; empty: nothing that should not.
func passed(want, got result.Unit) string {
	switch {
	case got.Outcome == result.Error:
		return ""
	case got.Outcome != result.Fail && judged(want) == judged(got):
		return "the same"
	case got.Outcome != result.Fail:
		return string(got.Outcome) + ", another"
	}
	if len(got.Evaluations) == 0 {
		return ""
	}
	for i, e := range want.Evaluations {
		if e.Outcome == result.Fail && got.Evaluations[i].Outcome != result.Fail &&
			got.Evaluations[i].Outcome != result.Error {
			return e.Name + " passes"
		}
	}
	return ""
}

// judged is everything that is judged of a unit, and shown.
func judged(u result.Unit) string {
	u.Duration, u.Started, u.Run = 0, u.SessionStarted, nil
	for i := range u.Evaluations {
		u.Evaluations[i].Duration = 0
	}
	for i := range u.Steps {
		u.Steps[i].Duration = 0
	}
	data, err := json.MarshalIndent(u, "", "\t")
	if err != nil {
		panic(err)
	}
	return string(data)
}

// What is recorded: a session in which there is something of everything, a log of Claude Code, and evaluators that all
// pass and that all fail.
var (
	//go:embed testdata/mutants/session.json
	sessionScript string
	//go:embed testdata/mutants/claude.jsonl
	claudeLog string
	//go:embed testdata/mutants/green.yaml
	greenEvaluators string
	//go:embed testdata/mutants/red.yaml
	redEvaluators string
)

const mutantsHead = `name: bench
cases: [{id: task, prompts: [Do it., Now say.]}]
variants: {fake: {agent: {kind: fake-acp, args: [agent.json]}}}
sandbox: {allow_commands: [sh]}
workspace: {from: src}
workflow:
  jobs:
    eval:
      strategy: {matrix: {variant: [fake]}}
      steps: [{uses: builtin:sdd-eval/workspace.prepare}, {uses: builtin:sdd-eval/acp.prompt}]
`

// recordedBy makes a project with an agent's script and records a playbook. It returns the root and the cassette.
func recordedBy(t *testing.T, text, script string, change ...func(*engine.Config)) (root, path string) {
	t.Helper()
	root = t.TempDir()
	for name, text := range map[string]string{
		"src/stock.txt": "tea 3\ncoffee 2\n", "src/dir/run.sh": "echo\n", "agent.json": script,
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o644))
	}
	runner, unit := newRunner(t, root, text, engine.Record, append(change, unconfined)...)
	got := runner.Unit(t.Context(), unit, io.Discard)
	require.NotEqual(t, result.Error, got.Outcome, "%s", judged(got))
	return root, runner.CassettePath(unit)
}

func unconfined(c *engine.Config) { c.Sandbox = "none" }

// replayed returns a function that replays a playbook of a project.
func replayed(t *testing.T, root, text string, change ...func(*engine.Config)) func() result.Unit {
	runner, unit := newRunner(t, root, text, engine.Replay, append(change, unconfined)...)
	return func() result.Unit { return runner.Unit(t.Context(), unit, io.Discard) }
}

// survivors are those of the whole run. Sealed mutants are other recordings: where their values are what a session can
// have, nothing can tell them from recordings that were made.
var survivors = map[string][]survivor{
	"green": {
		{zipped, "", "a large recording is kept so"},
		{[]string{mutatedata.Reordered}, "cassette: *", "the order of keys means nothing"},
		{values, "cassette: agent.name", "shown, not judged"},
		{values, "cassette: agent.version", "shown, not judged"},
		{values, "cassette: client_version", "shown, not judged"},
		{values, "cassette: protocol_version", "shown, not judged"},
		{values, "cassette: sandbox", "shown, not judged"},
		{values, "cassette: fingerprints.timeout", "without a limit, the session would have been the same"},
		{values, "cassette: fingerprints.workspace.files", "left out where there are many; the digest is compared"},
		{values, "change added: text", "space around JSON"},
		{lines, "event *", "an event less, or at another time, is another session"},
		{values, "event thought: *", "not judged"},
		{values, "event plan: *", "not judged"},
		{elements, "event plan: *[]", "not judged"},
		{values, "event message: *", "of the first turn: the last message is judged"},
		{values, "event file_read: *", "shown in metrics, not judged"},
		{values, "event file_write: *", "shown in metrics, not judged; the changed files are"},
		{values, "event permission: options[]*", "options that were not chosen"},
		{elements, "event permission: options[]", "options that were not chosen"},
		{values, "event state: *", "another cost below the bound"},
		{values, "event stop: usage*", "other tokens below the bound"},
		{values, "event terminal: *", "shown in metrics, not judged"},
		{elements, "event terminal: args[]", "shown in metrics, not judged"},
		{anyJSON, "event tool_call: input*", "arguments that nothing is expected of"},
		{values, "event tool_call: kind", "the name tells the tool"},
		{values, "event tool_call: name", "of a call that is expected by what it does"},
		{values, "event tool_call: title", "shown, not judged"},
		{values, "event tool_call: locations*", "not judged"},
		{elements, "event tool_call: locations[]", "not judged"},
		{values, "event tool_result: diffs*", "not judged"},
		{elements, "event tool_result: diffs[]", "not judged"},
		{values, "event tool_result: exit_code", "not judged"},
		{values, "event tool_result: status", "not judged"},
		{anyJSON, "event tool_result: output*", "not judged"},
		{values, "timings: *", "other times below the bound"},
	},
	"red": {
		{lines, "change added", "a file less is another session"},
		{values, "change added: path", "another file"},
		{values, "change added: text", "another text"},
		{values, "event state: cost.amount", "another cost"},
		{values, "event stop: usage.*", "other tokens"},
		{values, "event tool_call: name", "another tool"},
	},
}

func TestMutantsOfRun(t *testing.T) {
	t.Parallel()
	root, path := recordedBy(t, mutantsHead+greenEvaluators, sessionScript)
	for name, evaluators := range map[string]string{"green": greenEvaluators, "red": redEvaluators} {
		t.Run(name, func(t *testing.T) {
			s := subject{
				file: path, seal: mutatedata.Cassette, run: replayed(t, root, mutantsHead+evaluators), sample: 100,
				survives: survivors[name],
			}
			if want := s.run(); name == "red" {
				for _, e := range want.Evaluations {
					require.Equal(t, result.Fail, e.Outcome, "%s: %s", e.Name, e.Reason)
				}
			} else {
				require.Equal(t, result.Pass, want.Outcome, "%s", judged(want))
			}
			s.hunt(t)
		})
	}
}
