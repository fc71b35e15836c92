package report

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory/chat"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// The types of a log of Inspect, version 2. The order of the log's fields is part of its format.
type (
	inspectLog struct {
		Version int             `json:"version"`
		Status  string          `json:"status"` // started, success, cancelled, error
		Eval    inspectEval     `json:"eval"`
		Results inspectResults  `json:"results"`
		Stats   inspectStats    `json:"stats"`
		Error   *inspectError   `json:"error,omitempty"`
		Samples []inspectSample `json:"samples"`
	}
	inspectEval struct {
		EvalID   string            `json:"eval_id"`
		RunID    string            `json:"run_id"`
		Created  string            `json:"created"`
		Task     string            `json:"task"`
		TaskID   string            `json:"task_id"`
		TaskFile string            `json:"task_file,omitempty"`
		Dataset  inspectDataset    `json:"dataset"`
		Model    string            `json:"model"`
		Config   map[string]int    `json:"config"`
		Packages map[string]string `json:"packages"`
		Metadata map[string]any    `json:"metadata"`
	}
	inspectDataset struct {
		Name    string   `json:"name"`
		Samples int      `json:"samples"`
		IDs     []string `json:"sample_ids"`
	}
	inspectResults struct {
		Total     int            `json:"total_samples"`
		Completed int            `json:"completed_samples"`
		Scores    []inspectScore `json:"scores"`
	}
	inspectScore struct {
		Name     string                   `json:"name"`
		Scorer   string                   `json:"scorer"`
		Scored   int                      `json:"scored_samples"`
		Unscored int                      `json:"unscored_samples"`
		Metrics  map[string]inspectMetric `json:"metrics"`
	}
	inspectMetric struct {
		Name  string  `json:"name"`
		Value float64 `json:"value"`
	}
	inspectStats struct {
		Started   string `json:"started_at"`
		Completed string `json:"completed_at"` // empty: it did not end
	}
	inspectError struct {
		Message   string `json:"message"`
		Traceback string `json:"traceback"`
		ANSI      string `json:"traceback_ansi"`
	}
	inspectSample struct {
		ID        string                  `json:"id"`
		Epoch     int                     `json:"epoch"`
		Input     string                  `json:"input"`
		Target    string                  `json:"target"`
		Messages  []inspectMessage        `json:"messages"`
		Output    inspectOutput           `json:"output"`
		Scores    map[string]inspectMark  `json:"scores,omitempty"`
		Metadata  map[string]any          `json:"metadata"`
		Usage     map[string]inspectUsage `json:"model_usage,omitempty"`
		Started   string                  `json:"started_at,omitempty"`
		TotalTime float64                 `json:"total_time"` // in seconds
		Error     *inspectError           `json:"error,omitempty"`
	}
	inspectMessage struct {
		Role     string        `json:"role"`
		Content  string        `json:"content"`
		Calls    []inspectCall `json:"tool_calls,omitempty"`
		CallID   string        `json:"tool_call_id,omitempty"`
		Function string        `json:"function,omitempty"`
	}
	inspectCall struct {
		ID        string          `json:"id"`
		Function  string          `json:"function"`
		Arguments json.RawMessage `json:"arguments"` // an object
	}
	inspectOutput struct {
		Model   string          `json:"model"`
		Choices []inspectChoice `json:"choices"`
	}
	inspectChoice struct {
		Message inspectMessage `json:"message"`
		Stop    string         `json:"stop_reason"`
	}
	inspectMark struct {
		Value       any            `json:"value"` // C, I or a number
		Explanation string         `json:"explanation,omitempty"`
		Metadata    map[string]any `json:"metadata,omitempty"`
	}
	inspectUsage struct {
		Input      int64  `json:"input_tokens"`
		Output     int64  `json:"output_tokens"`
		Total      int64  `json:"total_tokens"`
		CacheWrite *int64 `json:"input_tokens_cache_write,omitempty"`
		CacheRead  *int64 `json:"input_tokens_cache_read,omitempty"`
		Reasoning  *int64 `json:"reasoning_tokens,omitempty"`
	}
)

// The names of the score that says whether a trial passed, and of the directory of the logs.
const (
	inspectVerdict = "sdd-eval"
	inspectDir     = "inspect"
)

// inspectTime writes an instant as Inspect does.
func inspectTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000+00:00") }

// inspect writes a log of Inspect for each variant.
func (rep *Report) inspect(write func(name string, data []byte) error) error {
	for _, v := range rep.Variants {
		log, err := rep.inspectLog(v)
		if err != nil {
			return fmt.Errorf("variant %s: %w", v.ID, err)
		}
		data, err := jsonvalue.Indent(log)
		if err != nil {
			return err
		}
		if err := write(inspectDir+"/"+v.ID+".json", data); err != nil {
			return err
		}
	}
	return nil
}

func (rep *Report) inspectLog(v Variant) (*inspectLog, error) {
	model := v.Kind
	if v.Model != "" {
		model += "/" + v.Model
	}
	name, version, _ := strings.Cut(rep.Run.Tool, " ")
	began := inspectTime(rep.Run.CreatedAt)
	log := &inspectLog{
		Version: 2, Status: "success", Stats: inspectStats{Started: began}, Samples: []inspectSample{},
		Eval: inspectEval{
			EvalID: rep.Run.ID + "/" + v.ID, RunID: rep.Run.ID, Created: began, Task: rep.Run.Name,
			TaskID:   rep.Run.Name,
			TaskFile: rep.Run.Playbook.Path, Dataset: inspectDataset{Name: rep.Run.Name, IDs: []string{}}, Model: model,
			Config: map[string]int{"epochs": rep.Run.Trials}, Packages: map[string]string{name: version},
			Metadata: map[string]any{
				"variant": v.ID, "style": v.Style, "reference": v.Reference, "mode": rep.Run.Mode, "notes": rep.Notes,
			},
		},
	}
	if rep.Run.FinishedAt != nil {
		log.Stats.Completed = inspectTime(*rep.Run.FinishedAt)
	}
	cases := make(map[string]Case)
	for _, c := range rep.Cases {
		cases[c.ID] = c
	}
	marks := inspectMarks{values: make(map[string][]float64)}
	notRun := 0
	for i := range rep.Units {
		u := &rep.Units[i]
		if u.Variant != v.ID {
			continue
		}
		log.Results.Total++
		if n := len(log.Eval.Dataset.IDs); n == 0 || log.Eval.Dataset.IDs[n-1] != u.Case {
			log.Eval.Dataset.IDs = append(log.Eval.Dataset.IDs, u.Case)
		}
		if u.Outcome == result.NotRun {
			notRun++
		}
		if u.Result == nil || u.Outcome == result.Skip {
			continue
		}
		sample, err := rep.inspectSample(cases[u.Case], u, model)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", u.ID, err)
		}
		if log.Samples = append(log.Samples, sample); sample.Error == nil {
			log.Results.Completed++
			marks.add(u)
		} else if log.Error == nil {
			log.Error = &inspectError{Message: u.ID + ": " + sample.Error.Message}
		}
	}
	log.Eval.Dataset.Samples = len(log.Eval.Dataset.IDs)
	log.Results.Scores = marks.scores(log.Results.Completed)
	if list := rep.Run.findings(); len(list) > 0 && log.Error == nil && len(rep.Run.Problems) > 0 {
		log.Error = &inspectError{Message: list[0].Reason}
	}
	switch {
	case log.Error != nil:
		log.Status = "error"
	case rep.Run.State == "running":
		log.Status = "started"
	case notRun > 0 || rep.Run.FinishedAt == nil:
		log.Status = "cancelled"
	}
	return log, nil
}

func (rep *Report) inspectSample(c Case, u *Unit, model string) (inspectSample, error) {
	s := inspectSample{
		ID: u.Case, Epoch: u.Trial, Input: strings.Join(c.Prompts, "\n\n"), Target: c.ExpectedOutcome,
		Messages: []inspectMessage{}, Output: inspectOutput{Model: model, Choices: []inspectChoice{}},
		Metadata:  map[string]any{"outcome": u.Outcome, "reason": u.Result.Reason, "stop": u.Result.Stop},
		TotalTime: time.Duration(u.Result.Duration).Seconds(),
	}
	if s.Target == "" {
		s.Target = c.ReferenceAnswer
	}
	if !u.Result.Started.IsZero() {
		s.Started = inspectTime(u.Result.Started)
	}
	if u.Result.Replayed {
		s.Metadata["replayed"] = true
	}
	if m := u.metrics(); m != nil {
		s.Metadata["tool_calls"] = m.ToolCalls
		if m.Cost != nil {
			s.Metadata["cost"] = m.Cost
		}
		if t := m.Tokens; t != nil && t.Input != nil && t.Output != nil && t.Total != nil {
			s.Usage = map[string]inspectUsage{model: {
				Input: *t.Input, Output: *t.Output, Total: *t.Total, CacheWrite: t.CacheWrite, CacheRead: t.CacheRead,
				Reasoning: t.Thought,
			}}
		}
	}
	if u.Outcome == result.Error {
		s.Error = &inspectError{Message: nothingKnown(u)}
	} else {
		s.Scores = inspectScores(u)
	}
	if u.metrics() == nil { // the agent never started
		return s, nil
	}
	run, err := ifThere(rep.run.ReadTrajectory(rep.run.UnitDirs(u.Case, u.Variant, u.Trial), maxArtifact))
	if err != nil || run == nil {
		return s, err
	}
	messages, err := chat.Messages(run)
	if err != nil {
		return s, err
	}
	s.Messages = inspectMessages(messages)
	if answer := run.Answer(); answer != "" {
		choice := inspectChoice{Message: inspectMessage{Role: "assistant", Content: answer}, Stop: "unknown"}
		switch u.Result.Stop {
		case "end_turn":
			choice.Stop = "stop"
		case "max_tokens":
			choice.Stop = "max_tokens"
		case "refusal":
			choice.Stop = "content_filter"
		}
		s.Output.Choices = append(s.Output.Choices, choice)
	}
	return s, nil
}

// inspectMessages returns messages in Inspect's form, in which arguments are objects and results name their tools.
func inspectMessages(messages []chat.Message) []inspectMessage {
	list := make([]inspectMessage, len(messages))
	names := make(map[string]string)
	for i, m := range messages {
		list[i] = inspectMessage{
			Role: m.Role, Content: string(m.Content), CallID: m.ToolCallID, Function: names[m.ToolCallID],
		}
		for _, c := range m.ToolCalls {
			names[c.ID] = c.Function.Name
			args := json.RawMessage(c.Function.Arguments)
			if !strings.HasPrefix(c.Function.Arguments, "{") {
				args = json.RawMessage(`{"arguments":` + c.Function.Arguments + `}`)
			}
			list[i].Calls = append(list[i].Calls, inspectCall{c.ID, c.Function.Name, args})
		}
	}
	return list
}

// inspectScores returns the scores of a unit: one that says whether it passed, and those of its evaluators that gave a
// verdict.
func inspectScores(u *Unit) map[string]inspectMark {
	scores := make(map[string]inspectMark)
	if u.Outcome == result.Pass || u.Outcome == result.Fail {
		mark := inspectMark{Value: "I", Explanation: u.Result.Reason}
		if u.Outcome == result.Pass {
			mark.Value = "C"
		}
		scores[inspectVerdict] = mark
	}
	for _, e := range u.Result.Evaluations {
		if e.Score == nil {
			continue
		}
		scores[e.Name] = inspectMark{
			Value: *e.Score, Explanation: strings.Trim(e.Reason+"\n"+e.Detail, "\n"),
			Metadata: map[string]any{"type": e.Type, "outcome": e.Outcome, "threshold": e.Threshold},
		}
	}
	return scores
}

// inspectMarks collects the scores of a variant's units, by the name of what gave them, in the order of their coming.
type inspectMarks struct {
	names  []string
	values map[string][]float64
}

func (m *inspectMarks) add(u *Unit) {
	put := func(name string, v float64) {
		if m.values[name] == nil {
			m.names = append(m.names, name)
		}
		m.values[name] = append(m.values[name], v)
	}
	switch u.Outcome {
	case result.Pass:
		put(inspectVerdict, 1)
	case result.Fail:
		put(inspectVerdict, 0)
	}
	for _, e := range u.Result.Evaluations {
		if e.Score != nil {
			put(e.Name, *e.Score)
		}
	}
}

// scores returns the means over so many samples.
func (m *inspectMarks) scores(samples int) []inspectScore {
	list := []inspectScore{}
	for _, name := range m.names {
		metric, sum := "mean", 0.0
		if name == inspectVerdict {
			metric = "accuracy"
		}
		for _, v := range m.values[name] {
			sum += v
		}
		n := len(m.values[name])
		list = append(list, inspectScore{
			Name: name, Scorer: name, Scored: n, Unscored: samples - n,
			Metrics: map[string]inspectMetric{metric: {metric, round(sum/float64(n), 6)}},
		})
	}
	return list
}
