package evaltest_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSkill replays a skill of ours that was recorded by the command: green with all that a reader wants to know, red
// where a check does not hold or something has changed since.
func TestSkill(t *testing.T) {
	t.Parallel()
	m := newModule(t)
	require.NoError(t, os.CopyFS(m.path("skills"), os.DirFS("../fixtures/skills")))
	m.write("skills/skills_test.go", `package skills

import (
	"testing"

	"github.com/sdd-eval/sdd-eval/evaltest"
)

func TestHelps(t *testing.T) { evaltest.Skill(t, "release-notes") }

func TestHarms(t *testing.T) { evaltest.Skill(t, "iso-dates") }

func TestNone(t *testing.T) { evaltest.Skill(t, "../evals") }
`)
	suite := m.compile("./skills")
	out, code := suite.test(nil, "-test.run=TestHelps", "-test.v")
	require.Zero(t, code, out)
	require.Contains(t, out, "--- PASS: TestHelps/release-notes/eval-1/with/judge")
	require.Contains(t, out, "release-notes/eval-1/without: REFERENCE FAIL")
	require.Contains(t, out, "--- PASS: TestHelps/release-notes-triggers/trigger-a1fb910b/with")
	require.Regexp(t, `session: \S+release-notes/eval-1/with\.1\.jsonl \(scripted model\)`, out)

	out, code = suite.test([]string{"EVALTEST_MODE=record"}, "-test.run=TestHelps")
	require.Equal(t, 1, code, out)
	require.Contains(t, out, "next: sdd-eval skill skills/release-notes --mode record")

	out, code = suite.test([]string{"EVALTEST_MODE=missing"}, "-test.run=TestHarms", "-test.v")
	require.Zero(t, code, "it fails as its baseline says: %s", out)
	require.Contains(t, out, "iso-dates/eval-3/with/text: FAIL, over which the baseline decides\n")
	require.NotContains(t, out, "--- PASS: TestHarms/iso-dates/eval-3/with/text")
	require.Contains(t, out, "baseline   evals/.sdd-eval/baseline.json of 2026-11-24: 12 checks as before")
	require.Contains(t, out, "FAIL 0/3 trials, need 2, over which the baseline decides")
	require.Regexp(t, `baseline +evals/.sdd-eval/baseline-triggers.json of \S+: 12 checks as before`, out)

	const kept = "skills/iso-dates/evals/.sdd-eval/baseline"
	m.replace(kept+".json", `"text": "The sign names the day as people say it",
                  "outcome": "fail"`, `"text": "The sign names the day as people say it",
                  "outcome": "pass"`)
	out, code = suite.test(nil, "-test.run=TestHarms/iso-dates/eval-3")
	require.Equal(t, 1, code, out)
	require.Contains(t, out, "--- FAIL: TestHarms/iso-dates (")
	require.Contains(t, out, "1 check of the same skill came out otherwise:\n")
	require.Contains(t, out, "The sign names the day as people say it: was pass, is fail\n")
	require.Contains(t, out, "next: if it is right so: sdd-eval skill skills/iso-dates --bless")
	out, code = suite.test(nil, "-test.run=TestHarms/iso-dates/eval-1")
	require.Zero(t, code, out)

	for _, of := range []string{".json", "-triggers.json"} {
		m.remove(kept + of)
	}
	out, code = suite.test(nil, "-test.run=TestHarms")
	require.Equal(t, 1, code, out)
	require.Contains(t, out, "--- FAIL: TestHarms/iso-dates/eval-3/with/text")
	require.NotContains(t, out, "--- FAIL: TestHarms/iso-dates/eval-1")
	require.Regexp(t, `\s+evals/evals\.json:\d+: \w`, out, "the check as its author wrote it")
	require.Regexp(t, `\s+evals/trigger-eval\.json:\d+: \w`, out)
	require.Contains(t, out, "--- FAIL: TestHarms/iso-dates-triggers/")
	m.write(kept+".json", "[")
	out, code = suite.test(nil, "-test.run=TestHarms")
	require.Equal(t, 1, code, out)
	require.Contains(t, out, "next: sdd-eval skill skills/iso-dates --bless", "one that cannot be read is not met")

	out, code = suite.test(nil, "-test.run=TestNone")
	require.Equal(t, 1, code, out)
	require.Contains(t, out, "has no evals")

	require.NoError(t, os.RemoveAll(m.path("skills/release-notes/evals/.sdd-eval/cassettes/release-notes-triggers")))
	out, code = suite.test(nil, "-test.run=TestHelps", "-test.v")
	require.Zero(t, code, out)
	require.Contains(t, out, "4 triggers are not recorded, and not asked: sdd-eval skill skills/release-notes --t")

	judged := m.path("skills/release-notes/evals/.sdd-eval/cassettes/release-notes/eval-1/with.1.judges.jsonl")
	saved, err := os.ReadFile(judged)
	require.NoError(t, err)
	require.NoError(t, os.Remove(judged))
	out, code = suite.test(nil, "-test.run=TestHelps")
	require.Equal(t, 1, code, "a check that nobody judged is not green: %s", out)
	require.Contains(t, out, "not all checks were judged")
	require.NoError(t, os.WriteFile(judged, saved, 0o600))

	m.replace("skills/release-notes/SKILL.md", "orders", "sales")
	out, code = suite.test(nil, "-test.run=TestHelps")
	require.Equal(t, 1, code, out)
	require.Contains(t, out, "stale")
	require.Contains(t, out, "--- FAIL: TestHelps/release-notes/eval-1/with")

	m.remove("skills/release-notes/evals/files/changes.txt")
	out, code = suite.test(nil, "-test.run=TestHelps")
	require.Equal(t, 1, code, out)
	require.Contains(t, out, "missing-file")

	require.NoError(t, os.RemoveAll(m.path("skills/release-notes/evals/.sdd-eval")))
	out, code = suite.test(nil, "-test.run=TestHelps")
	require.Equal(t, 1, code, out)
	require.Contains(t, out, "next: record them where an agent has a login: sdd-eval skill skills/release-notes")
}
