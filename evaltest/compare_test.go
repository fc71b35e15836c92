package evaltest_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest"
)

// comparedArms is set in a process of [TestCompare]: its comparison, which fails.
const comparedArms = "SDD_EVAL_TEST_COMPARE"

// TestCompare: what is worse, not decided as asked, or not known fails, with the command's text, the place and the next
// command.
func TestCompare(t *testing.T) {
	const dir = "testdata/examples/baselines/"
	if arms := strings.Fields(os.Getenv(comparedArms)); len(arms) > 0 {
		evaltest.Compare(t, dir+arms[0], dir+arms[1], map[string]float64{"0": 0, "0.1": .1, "2": 2}[arms[2]])
		return
	}
	program, err := os.Executable()
	require.NoError(t, err)
	for arms, want := range map[string][]string{
		"main.json broken.json 0": {
			"compare_test.go:22: evaltest.Compare: FAIL\n",
			"worse: the head passes 66.7 points less often\n", "  shop/c3: ",
			"next: sdd-eval compare " + dir + "main.json " + dir + "broken.json\n",
		},
		"main.json slow.json 0.1": {"FAIL\n", "inconclusive: ", "slow.json --gate not-worse --margin 0.1\n"},
		"main.json down.json 0":   {": ERROR\n", "invalid: nothing is known\n"},
		"main.json main.json 2":   {"the margin 2: want a share"},
		"main.json none.json 0":   {": ERROR\n", "no runs below ", "next: sdd-eval run --help"},
	} {
		t.Run(arms, func(t *testing.T) {
			cmd := exec.Command(program, "-test.run=^TestCompare$")
			cmd.Env = append(os.Environ(), comparedArms+"="+arms, "EVALTEST_RUN_DIR="+t.TempDir())
			out, err := cmd.Output()
			require.Error(t, err, "%s", out)
			for _, text := range append(want, "--- FAIL: TestCompare") {
				require.Contains(t, strings.ReplaceAll(string(out), "\n        ", "\n"), text)
			}
		})
	}
}
