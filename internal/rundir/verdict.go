package rundir

import "github.com/sdd-eval/sdd-eval/internal/result"

// Judge returns the verdict on a run whose units and jobs ended like this: by the rules of package result, for all that
// the manifest lists.
func (m Manifest) Judge(units []result.Unit, jobs []result.Job) result.Run {
	return result.JudgeRun(m.cells(units), m.listedJobs(jobs), m.State == StateFinished, m.Problems)
}

// cells judges the cases under their variants, in the order of each one's first unit.
func (m Manifest) cells(units []result.Unit) []result.Trials {
	ended := make(map[string]result.Unit, len(units))
	for _, u := range units {
		ended[u.ID] = u
	}
	index := make(map[[2]string]int)
	var trials [][]result.Unit
	for _, id := range m.Units {
		u, ok := ended[id]
		if !ok {
			u = result.Unit{ID: id, Outcome: result.NotRun}
			u.Case, u.Variant, u.Trial, _ = splitUnit(id)
		}
		cell := [2]string{u.Case, u.Variant}
		i, ok := index[cell]
		if !ok {
			i = len(trials)
			index[cell] = i
			trials = append(trials, nil)
		}
		trials[i] = append(trials[i], u)
	}
	cells := make([]result.Trials, len(trials))
	for i, t := range trials {
		cells[i] = result.JudgeTrials(t, m.Need)
	}
	return cells
}

func (m Manifest) listedJobs(jobs []result.Job) []result.Job {
	ended := make(map[string]result.Job, len(jobs))
	for _, j := range jobs {
		ended[j.ID] = j
	}
	listed := make([]result.Job, len(m.Jobs))
	for i, id := range m.Jobs {
		j, ok := ended[id]
		if !ok {
			j = result.Job{ID: id, Outcome: result.NotRun}
		}
		listed[i] = j
	}
	return listed
}
