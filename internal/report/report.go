// Package report reports the results of a run, from its directory alone: report.json for programs, report.md for a pull
// request, report.html for people and report.junit.xml for CI. The same directory always gives the same bytes. What a
// run comes to is decided by package result.
package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/baseline"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
)

// Report is everything that the reports show about one run.
type Report struct {
	// Version is the version of report.json, 1.
	Version int `json:"version"`
	Run     Run `json:"run"`
	// Outcome is the outcome of the run, as judged by [result.JudgeRun].
	Outcome result.Outcome `json:"outcome"`
	// Headline says in one sentence how many results there are of each outcome.
	Headline string `json:"headline"`
	// Notes say what a reader must know about the figures: problems of the run as a whole, scripted models, replays,
	// warnings, torn lines.
	Notes    []string  `json:"notes"`
	Variants []Variant `json:"variants"`
	Cases    []Case    `json:"cases"`
	// Axes are those of the matrices that have made variants, in order.
	Axes []rundir.Axis `json:"axes,omitempty"`
	// Results has each case under each variant, by the rule for trials, in the order of their units.
	Results []Result `json:"results"`
	// Jobs has the jobs outside the matrix, in the manifest's order.
	Jobs []Job `json:"jobs"`
	// Mutants says whether the evals would notice a bad agent; nil: nobody has asked.
	Mutants *result.Mutants `json:"mutants,omitempty"`
	// Units has all units of the manifest, in its order.
	Units []Unit `json:"units"`

	run *rundir.Run
	// came returns what the variants came to, for comparisons.
	came func() *baseline.Baseline
	dir  string // of its files in the run's, with a slash, or empty
	// artifacts reads what a unit left; only the page shows it.
	artifacts func(*Unit) (artifacts, error)
}

// Run is what the manifest says about the run as a whole.
type Run struct {
	ID         string          `json:"run_id"`
	Name       string          `json:"name"`
	CreatedAt  time.Time       `json:"created_at"`
	FinishedAt *time.Time      `json:"finished_at"`
	State      string          `json:"state"` // running, interrupted, finished
	Tool       string          `json:"tool"`
	Mode       string          `json:"mode"`
	Sandbox    string          `json:"sandbox"`
	Playbook   rundir.Playbook `json:"playbook"`
	// Trials is the number of trials of each case under each variant; Need of them must pass.
	Trials int `json:"trials"`
	Need   int `json:"need"`
	// NeedScore, if it is not 0, is the mean score that they must reach in the place of that.
	NeedScore float64 `json:"need_score,omitempty"`
	// Selection says that the run has only some of the playbook's units; nil: it has all.
	Selection *Selection `json:"selection,omitempty"`
	// Again is the run whose units this one ran again; empty: there is none.
	Again string `json:"again,omitempty"`
	// Rejudged is the run that this one judged anew; empty: there is none.
	Rejudged string `json:"rejudged,omitempty"`
	// Judged says whether the playbook has evaluators.
	Judged bool `json:"evaluators"`
	// Problems are errors of the run as a whole, such as that nothing was judged. With any of them its outcome is
	// error.
	Problems []string `json:"problems,omitempty"`
}

// Selection says which of a playbook's units a run has.
type Selection struct {
	Units int `json:"units"`
	// Of is the number of the playbook's units.
	Of int `json:"of"`
	// By is what chose them, as flags of the command.
	By string `json:"by"`

	text string // all of that for people
}

// Case is one task of the playbook.
type Case struct {
	ID              string   `json:"id"`
	Title           string   `json:"title,omitempty"`
	Prompts         []string `json:"prompts,omitempty"`
	ExpectedOutcome string   `json:"expected_outcome,omitempty"`
	ReferenceAnswer string   `json:"reference_answer,omitempty"`
	// Digests are of what the case is, for comparisons: see [rundir.Case].
	Digests map[string]string `json:"digests,omitempty"`
}

// Job is a job outside the matrix and how it ended.
type Job struct {
	ID      string         `json:"id"`
	Outcome result.Outcome `json:"outcome"`
	// Result is nil if the job has not run.
	Result *result.Job `json:"result"`
}

// Unit is one trial of one case under one variant.
type Unit struct {
	ID      string         `json:"unit"`
	Case    string         `json:"case"`
	Variant string         `json:"variant"`
	Trial   int            `json:"trial"` // from 1
	Outcome result.Outcome `json:"outcome"`
	// Score is the weighted mean of the evaluators' scores, 0..1, or nil if there are none.
	Score *float64 `json:"score"`
	// AI has the scores of AI judges.
	AI []AIScore `json:"ai_scores,omitempty"`
	// Paths are relative to the run directory.
	Paths Paths `json:"paths"`
	// Missing lists the artifacts that are missing although the unit ran.
	Missing []string `json:"missing,omitempty"`
	// TooLarge lists the artifacts that are too large to show, with their sizes.
	TooLarge []string `json:"too_large,omitempty"`
	// Result is the result of the unit, or nil if it has not run.
	Result *result.Unit `json:"result"`
}

// Paths has the paths of a unit's directories. Workspace is the file [rundir.Workspace] if that is in its place, and
// Logs is empty if one of several cases has none.
type Paths struct {
	Workspace string `json:"workspace"`
	Logs      string `json:"logs"`
	Artifacts string `json:"artifacts"`
}

// AIScore is an AI judge's score of one unit.
type AIScore struct {
	Model  string  `json:"model"`
	Score  float64 `json:"score"` // 0..10
	Reason string  `json:"reason"`
}

// metrics returns the metrics of the unit's agent, or nil if it never started.
func (u Unit) metrics() *result.Metrics {
	if u.Result == nil {
		return nil
	}
	return u.Result.Metrics
}

// Format is a kind of report.
type Format struct {
	Name string // on the command line
	File string // in the run's directory; the first to look at, or their directory, if there are several
	// Asked says that it is only written if somebody asks for it.
	Asked bool
	// write makes the files, whose names are below the report's directory.
	write func(rep *Report, file func(name string, data []byte) error) error
}

// single is a format of one file.
func single(name, file string, render func(*Report) ([]byte, error)) Format {
	return Format{Name: name, File: file, write: func(rep *Report, write func(string, []byte) error) error {
		data, err := render(rep)
		if err != nil {
			return err
		}
		return write(file, data)
	}}
}

// asked makes the format one that is only written if somebody asks for it.
func asked(f Format) Format {
	f.Asked = true
	return f
}

// Page is the file of the report for people.
const Page = "report.html"

// Formats is the table of all formats.
var Formats = []Format{
	single("md", "report.md", func(rep *Report) ([]byte, error) { return rep.Markdown(), nil }),
	single("json", "report.json", (*Report).JSON),
	single("html", Page, (*Report).HTML),
	single("junit", "report.junit.xml", (*Report).JUnit),
	asked(single("ctrf", "ctrf.json", (*Report).CTRF)),
	{Name: inspectDir, File: inspectDir, Asked: true, write: (*Report).inspect},
	{Name: SkillCreator, File: iteration + "benchmark.json", Asked: true, write: (*Report).skillCreator},
	asked(single(PluginEvals, "aggregate-result.json", (*Report).pluginEvals)),
	asked(single("weights", "weights.json", (*Report).Weights)),
}

// Names returns the names of all formats.
func Names() (names []string) {
	for _, f := range Formats {
		names = append(names, f.Name)
	}
	return names
}

// Usual returns the names of the formats that are written without being asked for.
func Usual() (names []string) {
	for _, f := range Formats {
		if !f.Asked {
			names = append(names, f.Name)
		}
	}
	return names
}

// Write writes the report in the named formats to the run's directory and returns the names of its files. If a format
// is unknown, it returns an error and writes nothing.
func (rep *Report) Write(names []string) (files []string, err error) {
	for _, name := range names {
		if !slices.Contains(Names(), name) {
			return nil, fmt.Errorf("unknown report format %q; available: %s", name, strings.Join(Names(), ", "))
		}
	}
	for _, f := range Formats {
		if !slices.Contains(names, f.Name) {
			continue
		}
		if err := f.write(rep, func(name string, data []byte) error {
			return rep.run.WriteFile(rep.dir+name, data)
		}); err != nil {
			return files, fmt.Errorf("make %s: %w", f.File, err)
		}
		files = append(files, rep.dir+f.File)
	}
	return files, nil
}

// JSON returns report.json, which docs/reports.md describes.
func (rep *Report) JSON() ([]byte, error) {
	return jsonvalue.Indent(rep)
}
