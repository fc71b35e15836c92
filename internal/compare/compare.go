package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/sdd-eval/sdd-eval/internal/blame"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/stats"
)

// Number is a figure that is null in JSON if it is not known.
type Number float64

// MarshalJSON implements [json.Marshaler].
func (n Number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, float64(n), 'g', 8, 64), nil
}

// Range is an interval, [low, high] in JSON.
type Range [2]Number

func rangeOf(i stats.Interval) Range { return Range{Number(i.Low), Number(i.High)} }

// Comparison is what the comparison of two arms came to.
type Comparison struct {
	Version int     `json:"version"`
	Scope   Scope   `json:"scope"`
	Metric  string  `json:"metric"`
	Base    Summary `json:"base"`
	Head    Summary `json:"head"`
	Verdict Verdict `json:"verdict"`
	// Why says why a verdict is invalid, or what else limits it.
	Why       []string `json:"why,omitempty"`
	SmallLoss bool     `json:"small_loss,omitempty"`
	Delta     Number   `json:"delta"`
	Interval  Range    `json:"interval"`
	P         Number   `json:"p"`
	PExact    Number   `json:"p_exact"`
	// Adjusted is P adjusted for the number of comparisons that were made together, nil for one.
	Adjusted *Number `json:"p_adjusted,omitempty"`
	Margin   float64 `json:"margin"`
	Alpha    float64 `json:"alpha"`
	// MDE is the smallest drop that this design sees with a power of 80 %, null if none is or nothing is known.
	MDE Number `json:"mde"`
	// Unseen is the largest drop that was not refused.
	Unseen Number `json:"unseen"`
	// Pairs is how many cases were compared.
	Pairs        int            `json:"pairs"`
	Incomparable []Incomparable `json:"incomparable"`
	Missing      struct {
		Base int `json:"base"`
		Head int `json:"head"`
	} `json:"missing"`
	// Bounds are of the difference, had all missing trials passed or failed; for an invalid comparison alone.
	Bounds *Range `json:"bounds,omitempty"`
	// Flips are the cases whose rates differ, those that lost most first; Flaky those that pass now and then.
	Flips []Flip   `json:"flips"`
	Flaky []string `json:"flaky"`
	// Same are the cases whose rates do not differ.
	Same []Flip `json:"-"`
	// WithoutSessions are the arms that are of files, so that nobody knows where sessions of the flips part.
	WithoutSessions []string `json:"without_sessions,omitempty"`
	// Metrics has score (a difference), cost, tokens and time (ratios), as far as they are known.
	Metrics    map[string]Metric `json:"metrics"`
	Evaluators []Row             `json:"evaluators,omitempty"`
	// Checks compares the checks of which evaluators tell, nil unless both arms have some.
	Checks *Checks `json:"checks,omitempty"`
	// Activation says how skills and tools were used of which cases say whether they should be.
	Activation []Activation `json:"activation,omitempty"`
	More       *More        `json:"more,omitempty"`
}

// Summary is what one arm came to.
type Summary struct {
	Name   string `json:"name"`
	Trials int    `json:"trials"` // that say something
	Rate   Number `json:"pass_rate"`
	// Interval is that of the rate, at 95 %.
	Interval Range `json:"interval"`
	// Any and All are pass@k and pass^k for each k that all cases have trials for.
	Any     []Number `json:"pass_at_k"`
	All     []Number `json:"pass_all_k"`
	CostUSD Number   `json:"cost_usd"` // of all trials
	Tokens  Number   `json:"tokens"`
	Seconds Number   `json:"seconds"`
	// Page is where the page of its run is, with slashes, for links; empty: there is none.
	Page string `json:"-"`
}

// Flip is a case whose pass rates differ.
type Flip struct {
	Case string `json:"case"`
	Base Number `json:"base"`
	Head Number `json:"head"`
	// P is of the case by itself, adjusted for the number of cases.
	P Number `json:"p"`
	// PartsAt is where its sessions part, of the first cases that differ.
	PartsAt *Parting `json:"parts_at,omitempty"`
	// Blame are the tool calls that go along with failure, over the trials of both arms.
	Blame []blame.Association `json:"blame,omitempty"`
	// Counts are how often it passed.
	Counts stats.Pair `json:"-"`

	pair pair
}

// Metric is by how much, or how many times, a figure is larger in the head.
type Metric struct {
	Value    Number `json:"value"`
	Interval Range  `json:"interval"`
	P        Number `json:"p"`
	// Cases is how many have the figure in both arms.
	Cases int `json:"cases"`
}

// Row is an evaluator in both arms. It explores: the verdict is not made of it.
type Row struct {
	Name  string `json:"name"`
	Base  Number `json:"base"`
	Head  Number `json:"head"`
	Delta Number `json:"delta"`
	// P is adjusted for the number of evaluators.
	P Number `json:"p"`
}

// More is what would decide an inconclusive comparison in four of five times, were the rates what they seem.
type More struct {
	Trials int    `json:"trials"` // of each case in each arm, beside those that there are
	Cost   Number `json:"cost_usd"`
}

// Compare compares two arms.
func (r Rule) Compare(base, head Arm) *Comparison {
	pairs, others := match(base, head)
	c := &Comparison{
		Version: 1, Scope: r.Scope, Metric: "pass", Margin: r.Margin, Alpha: r.Alpha, Pairs: len(pairs),
		Incomparable: others, Verdict: Invalid, Flips: []Flip{}, Flaky: []string{}, Metrics: make(map[string]Metric),
	}
	if c.Incomparable == nil {
		c.Incomparable = []Incomparable{}
	}
	var known []pair // in which both arms say something
	bases, heads := make([]Case, len(pairs)), make([]Case, len(pairs))
	for i, p := range pairs {
		bases[i], heads[i] = p.base, p.head
		if n := p.counts(); n.Base.Trials > 0 && n.Head.Trials > 0 {
			known = append(known, p)
		}
	}
	c.Base, c.Head = summary(base.Name, bases), summary(head.Name, heads)
	m, n := missing(bases), missing(heads)
	c.Missing.Base, c.Missing.Head = m.Passed, n.Passed
	counts, clusters := make([]stats.Pair, len(known)), make([]string, len(known))
	for i, p := range known {
		counts[i], clusters[i] = p.counts(), cmp.Or(p.base.Cluster, p.head.Cluster, "\x00"+p.base.ID)
	}
	d := r.Decide(counts, clusters)
	c.Delta, c.Interval, c.P, c.PExact = Number(d.Delta), rangeOf(d.Interval), Number(d.P), Number(d.Exact)
	c.Verdict, c.SmallLoss, c.Unseen = d.Verdict, d.SmallLoss, Number(d.Loss)
	if d.Split {
		c.Why = append(c.Why, fmt.Sprintf("the interval and p = %.3f do not agree on whether there is a difference",
			d.P))
	}
	c.refuse(known, clusters, m, n)
	if c.Verdict == Invalid {
		c.Bounds = bounds(pairs)
	}
	c.explore(base, head, known)
	c.Checks = checks(known, clusters, r.Alpha)
	c.Activation = activations(pairs)
	c.design(known, d)
	return c
}

// refuse makes the comparison invalid where nothing can be known, and says why.
func (c *Comparison) refuse(known []pair, clusters []string, base, head stats.Count) {
	var why []string
	if len(known) == 0 {
		why = append(why, "no case has a verdict in both arms")
	}
	if c.Scope == Population && c.Verdict == Invalid && len(known) > 0 {
		n := len(slices.Compact(slices.Sorted(slices.Values(clusters))))
		why = append(why, fmt.Sprintf("a population takes %d clusters of cases, and there are %d", MinClusters, n))
	}
	if id, ok := repeated(known); ok {
		why = append(why,
			fmt.Sprintf("%s: one session is there more than once, by its recording or its run, which is one trial", id))
	}
	for _, arm := range []struct {
		name string
		stats.Count
	}{{"base", base}, {"head", head}} {
		if arm.Passed > 1 && arm.Rate() > .1 {
			why = append(why, fmt.Sprintf("%d of %d trials of the %s are missing: more than 10 %%", arm.Passed,
				arm.Trials, arm.name))
		}
	}
	if p := stats.Fisher(base, head); max(base.Passed, head.Passed) > 1 && p < .05 {
		why = append(why,
			fmt.Sprintf("%d of %d trials are missing in the base, %d of %d in the head: not by chance (p = %.3f)",
				base.Passed, base.Trials, head.Passed, head.Trials, p))
	}
	if why != nil {
		c.Verdict, c.SmallLoss, c.Why = Invalid, false, append(why, c.Why...)
	}
}

// bounds returns the smallest and the largest difference that the missing trials leave possible.
func bounds(pairs []pair) *Range {
	var low, high float64
	for _, p := range pairs {
		b, h := p.counts().Base, p.counts().Head
		n, m := float64(len(p.base.Trials)), float64(len(p.head.Trials))
		if n == 0 || m == 0 {
			return nil
		}
		low += float64(h.Passed)/m - (n-float64(b.Trials-b.Passed))/n
		high += (m-float64(h.Trials-h.Passed))/m - float64(b.Passed)/n
	}
	if len(pairs) == 0 {
		return nil
	}
	k := float64(len(pairs))
	return &Range{Number(low / k), Number(high / k)}
}

// summary sums up the cases of an arm.
func summary(name string, cases []Case) Summary {
	s := Summary{Name: name, Rate: Number(math.NaN()), Interval: rangeOf(stats.Interval{
		Low:  math.NaN(),
		High: math.NaN(),
	})}
	var rates []float64
	var all stats.Count
	least := math.MaxInt
	for _, c := range cases {
		n := c.count()
		if n.Trials == 0 {
			continue
		}
		rates = append(rates, n.Rate())
		all.Passed, all.Trials, least = all.Passed+n.Passed, all.Trials+n.Trials, min(least, n.Trials)
	}
	s.Trials = all.Trials
	if len(rates) > 0 {
		e := stats.Clustered[int](rates, nil, .95)
		s.Rate, s.Interval = Number(e.Mean), rangeOf(stats.Interval{Low: max(0, e.Interval.Low), High: min(1,
			e.Interval.High)})
		if len(rates) == 1 || all.Trials == len(rates) { // the trials do not depend on each other
			s.Interval = rangeOf(all.Wilson(.95))
		}
		for k := 1; k <= min(least, 10); k++ {
			var some, every float64
			for _, c := range cases {
				if n := c.count(); n.Trials > 0 {
					some, every = some+n.PassAtK(k), every+n.PassAllK(k)
				}
			}
			s.Any, s.All = append(s.Any, Number(some/float64(len(rates)))), append(s.All,
				Number(every/float64(len(rates))))
		}
	}
	s.CostUSD, s.Tokens, s.Seconds = total(cases, cost), total(cases, tokens), total(cases, seconds)
	return s
}

func cost(t Trial) *float64    { return t.CostUSD }
func tokens(t Trial) *float64  { return t.Tokens }
func seconds(t Trial) *float64 { return t.Seconds }
func score(t Trial) *float64   { return t.Score }

// total adds up a figure of all trials that say something: unknown if it is for one of them, or if there are none.
func total(cases []Case, figure func(Trial) *float64) Number {
	sum := math.NaN()
	for _, c := range cases {
		for _, t := range c.Trials {
			if !t.known() {
				continue
			}
			v := figure(t)
			if v == nil {
				return Number(math.NaN())
			}
			if math.IsNaN(sum) {
				sum = 0
			}
			sum += *v
		}
	}
	return Number(sum)
}

// explore fills in what the verdict is not made of.
func (c *Comparison) explore(base, head Arm, known []pair) {
	var flips []Flip
	var ps []float64
	for _, p := range known {
		n := p.counts()
		b, h := n.Base.Rate(), n.Head.Rate()
		if b > 0 && b < 1 || h > 0 && h < 1 {
			c.Flaky = append(c.Flaky, p.base.ID)
		}
		ps = append(ps, stats.MantelHaenszel([]stats.Pair{n}).MidP)
		flips = append(flips, Flip{Case: p.base.ID, Base: Number(b), Head: Number(h), Counts: n, pair: p})
	}
	for i, p := range stats.BenjaminiHochberg(ps) {
		if flips[i].P = Number(p); flips[i].Base != flips[i].Head {
			c.Flips = append(c.Flips, flips[i])
		} else {
			c.Same = append(c.Same, flips[i])
		}
	}
	slices.SortStableFunc(c.Flips, func(a, b Flip) int { return cmp.Compare(a.Head-a.Base, b.Head-b.Base) })
	for _, arm := range []Arm{base, head} {
		if arm.Calls == nil && len(c.Flips) > 0 {
			c.WithoutSessions = append(c.WithoutSessions, arm.Name)
		}
	}
	for i := range c.Flips[:min(len(c.Flips), maxShown)] {
		if c.WithoutSessions == nil {
			c.Flips[i].PartsAt = parting(base, head, c.Flips[i].pair)
			c.Flips[i].Blame = blamed(base, head, c.Flips[i].pair, c.Alpha)
		}
	}
	if values := scores(known, score); len(values) > 0 {
		c.Metrics["score"] = c.score(values)
	}
	for name, figure := range map[string]func(Trial) *float64{"cost": cost, "tokens": tokens, "time": seconds} {
		if values := scores(known, figure); len(values) > 0 {
			ratio, interval := stats.Ratio(values, .95)
			c.Metrics[name] = Metric{Number(ratio), rangeOf(interval), Number(math.NaN()), len(values)}
		}
	}
	c.Evaluators = rows(known)
}

// score compares the mean scores of cases: by chance within cases, without an interval, or as a sample.
func (c *Comparison) score(values []stats.Scores) Metric {
	differences := make([]float64, len(values))
	for i, v := range values {
		differences[i] = mean(v.Head) - mean(v.Base)
	}
	e := stats.Clustered[int](differences, nil, 1-c.Alpha)
	if c.Scope == Suite {
		e.P, e.Interval = stats.Permutation(values), stats.Interval{Low: math.NaN(), High: math.NaN()}
	}
	return Metric{Number(e.Mean), rangeOf(e.Interval), Number(e.P), len(values)}
}

// scores returns a figure of the cases that have it in all trials that say something, in both arms.
func scores(known []pair, figure func(Trial) *float64) (all []stats.Scores) {
	values := func(c Case) (list []float64, ok bool) {
		for _, t := range c.Trials {
			if !t.known() {
				continue
			}
			v := figure(t)
			if v == nil {
				return nil, false
			}
			list = append(list, *v)
		}
		return list, true
	}
	for _, p := range known {
		b, ok := values(p.base)
		h, also := values(p.head)
		if ok && also {
			all = append(all, stats.Scores{Base: b, Head: h})
		}
	}
	return all
}

func mean(values []float64) float64 {
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// rows compares the evaluators that say something in both arms, in the order of their names.
func rows(known []pair) (all []Row) {
	names := make(map[string]bool)
	for _, p := range known {
		for _, t := range slices.Concat(p.base.Trials, p.head.Trials) {
			for name := range t.Evaluators {
				names[name] = true
			}
		}
	}
	if len(names) < 2 {
		return nil // one says what the outcome says
	}
	var ps []float64
	for name := range names {
		var counts []stats.Pair
		var base, head float64
		for _, p := range known {
			n := stats.Pair{Base: p.base.evaluator(name), Head: p.head.evaluator(name)}
			if n.Base.Trials > 0 && n.Head.Trials > 0 {
				counts = append(counts, n)
				base, head = base+n.Base.Rate(), head+n.Head.Rate()
			}
		}
		if len(counts) == 0 {
			continue
		}
		n := float64(len(counts))
		all = append(all, Row{name, Number(base / n), Number(head / n), Number((head - base) / n), 0})
		ps = append(ps, stats.MantelHaenszel(counts).MidP)
	}
	for i, p := range stats.BenjaminiHochberg(ps) {
		all[i].P = Number(p)
	}
	slices.SortFunc(all, func(a, b Row) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// evaluator returns how often an evaluator passed.
func (c Case) evaluator(name string) stats.Count {
	var n stats.Count
	for _, t := range c.Trials {
		switch t.Evaluators[name] {
		case result.Pass:
			n.Passed++
			n.Trials++
		case result.Fail:
			n.Trials++
		}
	}
	return n
}

// design says what the design can see, and for an inconclusive comparison what would decide it.
func (c *Comparison) design(known []pair, d Decision) {
	c.MDE = Number(math.NaN())
	if len(known) == 0 || c.Verdict == Invalid {
		return
	}
	var rates []float64
	var each, paid, priced float64
	for _, p := range known {
		n := p.counts()
		rates = append(rates, n.Base.Expected())
		each += float64(n.Base.Trials+n.Head.Trials) / 2
	}
	each /= float64(len(known))
	if c.Scope == Population { // by the error that was seen: more trials of the same cases need not decide
		c.MDE = Number(stats.DetectableBy(d.Interval, 1-c.Alpha, .8))
		return
	}
	c.MDE = Number(stats.Detectable(rates, max(1, int(each)), c.Alpha, .8))
	if c.Verdict != Inconclusive {
		return
	}
	trials := stats.TrialsToDecide(rates, d.Delta, c.Margin, c.Alpha, .8)
	if trials == 0 {
		return
	}
	c.More = &More{Trials: max(1, trials-int(each)), Cost: Number(math.NaN())}
	if b, h := float64(c.Base.CostUSD), float64(c.Head.CostUSD); !math.IsNaN(b + h) {
		paid, priced = b+h, float64(c.Base.Trials+c.Head.Trials)
		c.More.Cost = Number(paid / priced * 2 * float64(c.More.Trials*len(known)))
	}
}
