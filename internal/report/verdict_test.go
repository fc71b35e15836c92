package report

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
)

// TestFormatsAgree: all formats agree with the run's verdict, for all outcomes of two cases and a job. A run that is
// not green in one of them is not green in any.
func TestFormatsAgree(t *testing.T) {
	jobs := []*result.Job{
		nil,
		{Outcome: result.Pass},
		{Outcome: result.Pass, Commands: 1},
		{Outcome: result.Fail},
		{Outcome: result.Error},
		{Outcome: result.Skip},
		{Outcome: result.NotRun},
	}
	outcomes := []result.Outcome{result.Pass, result.Fail, result.Error, result.Skip, result.Completed, result.NotRun}
	seen := make(result.Count)
	for _, a := range outcomes {
		for _, b := range outcomes {
			for _, job := range jobs {
				for _, state := range []rundir.State{rundir.StateFinished, rundir.StateInterrupted} {
					s := judged(t, state, job, a, b)
					verdict := s.manifest.Judge(s.units, s.jobs)
					seen[verdict.Outcome]++
					agree(t, reportOf(t, s), verdict, fmt.Sprintf("%s, %s, job %+v, %s", a, b, job, state))
				}
			}
		}
	}
	require.Len(t, seen, 5, "%v", seen)
	require.Zero(t, seen[result.Skip], "a run is never skipped: if nothing was done, it is an error")
}

// judged returns a run in which the cases have the outcomes.
func judged(t *testing.T, state rundir.State, job *result.Job, cases ...result.Outcome) source {
	t.Helper()
	s := sample(t, 1, len(cases), 1)
	s.manifest.State = state
	all := s.units
	s.units = nil
	for i, o := range cases {
		u := all[i]
		u.Outcome, u.Reason, u.Evaluations[0] = o, "", result.Evaluation{Name: "judge", Outcome: o, Score: new(1.0)}
		switch o {
		case result.Error, result.Completed:
			u.Reason, u.Evaluations = "it broke", nil
		case result.NotRun:
			continue
		}
		s.units = append(s.units, u)
	}
	if job != nil {
		s.manifest.Jobs = []string{"job"}
		if job.Outcome != result.NotRun {
			s.jobs = []result.Job{{ID: "job", Outcome: job.Outcome, Commands: job.Commands}}
		}
	}
	return s
}

// agree checks that all formats of a report agree with a verdict.
func agree(t *testing.T, rep *Report, want result.Run, of string) {
	t.Helper()
	data, err := rep.JSON()
	require.NoError(t, err)
	var shown struct{ Outcome result.Outcome }
	require.NoError(t, json.Unmarshal(data, &shown))
	require.Equal(t, want.Outcome, shown.Outcome, of)
	require.True(t, strings.HasPrefix(string(rep.Markdown()), "## "+label(want.Outcome)+": "), of)
	data, err = json.Marshal(rep.index()) // what the page shows
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &shown))
	require.Equal(t, want.Outcome, shown.Outcome, of)

	data, err = rep.JUnit()
	require.NoError(t, err)
	var junit struct {
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
		List     []struct {
			Type string `xml:"type,attr"`
		} `xml:"testsuite>testcase>error"`
	}
	require.NoError(t, xml.Unmarshal(data, &junit), of)
	require.Len(t, junit.List, junit.Errors, of)
	broken := 0
	for _, e := range junit.List {
		if e.Type == string(result.Error) {
			broken++
		}
	}
	worst := result.Pass
	switch {
	case broken > 0:
		worst = result.Error
	case junit.Failures > 0:
		worst = result.Fail
	case junit.Errors > 0:
		worst = result.NotRun
	}
	if !want.Outcome.Bad() {
		require.Equal(t, result.Pass, worst, "%s\n%s", of, data)
		require.Empty(t, string(rep.Annotations("")), of)
		return
	}
	require.Equal(t, want.Outcome, worst, "%s\n%s", of, data)
	require.Contains(t, string(rep.Annotations("")), "%3A "+words(want.Outcome), of)
}
