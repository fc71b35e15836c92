package report

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
)

// reference marks variants that are there to be compared with, where people look.
const reference = " (reference)"

// name returns the variant's id, and says that it is a reference if it is one.
func (v Variant) name() string {
	if v.Reference {
		return v.ID + reference
	}
	return v.ID
}

// Variant is one variant over all its units.
type Variant struct {
	ID    string `json:"id"`
	Style string `json:"style"`
	Kind  string `json:"kind"`
	// Reference says that it is there to be compared with: what it fails decides nothing.
	Reference bool `json:"reference,omitempty"`
	// Axes are its values on the axes of a matrix, by their names.
	Axes map[string]string `json:"axes,omitempty"`
	// Ablated is what it leaves out of the variant Of.
	Ablated string `json:"ablated,omitempty"`
	Of      string `json:"of,omitempty"`
	// Skills are those that it puts where its agent looks for skills.
	Skills []rundir.Skill `json:"skills,omitempty"`

	Preset  string   `json:"preset,omitempty"` // its name
	Model   string   `json:"model,omitempty"`
	Mode    string   `json:"mode,omitempty"`
	Command string   `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`
	Env     []string `json:"env,omitempty"` // the names of injected variables

	// Units counts its units, and Cases its results by the rule for trials.
	Units Counts `json:"units"`
	Cases Counts `json:"cases"`
	// Score is the mean of the units' scores, 0..1, or nil if none has one.
	Score      *float64         `json:"score"`
	Evaluators []EvaluatorTotal `json:"evaluator_totals"`
	// Activation says of skills and tools how often they were used where they should be, and where not.
	Activation []ActivationTotal `json:"activation,omitempty"`
	// Confusion says which of them were used in the place of others, nil if there are no others.
	Confusion []Confusion `json:"confusion,omitempty"`
	Human     Rating      `json:"human"`
	AI        Rating      `json:"ai"`

	Iterations  Sum            `json:"iterations"`
	Stops       map[string]int `json:"stops"`        // why units ended, by their last turn or the limit
	Modes       map[string]int `json:"modes"`        // of the agent's sessions, such as "auto, then default"
	StopReasons map[string]int `json:"stop_reasons"` // why turns ended
	Files       Files          `json:"files_changed"`
	Commands    Commands       `json:"terminal_commands"`
	ToolCalls   Sum            `json:"tool_calls"`
	Tools       map[string]int `json:"tool_calls_by_name"`
	Permissions map[string]int `json:"permission_requests"` // by decision
	Denied      int            `json:"denied_operations"`
	Tokens      Tokens         `json:"tokens"`
	// Cost has a sum for each currency. It is nil if no unit reports any.
	Cost []Cost `json:"cost"`
	Time Sum    `json:"duration_ms"`
}

// EvaluatorTotal is one evaluator over all units of a variant.
type EvaluatorTotal struct {
	Name  string   `json:"name"`
	Type  string   `json:"type"`
	Units Counts   `json:"units"`
	Score *float64 `json:"score"` // mean
}

// Rating has the scores of a variant by people or AI judges.
type Rating struct {
	Score  *float64  `json:"score"` // the mean, 0..10, or nil if there are no scores
	Scores []Opinion `json:"scores,omitempty"`
}

// Opinion is one score.
type Opinion struct {
	By    string  `json:"by"`             // the rater's name, or the judge's model
	Unit  string  `json:"unit,omitempty"` // empty for the variant as a whole
	Score float64 `json:"score"`          // 0..10
	Notes string  `json:"notes,omitempty"`
}

// Sum is the sum of a figure over the units for which it is known.
type Sum struct {
	// Sum is nil if the figure is known for no unit. If Known is less than Of, it is a lower bound.
	Sum   *float64 `json:"sum"`
	Known int      `json:"known"` // units for which the figure is known
	Of    int      `json:"of"`    // units that could have the figure
	Min   *float64 `json:"min"`
	Max   *float64 `json:"max"`
}

// Files are the files that differ from the prepared workspaces.
type Files struct {
	Added    int   `json:"added"`
	Modified int   `json:"modified"`
	Deleted  int   `json:"deleted"`
	Bytes    int64 `json:"bytes"` // of added and modified files
	Known    int   `json:"known"` // units whose workspace was compared
	Of       int   `json:"of"`
}

// Commands sums up the commands that ran.
type Commands struct {
	Count int `json:"count"`
	// Failed counts commands that ended with a code other than 0, or by a signal.
	Failed   int            `json:"failed"`
	Unknown  int            `json:"exit_unknown"`
	Cut      int            `json:"output_cut"`
	BySource map[string]int `json:"by_source"`
}

// Tokens has the sums of the tokens that agents report.
type Tokens struct {
	Input  Sum `json:"input"`
	Output Sum `json:"output"`
	Total  Sum `json:"total"`
}

// Cost is a sum of money.
type Cost struct {
	Currency string `json:"currency"`
	Sum
}

// add adds the figure of one unit, or nil if it is unknown.
func (s *Sum) add(v *float64) {
	s.Of++
	if v == nil {
		return
	}
	s.Known++
	sum, low, high := *v, *v, *v
	if s.Sum != nil {
		sum, low, high = *s.Sum+*v, min(*s.Min, *v), max(*s.Max, *v)
	}
	s.Sum, s.Min, s.Max = &sum, &low, &high
}

func (s *Sum) count(n int) { f := float64(n); s.add(&f) }

func (s *Sum) maybe(n *int64) {
	if n == nil {
		s.add(nil)
		return
	}
	s.count(int(*n))
}

// sumUp fills in the sums over the variant's units.
func (v *Variant) sumUp(units []Unit, results []Result) {
	v.Stops, v.StopReasons, v.Tools = map[string]int{}, map[string]int{}, map[string]int{}
	v.Modes = map[string]int{}
	v.Permissions, v.Commands.BySource = map[string]int{}, map[string]int{}
	for _, r := range results {
		if r.Variant == v.ID {
			v.Cases.add(r.Outcome)
		}
	}
	var scores []*float64
	for _, u := range units {
		if u.Variant != v.ID {
			continue
		}
		v.Units.add(u.Outcome)
		scores = append(scores, u.Score)
		for _, s := range u.AI {
			v.AI.Scores = append(v.AI.Scores, Opinion{By: s.Model, Unit: u.ID, Score: s.Score, Notes: s.Reason})
		}
		if u.Result != nil && u.Result.Stop != "" {
			v.Stops[u.Result.Stop]++
		}
		if u.Result != nil && len(u.Result.Modes) > 0 {
			v.Modes[strings.Join(u.Result.Modes, ", then ")]++
		}
		if u.Result != nil && u.Outcome != result.Skip {
			v.Time.count(int(time.Duration(u.Result.Duration).Milliseconds()))
		}
		if m := u.metrics(); m != nil {
			v.count(m)
		}
	}
	v.Score = result.Mean(scores)
	v.Human.settle()
	v.AI.settle()
	v.Evaluators = evaluatorTotals(v.ID, units)
	v.Activation = activationTotals(v.ID, units)
	v.Confusion = confusions(v.ID, units, v.Activation)
	v.cost(units)
}

// count adds the metrics of one unit.
func (v *Variant) count(m *result.Metrics) {
	v.Iterations.count(m.Iterations)
	for _, s := range m.StopReasons {
		v.StopReasons[s]++
	}
	calls := 0
	for name, n := range m.ToolCalls {
		v.Tools[name] += n
		calls += n
	}
	v.ToolCalls.count(calls)
	v.Files.Of++
	if c := m.Changes; c != nil {
		v.Files.Known++
		v.Files.Added += c.Added
		v.Files.Modified += c.Modified
		v.Files.Deleted += c.Deleted
		v.Files.Bytes += c.Bytes
	}
	for _, c := range m.Commands {
		v.Commands.add(c)
	}
	for _, p := range m.Permissions {
		v.Permissions[p.Decision]++
	}
	v.Denied += len(m.Denied)
	t := m.Tokens
	if t == nil {
		t = &result.Tokens{}
	}
	v.Tokens.Input.maybe(t.Input)
	v.Tokens.Output.maybe(t.Output)
	v.Tokens.Total.maybe(t.Total)
}

func (c *Commands) add(cmd result.Command) {
	c.Count++
	c.BySource[cmd.Source]++
	switch {
	case cmd.Signal != "" || cmd.ExitCode != nil && *cmd.ExitCode != 0:
		c.Failed++
	case cmd.ExitCode == nil:
		c.Unknown++
	}
	if cmd.Cut {
		c.Cut++
	}
}

// cost sums up the cost by currency, in the order of their names.
func (v *Variant) cost(units []Unit) {
	started := 0
	sums := make(map[string]*Sum)
	for _, u := range units {
		m := u.metrics()
		if u.Variant != v.ID || m == nil {
			continue
		}
		started++
		if m.Cost == nil {
			continue
		}
		if sums[m.Cost.Currency] == nil {
			sums[m.Cost.Currency] = &Sum{}
		}
		sums[m.Cost.Currency].add(&m.Cost.Amount)
	}
	for _, currency := range slices.Sorted(maps.Keys(sums)) {
		s := sums[currency]
		s.Of = started
		v.Cost = append(v.Cost, Cost{Currency: currency, Sum: *s})
	}
}

// settle sorts the opinions, so that nothing depends on their original order, and computes their mean.
func (r *Rating) settle() {
	slices.SortStableFunc(r.Scores, func(a, b Opinion) int { return strings.Compare(a.By, b.By) })
	scores := make([]*float64, len(r.Scores))
	for i := range r.Scores {
		scores[i] = &r.Scores[i].Score
	}
	r.Score = result.Mean(scores)
}

func evaluatorTotals(variant string, units []Unit) []EvaluatorTotal {
	index := make(map[string]int)
	var totals []EvaluatorTotal
	var scores [][]*float64
	for _, u := range units {
		if u.Variant != variant || u.Result == nil {
			continue
		}
		for _, e := range u.Result.Evaluations {
			i, ok := index[e.Name]
			if !ok {
				i = len(totals)
				index[e.Name] = i
				totals = append(totals, EvaluatorTotal{Name: e.Name, Type: e.Type})
				scores = append(scores, nil)
			}
			totals[i].Units.add(e.Outcome)
			scores[i] = append(scores[i], e.Score)
		}
	}
	for i := range totals {
		totals[i].Score = result.Mean(scores[i])
	}
	return totals
}
