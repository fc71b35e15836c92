package report

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// PluginEvals is the format of the results of Claude Code's plugin evals, schemaVersion 1.
const PluginEvals = "plugin-evals"

// ErrNotOfPlugin is the error of a run that does not try a plugin, which has no file of that format.
var ErrNotOfPlugin = errors.New("the run does not try a plugin")

// aggregateResult is aggregate-result.json.
type aggregateResult struct {
	SchemaVersion   int            `json:"schemaVersion"`
	ClaudeVersion   string         `json:"claudeVersion"`
	StartedAt       time.Time      `json:"startedAt"`
	DurationSeconds float64        `json:"durationSeconds"`
	CostUSD         float64        `json:"costUsd"`
	Partial         bool           `json:"partial"`
	Suite           aggregateSuite `json:"suite"`
	Cases           []*caseResult  `json:"cases"`
	Aggregates      struct {
		CasesTotal      int      `json:"casesTotal"`
		CasesPassed     int      `json:"casesPassed"`
		OverallScore    float64  `json:"overallScore"`
		OverallPassRate float64  `json:"overallPassRate"`
		MeanDelta       *float64 `json:"meanDelta,omitempty"`
	} `json:"aggregates"`
}

type aggregateSuite struct {
	Root      string   `json:"root"`
	Ablation  string   `json:"ablation"`
	Threshold float64  `json:"threshold"`
	Plugins   []string `json:"plugins"` // none: the playbook does not keep how Claude Code calls them
}

type caseResult struct {
	Name           string       `json:"name"`
	Dir            string       `json:"dir"`
	Source         string       `json:"source"`
	PromptMarkdown string       `json:"promptMarkdown"`
	RunsPerCase    int          `json:"runsPerCase"`
	TimeoutSeconds float64      `json:"timeoutSeconds"`
	MaxTurns       int          `json:"maxTurns"`
	Graders        []graderKind `json:"graders"`
	Arms           struct {
		With    []armRun `json:"with"`
		Without []armRun `json:"without,omitempty"`
	} `json:"arms"`
	Aggregates struct {
		Score           float64  `json:"score"`
		PassRate        float64  `json:"passRate"`
		ScoreWithout    *float64 `json:"scoreWithout,omitempty"`
		PassRateWithout *float64 `json:"passRateWithout,omitempty"`
		Delta           *float64 `json:"delta,omitempty"`
	} `json:"aggregates"`
}

type graderKind struct {
	Name   string         `json:"name"`
	Type   string         `json:"type"` // of the evaluator that it has become
	Weight float64        `json:"weight"`
	Config map[string]any `json:"config"`
}

type armRun struct {
	Score              float64     `json:"score"`
	Passed             bool        `json:"passed"`
	Turns              int         `json:"turns"`
	CostUSD            float64     `json:"costUsd"`
	JudgeCostUSD       float64     `json:"judgeCostUsd"`
	DurationSeconds    float64     `json:"durationSeconds"`
	StartedAt          string      `json:"startedAt,omitempty"`
	Error              *string     `json:"error"`
	TracePath          string      `json:"tracePath"`
	SkippedPaidGraders bool        `json:"skippedPaidGraders"`
	Graders            []graderRun `json:"graders"`
}

type graderRun struct {
	Name        string  `json:"name"`
	Passed      bool    `json:"passed"`
	Weight      float64 `json:"weight"`
	Explanation string  `json:"explanation"`
	WithOnly    bool    `json:"withOnly"`
	Scored      bool    `json:"scored"`
}

// pluginEvals makes aggregate-result.json of a run of one arm, or of two of which one is a reference. What ended in an
// error has that beside its score of 0, does not count in the means, and makes the result partial.
func (rep *Report) pluginEvals() ([]byte, error) {
	references := make(map[string]bool)
	for _, v := range rep.Variants {
		references[v.ID] = v.Reference
	}
	with := 0
	for _, reference := range references {
		if !reference {
			with++
		}
	}
	if with != 1 || len(references) > 2 {
		return nil, fmt.Errorf("%w: one has an arm with the plugin, and may have one without, a reference: of its %d "+
			"variants %d are no reference", ErrNotOfPlugin, len(references), with)
	}
	a := aggregateResult{
		SchemaVersion: 1, ClaudeVersion: rep.Run.Tool, StartedAt: rep.Run.CreatedAt.UTC(),
		Suite: aggregateSuite{
			Root: rep.Run.Playbook.Path, Ablation: "none", Threshold: cmp.Or(rep.Run.NeedScore, 1), Plugins: []string{},
		},
	}
	if len(references) == 2 {
		a.Suite.Ablation = "with-without"
	}
	if end := rep.Run.FinishedAt; end != nil {
		a.DurationSeconds = end.Sub(rep.Run.CreatedAt).Seconds()
	}
	for _, c := range rep.Cases {
		one := &caseResult{
			Name: c.ID, Source: rep.Run.Playbook.Path, PromptMarkdown: strings.Join(c.Prompts, "\n\n"),
			RunsPerCase: rep.Run.Trials, Graders: []graderKind{},
		}
		one.Arms.With = []armRun{}
		for _, u := range rep.Units {
			if u.Case != c.ID {
				continue
			}
			run := armRunOf(u, references[u.Variant])
			a.CostUSD += run.CostUSD + run.JudgeCostUSD
			a.Partial = a.Partial || run.Error != nil
			if references[u.Variant] {
				one.Arms.Without = append(one.Arms.Without, run)
				continue
			}
			one.Arms.With = append(one.Arms.With, run)
			if len(one.Graders) == 0 && u.Result != nil {
				for _, e := range u.Result.Evaluations {
					one.Graders = append(one.Graders, graderKind{e.Name, e.Type, e.Weight, map[string]any{}})
					at, _, _ := strings.Cut(e.Position, ":")
					one.Source = cmp.Or(at, one.Source)
				}
			}
		}
		one.sum()
		a.Cases = append(a.Cases, one)
	}
	a.sum()
	return jsonvalue.Indent(a)
}

// endsGrader is the grader of a unit that failed although all its graders passed: by a limit, or by a step.
const endsGrader = "session-ends-well"

// armRunOf returns a unit as a run of an arm, of which reference is the one without the plugin.
func armRunOf(u Unit, reference bool) armRun {
	run := armRun{Graders: []graderRun{}, TracePath: u.Paths.Logs}
	r := u.Result
	if r == nil {
		why := "not run"
		run.Error = &why
		return run
	}
	run.DurationSeconds = time.Duration(r.Duration).Seconds()
	run.StartedAt = r.Started.UTC().Format(time.RFC3339)
	if m := r.Metrics; m != nil {
		run.Turns = m.Iterations
		if m.Cost != nil {
			run.CostUSD = m.Cost.Amount
		}
	}
	if r.MockRefused { // nothing else counts
		return run
	}
	for _, e := range r.Evaluations {
		g := graderRun{Name: e.Name, Weight: e.Weight, Explanation: e.Reason, WithOnly: e.Outcome == result.Reported}
		g.Scored = !g.WithOnly
		switch e.Outcome {
		case result.Reported:
			if reference {
				continue
			}
			g.Passed = e.Score != nil && *e.Score >= e.Threshold
		case result.Pass, result.Fail:
			g.Passed = e.Outcome == result.Pass
		default:
			why := fmt.Sprintf("%s: %s: %s", e.Name, e.Outcome, e.Reason)
			run.Error = &why
		}
		run.Graders = append(run.Graders, g)
	}
	switch {
	case u.Outcome == result.Error || u.Outcome == result.Skip || u.Outcome == result.NotRun:
		why := cmp.Or(r.Reason, string(u.Outcome))
		run.Error = &why
	case u.Outcome == result.Fail && !slices.ContainsFunc(run.Graders, graderRun.failed):
		run.Graders = append(run.Graders, graderRun{
			Name: endsGrader, Weight: 1, Explanation: cmp.Or(r.Reason, r.Stop), Scored: true,
		})
	}
	if run.Error != nil {
		run.Graders = []graderRun{} // of some nothing is known
	} else {
		run.Score, _ = r.Graded()
		run.Passed = u.Outcome == result.Pass
	}
	return run
}

// failed reports whether the grader counts, and has not passed.
func (g graderRun) failed() bool { return g.Scored && !g.Passed }

func counted(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// means returns the mean score and the pass rate of the runs that say something; ok is false if none does.
func means(runs []armRun) (score, passRate float64, ok bool) {
	n := 0.0
	for _, r := range runs {
		if r.Error == nil {
			n, score, passRate = n+1, score+r.Score, passRate+counted(r.Passed)
		}
	}
	if n == 0 {
		return 0, 0, false
	}
	return score / n, passRate / n, true
}

// sum fills in the aggregates of the case.
func (c *caseResult) sum() {
	var known bool
	c.Aggregates.Score, c.Aggregates.PassRate, known = means(c.Arms.With)
	score, rate, ok := means(c.Arms.Without)
	if !ok {
		return
	}
	c.Aggregates.ScoreWithout, c.Aggregates.PassRateWithout = &score, &rate
	if delta := c.Aggregates.Score - score; known {
		c.Aggregates.Delta = &delta
	}
}

// sum fills in the aggregates of the suite.
func (a *aggregateResult) sum() {
	deltas, n := 0.0, 0.0
	total := &a.Aggregates
	total.CasesTotal = len(a.Cases)
	for _, c := range a.Cases {
		total.OverallScore += c.Aggregates.Score / float64(len(a.Cases))
		total.OverallPassRate += c.Aggregates.PassRate / float64(len(a.Cases))
		unknown := slices.ContainsFunc(c.Arms.With, func(r armRun) bool { return r.Error != nil })
		if !unknown && c.Aggregates.Score >= a.Suite.Threshold {
			total.CasesPassed++
		}
		if c.Aggregates.Delta != nil {
			deltas, n = deltas+*c.Aggregates.Delta, n+1
		}
	}
	if n > 0 {
		mean := deltas / n
		total.MeanDelta = &mean
	}
}
