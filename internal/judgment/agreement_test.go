package judgment

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/secret"
)

func TestAgreementsCheck(t *testing.T) {
	known := func(units int, kappa, low, high float64) Agreement {
		return Agreement{Digest: "d", Units: units, Kappa: &kappa, Low: &low, High: &high}
	}
	const label = "let people say in human-pack.html which units are solved, import their scores.json, " +
		"and keep what `sdd-eval agreement --keep` finds"
	for _, tt := range []struct {
		name          string
		known         Agreement
		digest, files string
		reason, next  string
	}{
		{"enough", known(60, .8, .65, .9), "d", "f", "", ""},
		{
			"too few", known(60, .8, .55, .9), "d", "f",
			"the judge agrees with people with kappa 0.80 [0.55 to 0.90]: 60 labels are too few " +
				"to know that it is at least 0.6",
			label,
		},
		{
			"all the same of a few", known(8, 1, 1, 1), "d", "f",
			"the judge agrees with people with kappa 1.00 [1.00 to 1.00]: 8 labels are too few " +
				"to know that it is at least 0.6",
			label,
		},
		{
			"below", known(60, .5, .4, .7), "d", "f",
			"the judge agrees with people with kappa 0.50, which is below min_agreement 0.6",
			"mend the judge, or write `required: false`",
		},
		{
			"all say yes",
			Agreement{Digest: "d", Units: 60},
			"d", "f",
			"60 labels do not tell whether the judge agrees with people", label,
		},
		{
			"another rubric", known(60, .8, .65, .9), "e", "f",
			"the judge, or a file that it judges by, has changed since people were compared with it", label,
		},
		{
			"another file", known(60, .8, .65, .9), "d", "g",
			"the judge, or a file that it judges by, has changed since people were compared with it", label,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := Agreements{Version: 1, Files: "f", Judges: map[string]Agreement{"rubric": tt.known}}
			err := a.Check("rubric", tt.digest, tt.files, .6)
			if tt.reason == "" {
				require.NoError(t, err)
				require.EqualError(t, a.Check("other", "d", "f", .6), "nobody has compared this judge with people")
				return
			}
			require.EqualError(t, err, tt.reason)
			require.Equal(t, tt.next, fault.Advice(err))
		})
	}
}

func TestAgreementsFile(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, AgreementsPath("demo"))
	_, err := ReadAgreements(path, "baselines/demo.agreement.json", "demo.yaml")
	require.EqualError(t, err, "nobody has compared this judge with people: there is no baselines/demo.agreement.json")
	kappa := .5
	a := &Agreements{
		Version: 1, Playbook: "demo.yaml", Run: "r", Files: "f",
		Judges: map[string]Agreement{"rubric": {"d", 3, &kappa, nil, nil}},
	}
	require.NoError(t, a.Write(disk.Tree(root), path, "x", new(secret.Set)))
	again, err := ReadAgreements(path, "x", "demo.yaml")
	require.NoError(t, err)
	require.Equal(t, a, again)
	for text, want := range map[string]string{
		`{"agreements": 2}`:             "x: version 2; this program reads version 1",
		`{"agreements": 1, "judge": 1}`: `x:1: unknown key "judge"`,
		`{"agreements": 1`:              "x:1: the text is incomplete: unexpected EOF",
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		_, err := ReadAgreements(path, "x", "demo.yaml")
		require.EqualError(t, err, want)
	}
}
