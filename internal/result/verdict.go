package result

import (
	"fmt"
	"slices"
)

// Trials is the result of all trials of one case under one variant.
type Trials struct {
	Units []Unit
	Rule
	// Reference says that the variant is there to be compared with, see [Trials.Counts].
	Reference bool
	// Outcome is the verdict: Whole if that is bad, else the outcome of the first evaluator whose outcome is bad, else
	// Whole.
	Outcome Outcome
	// Whole is the verdict from the outcomes of the trials, without that on each evaluator.
	Whole Outcome
	// Count has the number of trials with each outcome.
	Count Count
	// Score is the mean of the trials' scores, nil if none has one.
	Score *float64
	// Evaluators has each evaluator that judged any trial, in the playbook's order.
	Evaluators []Evaluator
}

// Rule says when the trials of a case under a variant pass.
type Rule struct {
	// Need is how many of them must pass.
	Need int
	// Score, if it is not 0, is what the mean of [Unit.Graded] must reach in the place of that.
	Score float64
}

func (r Rule) String() string {
	if r.Score > 0 {
		return "need a score of " + FormatScore(r.Score)
	}
	return fmt.Sprintf("need %d", r.Need)
}

// Evaluator is the verdict of one evaluator on all trials of a case under a variant.
type Evaluator struct {
	Name, Type string
	Outcome    Outcome
	// Reason is set if the evaluator judged too few trials for a verdict.
	Reason string
	// Count has the number of verdicts with each outcome.
	Count Count
	// Score is the mean of its scores, nil if there are none.
	Score *float64
	// Verdicts are its verdicts on single trials, of those that it judged.
	Verdicts []Verdict
}

// Verdict is the verdict of an evaluator on one trial.
type Verdict struct {
	Evaluation
	Unit *Unit
}

// Count has the number of results with each outcome.
type Count map[Outcome]int

// add counts an outcome. An unknown one counts as an error, so that it cannot look green.
func (c Count) add(o Outcome) {
	switch o {
	case Pass, Fail, Skip, Reported, Completed, NotRun:
		c[o]++
	default:
		c[Error]++
	}
}

// Bad reports whether something is wrong with a result that has this outcome.
func (o Outcome) Bad() bool {
	switch o {
	case Pass, Completed, Skip, Reported:
		return false
	}
	return true
}

// JudgeTrials returns the verdict on the trials of one case under one variant, of which there is at least one, by
// a rule. A trial that has not run has the outcome [NotRun].
//
// If any trial is an error, so is the verdict, since nothing is known about that trial. The verdict is [NotRun] if the
// trials that have not run could change it. Each evaluator must pass in as many trials as must pass as a whole; where
// the score decides, what an evaluator fails is only reported if the score is reached.
func JudgeTrials(units []Unit, rule Rule) Trials {
	t := Trials{Units: units, Rule: rule, Reference: units[0].Reference, Count: make(Count)}
	var scores []*float64
	for _, u := range units {
		t.Count.add(u.Outcome)
		scores = append(scores, u.Score())
	}
	t.Score = Mean(scores)
	t.Whole = rule.whole(t.Count, units)
	t.Outcome = t.Whole
	for _, name := range evaluators(units) {
		e := judgeEvaluator(name, units, rule.Need)
		if rule.Score > 0 && t.Whole == Pass && e.Outcome == Fail {
			e.Outcome = Reported
		}
		t.Evaluators = append(t.Evaluators, e)
		if !t.Outcome.Bad() && e.Outcome.Bad() { // the evaluator passed too few trials, though enough passed as a whole
			t.Outcome = e.Outcome
		}
	}
	return t
}

// Counts returns the outcome that the trials have in the verdict on their run. What a reference passes or fails is only
// reported; its errors are errors, and what of it is missing is missing.
func (t Trials) Counts() Outcome {
	if t.Reference && (!t.Outcome.Bad() || t.Outcome == Fail) && t.Outcome != Skip {
		return Reported
	}
	return t.Outcome
}

func (r Rule) whole(count Count, units []Unit) Outcome {
	switch {
	case count[Error] > 0:
		return Error
	case count[Skip] == len(units):
		return Skip
	case r.Score > 0:
		return r.scored(units)
	case count[Pass]+count[Completed]+count[NotRun] < r.Need:
		return Fail
	case count[NotRun] > 0:
		return NotRun
	case count[Pass] >= r.Need:
		return Pass
	}
	return Completed
}

// scored is the verdict by the mean score of the trials. That of one which is not known is not made up.
func (r Rule) scored(units []Unit) Outcome {
	sum, notRun := 0.0, 0
	for _, u := range units {
		score, ok := u.Graded()
		switch {
		case u.Outcome == NotRun:
			notRun++
		case !ok:
			return Error
		}
		sum += score
	}
	need := r.Score*float64(len(units)) - 1e-9 // 0.7 of 3 trials is 2.0999999999999996
	switch {
	case sum+float64(notRun) < need:
		return Fail
	case notRun > 0:
		return NotRun
	}
	return Pass
}

// evaluators returns the names of the evaluators that judged any trial.
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
	default: // the trials that it did not judge could change the verdict
		e.Outcome = Error
		e.Reason = fmt.Sprintf("judged %d of %d trials, %d passed, need %d", judged, len(units), passed, need)
	}
	return e
}

// Run is the verdict on a run.
type Run struct {
	Outcome Outcome
	// Cases are all listed cases under their variants, and Jobs all listed jobs outside the matrix.
	Cases []Trials
	Jobs  []Job
	// Problems are errors of the run as a whole. With any of them its outcome is [Error].
	Problems []string
}

// The problems of runs that decided nothing but would look like success.
const (
	idle      = "nothing was judged, and no job ran a command"
	undecided = "only references were judged, all else was skipped, and no job ran a command"
)

// JudgeRun returns the verdict on a run. An error takes precedence over everything, since nothing is known about its
// unit, then a failure, then [NotRun]: a unit that has not run, or a run that is not finished. A completed case is not
// a pass, and neither is its run. Jobs are not judged: they make a run completed only if no case was judged and they
// ran commands. If everything was skipped, or all but references was, and no job ran a command, the run has a problem
// and is an error. A run that has only references is completed.
func JudgeRun(cases []Trials, jobs []Job, finished bool, problems []string) Run {
	r := Run{Cases: cases, Jobs: jobs, Problems: slices.Clone(problems)}
	judged, all, commands, skipped := make(Count), make(Count), 0, 0
	for _, c := range cases {
		judged.add(c.Counts())
		all.add(c.Counts())
		if c.Outcome == Skip && !c.Reference {
			skipped++
		}
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
	case judged[Reported] > 0 && skipped == 0, commands > 0:
		r.Outcome = Completed
	case judged[Reported] > 0:
		r.Outcome = Error
		r.Problems = append(r.Problems, undecided)
	default:
		r.Outcome = Error
		r.Problems = append(r.Problems, idle)
	}
	return r
}

// Mean returns the mean of the scores that are not nil, nil if there are none.
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
