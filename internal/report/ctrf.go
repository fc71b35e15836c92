package report

import (
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// ctrf is a report in the Common Test Report Format. Times are in milliseconds, instants since 1970.
type ctrf struct {
	Format      string `json:"reportFormat"`
	Version     string `json:"specVersion"`
	RunID       string `json:"runId"`
	Timestamp   string `json:"timestamp"`
	GeneratedBy string `json:"generatedBy"`
	Results     struct {
		Tool    ctrfTool    `json:"tool"`
		Summary ctrfSummary `json:"summary"`
		Tests   []ctrfTest  `json:"tests"`
	} `json:"results"`
}

type ctrfTool struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

type ctrfSummary struct {
	Tests   int   `json:"tests"`
	Passed  int   `json:"passed"`
	Failed  int   `json:"failed"`
	Skipped int   `json:"skipped"`
	Pending int   `json:"pending"`
	Other   int   `json:"other"`
	Suites  int   `json:"suites"`
	Start   int64 `json:"start"`
	Stop    int64 `json:"stop"`
}

type ctrfTest struct {
	ID       string            `json:"testId"`
	Name     string            `json:"name"`
	Status   string            `json:"status"` // passed, failed, skipped
	Raw      string            `json:"rawStatus"`
	Duration int64             `json:"duration"`
	Suite    []string          `json:"suite"`
	Message  string            `json:"message,omitempty"`
	Trace    string            `json:"trace,omitempty"`
	File     string            `json:"filePath,omitempty"`
	Labels   map[string]string `json:"labels,omitempty"`
}

// CTRF returns ctrf.json, which has the tests of report.junit.xml. An error and what was not run are failed tests: CI
// must show neither as well. rawStatus tells them from what the agent failed.
func (rep *Report) CTRF() ([]byte, error) {
	began := rep.Run.CreatedAt
	ended := began
	if rep.Run.FinishedAt != nil {
		ended = *rep.Run.FinishedAt
	}
	out := ctrf{
		Format: "CTRF", Version: "0.0.0", RunID: rep.Run.ID, Timestamp: began.UTC().Format(time.RFC3339),
		GeneratedBy: rep.Run.Tool,
	}
	out.Results.Tool.Name, out.Results.Tool.Version, _ = strings.Cut(rep.Run.Tool, " ")
	if out.Results.Tool.Name == "" {
		out.Results.Tool.Name = "sdd-eval"
	}
	all := rep.suites()
	out.Results.Tests = []ctrfTest{}
	for _, s := range all.Suites {
		for _, c := range s.Cases {
			out.Results.Tests = append(out.Results.Tests, rep.ctrfTest(s, c))
		}
	}
	out.Results.Summary = ctrfSummary{
		Tests: all.Tests, Failed: all.Failures + all.Errors, Skipped: all.Skipped, Suites: len(all.Suites),
		Passed: all.Tests - all.Failures - all.Errors - all.Skipped,
		Start:  began.UnixMilli(), Stop: ended.UnixMilli(),
	}
	return jsonvalue.Indent(out)
}

func (rep *Report) ctrfTest(s junitSuite, c junitCase) ctrfTest {
	t := ctrfTest{
		ID: s.Name + "/" + c.Name, Name: c.Name, Status: "passed", Raw: string(result.Pass),
		Duration: time.Duration(c.Time).Milliseconds(), Suite: []string{visible(rep.Run.Name), s.Name},
		File: visible(rep.Run.Playbook.Path),
	}
	end := func(m *junitMessage, status, raw string) {
		if m != nil {
			t.Status, t.Raw, t.Message, t.Trace = status, raw, m.Message, m.Text
		}
	}
	end(c.Skipped, "skipped", string(result.Skip))
	end(c.Failure, "failed", string(result.Fail))
	end(c.Error, "failed", string(result.Error))
	if c.Error != nil && c.Error.Type != "" {
		t.Raw = c.Error.Type
	}
	if c.Properties != nil {
		t.Labels = make(map[string]string, len(c.Properties.List))
		for _, p := range c.Properties.List {
			t.Labels[p.Name] = p.Value
		}
		if o := t.Labels["outcome"]; o != "" {
			t.Raw = o
		}
	}
	return t
}
