package judgment

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/llm"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// judge answers a request to an agent. Its checks without a recorded answer are asked in one turn; what is recorded of
// the others stays, whatever comes of that.
func (f *File) judge(ctx context.Context, r llm.Request) (llm.Reply, error) {
	keys, calls, open := make([]callKey, len(r.Checks)), make(map[callKey]*call), r
	r.Checks, open.Checks = slices.Clone(r.Checks), nil
	for i, check := range r.Checks {
		check.Text = f.clean(check.Text)
		r.Checks[i] = check
		keys[i] = callKey{question: digest(only(r, check))}
		calls[keys[i]] = f.call(only(r, check))
	}
	for _, key := range slices.SortedFunc(maps.Keys(calls), compareKeys) { // so that no two wait for each other
		if err := calls[key].take(ctx); err != nil {
			return llm.Reply{}, err
		}
		defer calls[key].leave()
	}
	var asked []*call
	for i, key := range keys {
		c := calls[key]
		if c.used = c.answer != nil; !c.used && !slices.Contains(asked, c) {
			asked, open.Checks = append(asked, c), append(open.Checks, r.Checks[i])
		}
	}
	if asked != nil {
		if err := f.ask(ctx, open, asked); err != nil {
			return llm.Reply{}, err
		}
	}
	var all llm.Reply
	for _, key := range keys {
		all.Verdicts = append(all.Verdicts, calls[key].answer.Verdicts...)
	}
	return all, nil
}

// only returns a request that has but one of its checks, whatever its id.
func only(r llm.Request, check llm.Check) llm.Request {
	r.Checks = []llm.Check{{Text: check.Text}}
	return r
}

// ask asks the agent about checks, one a call.
func (f *File) ask(ctx context.Context, r llm.Request, calls []*call) error {
	if f.config.Mode == Replay {
		return f.missing(r)
	}
	reply, err := f.config.Live.Complete(ctx, r)
	if err == nil || reply.InputTokens+reply.OutputTokens > 0 || reply.CostUSD != nil { // else nobody may have answered
		f.count(reply)
	}
	if err != nil {
		return err
	}
	if len(reply.Verdicts) != len(calls) {
		panic(fmt.Sprintf("judgment: %d verdicts on %d checks", len(reply.Verdicts), len(calls)))
	}
	for i, v := range reply.Verdicts {
		v.Evidence, v.Program, v.Model = f.clean(v.Evidence), f.clean(v.Program), f.clean(v.Model)
		one := &llm.Reply{Verdicts: []llm.Verdict{v}}
		if i == 0 { // a turn's tokens are counted once
			one.InputTokens, one.OutputTokens = reply.InputTokens, reply.OutputTokens
		}
		calls[i].answer, calls[i].used = one, true
	}
	return nil
}

// count counts a turn of an agent.
func (f *File) count(r llm.Reply) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.judging == nil {
		f.judging = new(result.Judging)
	}
	f.judging.Add(r.InputTokens, r.OutputTokens, r.CostUSD)
}

// missing returns the error for checks without a recorded verdict. It shows how the nearest recorded question differs
// from the first.
func (f *File) missing(r llm.Request) error {
	ids := make([]string, len(r.Checks))
	for i, c := range r.Checks {
		ids[i] = c.ID
	}
	return fmt.Errorf("%s: there is no recorded verdict of %s on %s: %s; record what is missing with %s", f.config.Name,
		r.Judge(), strings.Join(ids, ", "), f.difference(only(r, r.Checks[0])), f.config.CommandOpen)
}
