package skill

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
)

// The arms that cases are run in, how often a case is, and how often a query is.
const (
	arms        = 2
	trials      = 1
	maxRows     = 40  // of cases that are shown to people
	maxFindings = 100 // that are shown to people
	maxLine     = 400 // characters of what files say, in a line
)

// Report is what was found of a suite, for programs. Paths are as shown returns them.
type Report struct {
	Skill     string          `json:"skill"`
	Dir       string          `json:"dir,omitempty"`
	Evals     string          `json:"evals,omitempty"`
	Triggers  []string        `json:"triggers"`
	Installed []InstalledFile `json:"installed"`
	Digest    string          `json:"digest,omitempty"`
	LeftOut   []LeftOut       `json:"left_out"`
	Cases     []CaseReport    `json:"cases"`
	Queries   []QueryReport   `json:"queries"`
	Checks    ChecksReport    `json:"checks"`
	// Sessions are those that a run would have.
	Sessions SessionsReport  `json:"sessions"`
	Unknown  []KeyReport     `json:"unknown_keys"`
	Findings []FindingReport `json:"findings"`
}

// InstalledFile is a file that agents get with the skill.
type InstalledFile struct {
	Path string `json:"path"`
	Size int    `json:"size"`
	Exec bool   `json:"exec,omitempty"`
}

// LeftOut is a file that is not installed, and why.
type LeftOut struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// CaseReport is a case.
type CaseReport struct {
	ID     string        `json:"id"`
	Given  string        `json:"given,omitempty"`
	Name   string        `json:"name,omitempty"`
	Line   int           `json:"line"`
	Prompt string        `json:"prompt"`
	Broken bool          `json:"broken,omitempty"`
	Skip   bool          `json:"skip,omitempty"`
	Files  []FileReport  `json:"files"`
	Checks []CheckReport `json:"checks"`
}

// FileReport is a file of a case.
type FileReport struct {
	From string `json:"from"`
	To   string `json:"to"`
	Dir  bool   `json:"dir,omitempty"`
}

// CheckReport is a check of a case.
type CheckReport struct {
	ID        string   `json:"id"`
	Text      string   `json:"text"`
	Line      int      `json:"line"`
	Type      string   `json:"type,omitempty"`
	By        By       `json:"by"`
	Op        Op       `json:"op,omitempty"`
	Patterns  []string `json:"patterns,omitempty"`
	Regexp    bool     `json:"regexp,omitempty"`
	Min       int      `json:"min,omitempty"`
	File      string   `json:"file,omitempty"`
	Synthetic bool     `json:"synthetic,omitempty"`
}

// QueryReport is a query.
type QueryReport struct {
	ID      string   `json:"id"`
	Given   string   `json:"given,omitempty"`
	Line    int      `json:"line"`
	Prompt  string   `json:"prompt"`
	Skills  []string `json:"skills"`
	Routing bool     `json:"routing,omitempty"`
}

// ChecksReport counts checks by what decides them.
type ChecksReport struct {
	Total     int `json:"total"`
	Text      int `json:"text"`
	File      int `json:"file"`
	Calls     int `json:"calls"`
	Model     int `json:"model"`
	Synthetic int `json:"synthetic"` // of those for a model
}

// SessionsReport counts sessions.
type SessionsReport struct {
	Cases int `json:"cases"` // times arms times trials
	Arms  int `json:"arms"`
	// Trials is how often a case is run in each arm, and Runs how often a query is.
	Trials   int `json:"trials"`
	Queries  int `json:"queries"`
	Runs     int `json:"runs"`
	Sessions int `json:"sessions"`
	// Commands are the cases that run only with the plugin around the skill.
	Commands int `json:"commands,omitempty"`
}

// KeyReport is a key that means nothing here.
type KeyReport struct {
	In    string `json:"in"`
	Name  string `json:"name"`
	Count int    `json:"count"`
	File  string `json:"file"`
	Line  int    `json:"line"`
}

// FindingReport is a finding.
type FindingReport struct {
	Level Level  `json:"level"`
	Rule  string `json:"rule"`
	File  string `json:"file,omitempty"`
	Line  int    `json:"line,omitempty"`
	Where string `json:"where,omitempty"`
	What  string `json:"what"`
	Next  string `json:"next,omitempty"`
}

// Report returns what was found. Shown returns an absolute path as people are to see it.
func (s *Suite) Report(shown func(path string) string) Report {
	r := Report{
		Skill: s.Name, Triggers: []string{}, Installed: []InstalledFile{}, LeftOut: []LeftOut{}, Cases: []CaseReport{},
		Queries: []QueryReport{}, Unknown: []KeyReport{}, Findings: []FindingReport{},
	}
	if s.Dir != "" {
		r.Dir = shown(s.File(s.Dir))
	}
	if s.Evals != "" {
		r.Evals = shown(s.File(s.Evals))
	}
	for _, t := range s.Triggers {
		r.Triggers = append(r.Triggers, shown(s.File(t)))
	}
	for _, p := range slices.Sorted(maps.Keys(s.Installed.Files)) {
		f := s.Installed.Files[p]
		r.Installed = append(r.Installed, InstalledFile{p, len(f.Data), f.Exec})
	}
	if len(r.Installed) > 0 {
		r.Digest = s.Installed.Digest()
	}
	for _, n := range s.Installed.LeftOut {
		if n.Path == ".git" {
			continue
		}
		r.LeftOut = append(r.LeftOut, LeftOut{n.Path, n.Reason})
	}
	for _, c := range s.Cases {
		r.Cases = append(r.Cases, c.report(&r.Checks))
	}
	for _, q := range s.Queries {
		r.Queries = append(r.Queries, QueryReport{
			q.ID, q.Given, q.Position.Line, q.Prompt, slices.Concat([]string{}, q.Skills), q.Routing,
		})
	}
	r.Sessions = SessionsReport{
		Cases: s.Runnable(), Arms: arms, Trials: trials, Queries: len(s.Asked()), Runs: queryRuns,
		Commands: s.Commands(),
	}
	r.Sessions.Sessions = r.Sessions.Cases*arms*trials + r.Sessions.Queries*queryRuns
	for _, k := range s.Unknown {
		r.Unknown = append(r.Unknown, KeyReport{k.In, k.Name, k.Count, shown(k.At.File), k.At.Line})
	}
	for _, f := range s.Findings {
		report := FindingReport{Level: f.Level, Rule: f.Rule, Where: f.Where, What: f.What, Next: f.Next}
		if f.At != (doc.Position{}) {
			report.File, report.Line = shown(f.At.File), f.At.Line
		}
		r.Findings = append(r.Findings, report)
	}
	return r
}

// report returns the case for programs, and adds its checks to sum.
func (c Case) report(sum *ChecksReport) CaseReport {
	r := CaseReport{
		c.ID, c.Given, c.Name, c.Position.Line, c.Prompt, c.Broken, c.Command, []FileReport{}, []CheckReport{},
	}
	for _, in := range c.Inputs {
		r.Files = append(r.Files, FileReport{in.From, in.To, in.Dir})
	}
	for _, k := range c.Checks {
		check := CheckReport{
			ID: k.ID, Text: k.Text, Line: k.Position.Line, Type: k.Type, By: k.By, Op: k.Rule.Op, File: k.Rule.File,
			Synthetic: k.Synthetic,
		}
		for _, p := range k.Rule.Patterns {
			check.Patterns, check.Regexp = append(check.Patterns, p.Text), p.Regexp != nil
		}
		if k.Rule.Op == Contains {
			check.Min = k.Rule.Min
		}
		r.Checks = append(r.Checks, check)
		sum.Total++
		switch k.By {
		case Text:
			sum.Text++
		case File:
			sum.File++
		case Calls:
			sum.Calls++
		default:
			sum.Model++
		}
		if k.Synthetic {
			sum.Synthetic++
		}
	}
	return r
}

// WriteText writes the report for people.
func (r Report) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "skill\t%s\n", orNone(line(r.Skill)))
	if r.Dir != "" {
		size := 0
		for _, f := range r.Installed {
			size += f.Size
		}
		fmt.Fprintf(t, "installed\t%s: %s, %s, digest %s%s\n", line(r.Dir), excerpt.Count(len(r.Installed), "file"),
			excerpt.Count(size, "byte"), orNone(r.Digest), r.leftOut())
	}
	fmt.Fprintf(t, "cases\t%d%s\n", len(r.Cases), in(r.Evals))
	if len(r.Queries) > 0 || len(r.Triggers) > 0 {
		yes := 0
		for _, q := range r.Queries {
			if slices.Contains(q.Skills, r.Skill) {
				yes++
			}
		}
		fmt.Fprintf(t, "queries\t%d, of which %d are to trigger the skill%s\n", len(r.Queries), yes, in(r.Triggers...))
	}
	c := r.Checks
	fmt.Fprintf(t, "checks\t%d: %d in code (%d on the answer, %d on files, %d on calls), %d for a model", c.Total,
		c.Total-c.Model, c.Text, c.File, c.Calls, c.Model)
	if c.Synthetic > 0 {
		fmt.Fprintf(t, ", of which %d made from expected_output", c.Synthetic)
	}
	s := r.Sessions
	fmt.Fprintf(t, "\nwould run\t%s × %d arms (with, without) × %s", excerpt.Count(s.Cases, "case"), s.Arms,
		excerpt.Count(s.Trials, "trial"))
	if s.Queries == 1 {
		fmt.Fprintf(t, ", 1 query × %d runs", s.Runs)
	} else if s.Queries > 0 {
		fmt.Fprintf(t, ", %d queries × %d runs", s.Queries, s.Runs)
	}
	fmt.Fprintf(t, ": %s\n", excerpt.Count(s.Sessions, "session"))
	if s.Commands > 0 {
		fmt.Fprintf(t, "skipped\t%s, which --plugin runs\n", excerpt.Count(s.Commands, "case"))
	}
	for _, k := range r.Unknown {
		fmt.Fprintf(t, "not used\tkey %s of a %s, %s, first at %s:%d\n", excerpt.Quote(k.Name, maxLine), k.In,
			excerpt.Times(k.Count), line(k.File), k.Line)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	r.table(w)
	return r.findings(w)
}

// line returns what files say on one line.
func line(text string) string { return excerpt.Line(text, maxLine) }

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

func in(files ...string) string {
	if len(files) == 0 || files[0] == "" {
		return ""
	}
	return " in " + line(strings.Join(files, ", "))
}

// leftOut says what is left out for a reason of its own.
func (r Report) leftOut() string {
	var paths []string
	for _, l := range r.LeftOut {
		paths = append(paths, line(l.Path)+" ("+l.Reason+")")
	}
	if len(paths) == 0 {
		return ""
	}
	return "; without " + listed(paths)
}

// table writes a line for each case.
func (r Report) table(w io.Writer) {
	if len(r.Cases) == 0 {
		return
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "\ncase\tchecks\tin code\tfor a model\tfiles\t\n")
	for i, c := range r.Cases {
		if i == maxRows {
			fmt.Fprintf(t, "and %d more, which --json has\n", len(r.Cases)-maxRows)
			break
		}
		var sum ChecksReport
		for _, k := range c.Checks {
			if sum.Total++; k.By == Model {
				sum.Model++
			}
		}
		mark := ""
		switch {
		case c.Broken:
			mark = "cannot run"
		case c.Skip:
			mark = "is skipped"
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%s\n", c.ID, sum.Total, sum.Total-sum.Model, sum.Model, len(c.Files), mark)
	}
	_ = t.Flush()
}

// findings writes two lines for each finding, and for those that say the same together.
func (r Report) findings(w io.Writer) error {
	type same struct {
		level            Level
		rule, what, next string
	}
	groups := make(map[same][]FindingReport)
	var order []same
	total := make(map[Level]int)
	for _, f := range r.Findings {
		key := same{f.Level, f.Rule, f.What, f.Next}
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], f)
		total[f.Level]++
	}
	for i, key := range order {
		if i == maxFindings {
			fmt.Fprintf(w, "and %d more findings, which --json has\n", len(order)-i)
			break
		}
		if i == 0 {
			fmt.Fprintln(w)
		}
		first := groups[key][0]
		if first.File != "" {
			fmt.Fprintf(w, "%s:%d: ", line(first.File), first.Line)
		}
		var where []string
		for _, f := range groups[key] {
			if f.Where != "" && !slices.Contains(where, f.Where) {
				where = append(where, f.Where)
			}
		}
		about := ""
		if where != nil {
			about = " [" + line(listed(where)) + "]"
		}
		fmt.Fprintf(w, "%s: %s%s: %s%s\n", key.level, key.rule, about, line(key.what), again(len(groups[key])))
		if key.next != "" {
			fmt.Fprintf(w, "    %s\n", line(key.next))
		}
	}
	_, err := fmt.Fprintf(w, "\n%s, %s, %s\n", excerpt.Count(total[Error], "error"),
		excerpt.Count(total[Warning], "warning"), excerpt.Count(total[Note], "note"))
	return err
}

func again(n int) string {
	if n == 1 {
		return ""
	}
	return fmt.Sprintf(" (%d times)", n)
}
