package result

import (
	"fmt"
	"slices"
)

// Trials is the result of all trials of one case under one variant.
type Trials struct {
	Units []Unit
	// Need is how many of them have to pass.
	Need int
	// Outcome is the verdict: Whole, or, where nothing is wrong with that, the first of the evaluators with which something is.
	Outcome Outcome
	// Whole is the result of the trials as wholes.
	Whole Outcome
	// Count tells how many trials ended in which way.
	Count Count
	// Score is the mean of the trials' scores, nil if none has one.
	Score *float64
	// Evaluators are those that gave a verdict in any trial, in the playbook's order.
	Evaluators []Evaluator
}

// Evaluator is what one evaluator says over all trials of a case under a variant.
type Evaluator struct {
	Name, Type string
	Outcome    Outcome
	// Reason says why, where Verdicts do not: it judged too few trials for anything to be known.
	Reason string
	// Count tells how many of its verdicts are of which kind.
	Count Count
	// Score is the mean of its scores, nil if it gave none.
	Score *float64
	// Verdicts are of the trials in which it gave one.
	Verdicts []Verdict
}

// Verdict is what an evaluator says of one trial.
type Verdict struct {
	Evaluation
	Unit *Unit
}

// Count tells how many things ended in which way.
type Count map[Outcome]int

// add counts an outcome; an unknown one is an error, and must not look green.
func (c Count) add(o Outcome) {
	switch o {
	case Pass, Fail, Skip, Reported, Completed, NotRun:
		c[o]++
	default:
		c[Error]++
	}
}

// Bad reports whether something is wrong with what ended so.
func (o Outcome) Bad() bool {
	switch o {
	case Pass, Completed, Skip, Reported:
		return false
	}
	return true
}

// JudgeTrials applies the rule for trials: those of one case under one variant, at least one, of which need have to pass. A
// trial that has not run has the outcome [NotRun].
//
// An error is one whatever the other trials say, since nothing is known of that one. What has not run decides nothing as
// long as it could turn the verdict. An evaluator has to pass in as many trials as the whole.
func JudgeTrials(units []Unit, need int) Trials {
	t := Trials{Units: units, Need: need, Count: make(Count)}
	var scores []*float64
	for _, u := range units {
		t.Count.add(u.Outcome)
		scores = append(scores, u.Score())
	}
	t.Score = Mean(scores)
	t.Whole = whole(t.Count, len(units), need)
	t.Outcome = t.Whole
	for _, name := range evaluators(units) {
		e := judgeEvaluator(name, units, need)
		t.Evaluators = append(t.Evaluators, e)
		if !t.Outcome.Bad() && e.Outcome.Bad() { // it passed too seldom, though enough trials passed
			t.Outcome = e.Outcome
		}
	}
	return t
}

func whole(count Count, trials, need int) Outcome {
	switch {
	case count[Error] > 0:
		return Error
	case count[Skip] == trials:
		return Skip
	case count[Pass]+count[Completed]+count[NotRun] < need:
		return Fail
	case count[NotRun] > 0:
		return NotRun
	case count[Pass] >= need:
		return Pass
	}
	return Completed
}

// evaluators returns the names of those that gave a verdict in any trial.
func evaluators(units []Unit) []string {
	var names []string
	for _, u := range units {
		for _, e := range u.Evaluations {
			if !slices.Contains(names, e.Name) {
				names = append(names, e.Name)
			}
		}
	}
	return names
}

func judgeEvaluator(name string, units []Unit, need int) Evaluator {
	e := Evaluator{Name: name, Count: make(Count)}
	var scores []*float64
	notRun := 0
	for i := range units {
		if units[i].Outcome == NotRun {
			notRun++
			continue
		}
		j := slices.IndexFunc(units[i].Evaluations, func(e Evaluation) bool { return e.Name == name })
		if j < 0 {
			continue
		}
		v := units[i].Evaluations[j]
		e.Type = v.Type
		e.Count.add(v.Outcome)
		scores = append(scores, v.Score)
		e.Verdicts = append(e.Verdicts, Verdict{v, &units[i]})
	}
	e.Score = Mean(scores)
	passed, judged := e.Count[Pass], len(e.Verdicts)
	switch {
	case e.Count[Error] > 0:
		e.Outcome = Error
	case e.Count[Skip] == judged && notRun == 0:
		e.Outcome = Skip
	case e.Count[Reported] > 0:
		e.Outcome = Reported
	case passed >= need:
		e.Outcome = Pass
	case passed+len(units)-judged < need:
		e.Outcome = Fail
	case notRun > 0:
		e.Outcome = NotRun
	default: // the trials it never saw could have decided
		e.Outcome = Error
		e.Reason = fmt.Sprintf("judged %d of %d trials, %d passed, need %d", judged, len(units), passed, need)
	}
	return e
}

// Run is the verdict on a run.
type Run struct {
	Outcome Outcome
	// Cases are the cases under their variants, and Jobs those outside the matrix, all that are listed.
	Cases []Trials
	Jobs  []Job
	// Problems are errors of the run as a whole. With any of them its outcome is [Error].
	Problems []string
}

// idle is the problem of a run that would look like success.
const idle = "nothing was judged, and no job ran a command"

// JudgeRun applies the rule for runs. An error comes before everything, since nothing is known of what ended in it, then a
// failure, then what is missing: listed and not run, or a run that is not finished. A case that was completed is no pass, and
// so the run is none. Nobody judges jobs: they only count if there is nothing else, and if they did more than report. Where
// everything was skipped and nothing was done that is a problem of the run.
func JudgeRun(cases []Trials, jobs []Job, finished bool, problems []string) Run {
	r := Run{Cases: cases, Jobs: jobs, Problems: slices.Clone(problems)}
	judged, all, commands := make(Count), make(Count), 0
	for _, c := range cases {
		judged.add(c.Outcome)
		all.add(c.Outcome)
	}
	for _, j := range jobs {
		all.add(j.Outcome)
		commands += j.Commands
	}
	switch {
	case all[Error] > 0 || len(problems) > 0:
		r.Outcome = Error
	case all[Fail] > 0:
		r.Outcome = Fail
	case all[NotRun] > 0 || !finished:
		r.Outcome = NotRun
	case judged[Completed] > 0:
		r.Outcome = Completed
	case judged[Pass] > 0:
		r.Outcome = Pass
	case commands > 0:
		r.Outcome = Completed
	default:
		r.Outcome = Error
		r.Problems = append(r.Problems, idle)
	}
	return r
}

// Mean returns the mean of the scores that there are, nil if there are none.
func Mean(scores []*float64) *float64 {
	sum, n := 0.0, 0
	for _, s := range scores {
		if s != nil {
			sum, n = sum+*s, n+1
		}
	}
	if n == 0 {
		return nil
	}
	mean := sum / float64(n)
	return &mean
}
