package suite

import (
	"strconv"

	"github.com/sdd-eval/sdd-eval/internal/doc"
)

// notModels is what becomes of providers and targets.
const notModels = "agents are asked, not models: the variant is that of --agent"

// readRun reads how tests are run. The key of these names how often.
func (r *agentv) readRun(n *doc.Node, within, often string, more ...string) {
	only(n, within, r.refuse, append([]string{
		often, "max_concurrency", "workers", "verbose", "cache", "budget_usd", "threshold",
	}, more...)...)
	for key, what := range map[string]string{
		"max_concurrency": "give it to the run with --parallel", "workers": "give it to the run with --parallel",
		"cache":      "every run asks the agent: `--mode replay` takes what it said before",
		"budget_usd": "give it to the run with --budget", "threshold": "every evaluator has to reach its own",
		"target": notModels, "targets": notModels,
	} {
		if v := n.Get(key); v != nil {
			r.note(v.Position(), within+"."+key, "%s", what)
		}
	}
	if v := first(n, often); v != nil && r.trials == nil {
		r.readTrials(v, within+"."+often)
	} else if v != nil {
		r.cannot(v.Position(), "", within+"."+often, "evaluate_options.repeat says it already")
	}
}

// readTrials reads how often a test is tried, and how often it has to pass.
func (r *agentv) readTrials(n *doc.Node, key string) {
	count, strategy := n, doc.Position{}
	all := true
	if n.Kind() == doc.Map {
		only(n, key, r.refuse, "count", "strategy", "early_exit")
		count = n.Get("count")
		if s := n.Get("strategy"); s != nil {
			strategy = s.Position()
			switch s.Text() {
			case "pass_all":
			case "pass_any", "pass_at_k":
				all = false
			default:
				r.cannot(strategy, "", key+".strategy", "%q: a case passes if one of its trials does (pass_any), or "+
					"all (pass_all)", s.Text())
			}
		}
		if e := n.Get("early_exit"); !empty(e) {
			r.cannot(e.Position(), "", key+".early_exit", "all trials are run")
		}
	}
	times, err := strconv.Atoi(count.Text())
	if err != nil || times < 1 {
		r.cannot(n.Position(), "", key, "must be a number of trials, at least 1")
		return
	}
	if times == 1 {
		return
	}
	r.trials = doc.Pairs{{Key: "count", Value: times}}
	if !all {
		r.trials = append(r.trials, doc.Pair{Key: "pass", Value: 1})
	} else if strategy.Line == 0 {
		r.note(n.Position(), key, "all trials have to pass: it names no strategy")
	}
}
