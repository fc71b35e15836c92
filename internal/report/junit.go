package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/result"
)

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Skipped  int          `xml:"skipped,attr"`
	Time     junitTime    `xml:"time,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name       string           `xml:"name,attr"`
	Tests      int              `xml:"tests,attr"`
	Failures   int              `xml:"failures,attr"`
	Errors     int              `xml:"errors,attr"`
	Skipped    int              `xml:"skipped,attr"`
	Time       junitTime        `xml:"time,attr"`
	Timestamp  string           `xml:"timestamp,attr,omitempty"`
	Properties *junitProperties `xml:"properties"`
	Cases      []junitCase      `xml:"testcase"`
}

type junitProperties struct {
	List []junitProperty `xml:"property"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

// junitCase is a case under a variant, or one of its evaluators. It fails, errs or is skipped at most once.
type junitCase struct {
	Class      string           `xml:"classname,attr"`
	Name       string           `xml:"name,attr"`
	Time       junitTime        `xml:"time,attr"`
	Properties *junitProperties `xml:"properties"`
	Failure    *junitMessage    `xml:"failure"`
	Error      *junitMessage    `xml:"error"`
	Skipped    *junitMessage    `xml:"skipped"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",cdata"`
}

// junitTime is written in seconds.
type junitTime time.Duration

// MarshalXMLAttr implements [xml.MarshalerAttr].
func (t junitTime) MarshalXMLAttr(name xml.Name) (xml.Attr, error) {
	return xml.Attr{Name: name, Value: seconds(time.Duration(t))}, nil
}

// JUnit returns report.junit.xml, which has the report's [Report.suites].
func (rep *Report) JUnit() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(xml.Header)
	enc := xml.NewEncoder(&b)
	enc.Indent("", "  ")
	if err := enc.Encode(rep.suites()); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

// suites returns the report as test suites: one for each variant, with a test case for each case and one for each of
// its evaluators, over all trials by the same rule as under go test. A case that was not judged is skipped, not
// passed; so is what a reference passed or failed. A case that was not run is an error. If the run has not all units of
// the playbook, the test case "selection", which is skipped, says so. If the run as a whole has problems or is not
// finished, there is also a test case "run", which is an error.
func (rep *Report) suites() junitSuites {
	all := junitSuites{Name: visible(rep.Run.Name)}
	var took time.Duration
	trials := make(map[[2]string][]Unit)
	for _, u := range rep.Units {
		of := [2]string{u.Case, u.Variant}
		trials[of] = append(trials[of], u)
	}
	for _, v := range rep.Variants {
		s := junitSuite{Name: visible(v.ID), Timestamp: rep.timestamp()}
		if v.Time.Sum != nil {
			s.Time = junitTime(time.Duration(*v.Time.Sum) * time.Millisecond)
			took += time.Duration(s.Time)
		}
		s.Properties = &junitProperties{properties(rep.Run, v)}
		for _, r := range rep.Results {
			if r.Variant == v.ID {
				s.Cases = append(s.Cases, junitCases(rep.Run, r, trials[[2]string{r.Case, r.Variant}])...)
			}
		}
		all.add(s)
	}
	if len(rep.Jobs) > 0 {
		all.add(rep.junitJobs())
	}
	if rep.Run.Selection != nil {
		all.add(rep.junitSelection())
	}
	if list := rep.Run.findings(); len(list) > 0 {
		all.add(rep.junitRun(list))
	}
	all.Time = junitTime(took)
	return all
}

// add counts the suite's cases.
func (all *junitSuites) add(s junitSuite) {
	for _, c := range s.Cases {
		s.Tests++
		switch {
		case c.Failure != nil:
			s.Failures++
		case c.Error != nil:
			s.Errors++
		case c.Skipped != nil:
			s.Skipped++
		}
	}
	all.Tests += s.Tests
	all.Failures += s.Failures
	all.Errors += s.Errors
	all.Skipped += s.Skipped
	all.Suites = append(all.Suites, s)
}

func junitCases(run Run, r Result, trials []Unit) []junitCase {
	class := visible(run.Name + "/" + r.Variant)
	var took time.Duration
	for _, u := range trials {
		if u.Result != nil {
			took += time.Duration(u.Result.Duration)
		}
	}
	c := junitCase{Class: class, Name: visible(r.Case), Time: junitTime(took)}
	c.Properties = &junitProperties{number([]junitProperty{
		{"variant", visible(r.Variant)},
		{"case", visible(r.Case)},
		{"outcome", string(r.Outcome)},
		{"trials", fmt.Sprintf("%d/%d, %v", r.Passed, r.Trials, r.rule)},
	}, "score", r.Score)}
	if r.Stops != "" {
		c.Properties.List = append(c.Properties.List, junitProperty{"stop", visible(r.Stops)})
	}
	for _, u := range trials {
		c.Properties.List = append(c.Properties.List, u.properties()...)
	}
	c.end(r.whole, wholeText(r), r.Findings, r.Trials)
	c.compared(r, r.whole)
	cases := []junitCase{c}
	for _, check := range r.Checks {
		c := junitCase{Class: class, Name: visible(r.Case + "/" + check.Name)}
		outcome := []junitProperty{{"outcome", string(check.Outcome)}}
		c.Properties = &junitProperties{number(outcome, "score", check.Score)}
		head := ""
		if r.Trials > 1 {
			head = fmt.Sprintf("%d/%d trials, %v", check.Passed, r.Trials, r.rule)
		}
		c.end(check.Outcome, head, check.Findings, r.Trials)
		c.compared(r, check.Outcome)
		cases = append(cases, c)
	}
	return cases
}

// wholeText says how the trials ended and which evaluators did not pass.
func wholeText(r Result) string {
	var parts []string
	if r.Trials > 1 {
		parts = append(parts, fmt.Sprintf("%d/%d trials, %v", r.Passed, r.Trials, r.rule))
	}
	if r.NotRun > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d not run", r.NotRun, r.Trials))
	}
	var names []string
	for _, c := range r.Checks {
		if c.Outcome == result.Fail || c.Outcome == result.Error {
			names = append(names, c.Name)
		}
	}
	if len(names) > 0 {
		parts = append(parts, "not passed: "+strings.Join(names, ", "))
	}
	return strings.Join(parts, "; ")
}

// end gives the case the element for its outcome. There is none if it passed or is only reported.
func (c *junitCase) end(o result.Outcome, head string, list []Finding, trials int) {
	m := &junitMessage{Message: head}
	worst := bad(list)
	if len(worst) > 0 && worst[0].Reason != "" {
		if m.Message != "" {
			m.Message += ": "
		}
		m.Message += worst[0].Reason
	}
	m.Message = visible(strings.TrimSpace(m.Message))
	m.Text = visible(findingsText(worst, trials))
	switch o {
	case result.Pass:
	case result.Reported: // no score of its makes it a test that passed or failed
		c.Skipped = &junitMessage{Message: strings.TrimSuffix("reported: "+m.Message, ": ")}
	case result.Fail:
		m.Type = "fail"
		c.Failure = m
	case result.Skip:
		c.Skipped = &junitMessage{Message: m.Message}
	case result.Completed:
		c.Skipped = &junitMessage{Message: "completed, but not judged"}
	case result.NotRun:
		m.Type = string(result.NotRun)
		c.Error = m
	default:
		m.Type = "error"
		c.Error = m
	}
}

// compared makes the case one that decides nothing, if it passed or failed and is of a reference.
func (c *junitCase) compared(r Result, o result.Outcome) {
	if !r.Reference || o != result.Pass && o != result.Fail {
		return
	}
	m := &junitMessage{Message: "reference, which decides nothing: " + words(o)}
	if f := c.Failure; f != nil {
		m.Text = f.Text
		m.Message = strings.TrimSuffix(m.Message+": "+f.Message, ": ")
	}
	c.Failure, c.Skipped = nil, m
}

// findingsText lists findings for people: the details first, then the position and the reason.
func findingsText(list []Finding, trials int) string {
	var b strings.Builder
	for _, f := range list {
		if f.Detail != "" {
			b.WriteString(f.Detail + "\n")
		}
		if trials > 1 && f.Trial > 0 {
			fmt.Fprintf(&b, "trial %d: ", f.Trial)
		}
		if f.Position != "" {
			b.WriteString(f.Position + ": ")
		}
		b.WriteString(f.Reason + "\n")
	}
	return b.String()
}

// junitJobs returns the suite of the jobs outside the matrix.
func (rep *Report) junitJobs() junitSuite {
	s := junitSuite{Name: "jobs", Timestamp: rep.timestamp()}
	var took time.Duration
	for _, j := range rep.Jobs {
		c := junitCase{Class: visible(rep.Run.Name + "/jobs"), Name: visible(j.ID)}
		if j.Result != nil {
			c.Time = junitTime(j.Result.Duration)
			took += time.Duration(j.Result.Duration)
		}
		o := j.Outcome
		if o == result.Completed { // a job is never judged: it passes if its steps exit with 0
			o = result.Pass
		}
		c.end(o, "", jobFindings(j), 1)
		s.Cases = append(s.Cases, c)
	}
	s.Time = junitTime(took)
	return s
}

// junitRun returns the suite, with one case, for problems of the run as a whole.
func (rep *Report) junitRun(list []Finding) junitSuite {
	c := junitCase{Class: visible(rep.Run.Name + "/run"), Name: "run"}
	c.end(list[0].Outcome, "", list, 1)
	return junitSuite{Name: "run", Timestamp: rep.timestamp(), Cases: []junitCase{c}}
}

// junitSelection returns the suite, with one case, which is skipped, for the units that the run does not have.
func (rep *Report) junitSelection() junitSuite {
	s := rep.Run.Selection
	c := junitCase{Class: visible(rep.Run.Name + "/selection"), Name: "selection"}
	c.Skipped = &junitMessage{Message: visible(fmt.Sprintf("%s: %d were not run", s.text, s.Of-s.Units))}
	return junitSuite{
		Name: "selection", Timestamp: rep.timestamp(), Cases: []junitCase{c},
	}
}

// timestamp returns when the run began, in JUnit's format: in UTC, without a time zone.
func (rep *Report) timestamp() string { return rep.Run.CreatedAt.UTC().Format("2006-01-02T15:04:05") }

// jobFindings returns why a job did not pass.
func jobFindings(j Job) []Finding {
	if j.Result == nil {
		return []Finding{{Outcome: result.NotRun, Reason: "not run"}}
	}
	return findings(result.Unit{Outcome: j.Result.Outcome, Reason: j.Result.Reason, Steps: j.Result.Steps})
}

// properties returns what is known about a variant.
func properties(run Run, v Variant) []junitProperty {
	list := []junitProperty{{"run_id", run.ID}, {"mode", run.Mode}}
	for _, p := range []junitProperty{{"style", v.Style}, {"kind", v.Kind}, {"model", v.Model}} {
		if p.Value != "" {
			list = append(list, p)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v.Axes)) {
		list = append(list, junitProperty{"axis." + name, v.Axes[name]})
	}
	if v.Ablated != "" {
		list = append(list, junitProperty{"of", v.Of}, junitProperty{"ablated", v.Ablated})
	}
	if v.Reference {
		list = append(list, junitProperty{"reference", "true"})
	}
	list = number(list, "score", v.Score)
	list = number(list, "human_score", v.Human.Score)
	list = number(list, "ai_score", v.AI.Score)
	list = number(list, "iterations", v.Iterations.Sum)
	list = number(list, "tool_calls", v.ToolCalls.Sum)
	list = number(list, "tokens", v.Tokens.Total.Sum)
	for _, c := range v.Cost {
		list = number(list, "cost_"+c.Currency, c.Sum.Sum)
	}
	for i := range list {
		list[i].Name, list[i].Value = visible(list[i].Name), visible(list[i].Value)
	}
	return list
}

// properties returns the figures of a trial that are known, as "trial.1.outcome" and the like.
func (u Unit) properties() []junitProperty {
	of := fmt.Sprintf("trial.%d.", u.Trial)
	list := number([]junitProperty{{of + "outcome", string(u.Outcome)}}, of+"score", u.Score)
	if u.Result != nil {
		list = append(list, junitProperty{of + "seconds", seconds(time.Duration(u.Result.Duration))})
	}
	m := u.metrics()
	if m != nil && m.Tokens != nil && m.Tokens.Total != nil {
		list = append(list, junitProperty{of + "tokens", strconv.FormatInt(*m.Tokens.Total, 10)})
	}
	if m != nil && m.Cost != nil {
		list = number(list, visible(of+"cost_"+m.Cost.Currency), &m.Cost.Amount)
	}
	return list
}

// number adds a property unless its value is unknown.
func number(list []junitProperty, name string, v *float64) []junitProperty {
	if v == nil {
		return list
	}
	return append(list, junitProperty{name, strconv.FormatFloat(round(*v, 4), 'f', -1, 64)})
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) }
