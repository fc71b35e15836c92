// Package report reports the results of a run, from its run directory alone: report.json for programs, report.md for a
// pull request, report.html for a person and report.junit.xml for CI. The same directory gives the same bytes each
// time.
package report

import (
	"time"

	"github.com/sdd-eval/sdd-eval/internal/result"
)

// Report is everything that the reports show of one run.
type Report struct {
	// Version is the version of report.json, 1.
	Version int `json:"version"`
	Run     Run `json:"run"`
	// Outcome is the run's, the verdict of [result.JudgeRun].
	Outcome result.Outcome `json:"outcome"`
	// Headline says in one sentence how many results ended in which way.
	Headline string `json:"headline"`
	// Notes are what a reader must know to judge the figures: problems of the run as a whole, scripted models, replays,
	// warnings, torn lines.
	Notes    []string  `json:"notes"`
	Variants []Variant `json:"variants"`
	Cases    []Case    `json:"cases"`
	// Results are the cases under their variants, by the rule for trials, in the order of their units.
	Results []Result `json:"results"`
	// Jobs are those outside the matrix, in the manifest's order.
	Jobs []Job `json:"jobs"`
	// Units are all that the manifest lists, in its order.
	Units []Unit `json:"units"`
}

// Run is what the manifest says of the run as a whole.
type Run struct {
	ID         string     `json:"run_id"`
	Name       string     `json:"name"`
	CreatedAt  time.Time  `json:"created_at"`
	FinishedAt *time.Time `json:"finished_at"`
	State      string     `json:"state"` // running, interrupted, finished
	Tool       string     `json:"tool"`
	Mode       string     `json:"mode"`
	Sandbox    string     `json:"sandbox"`
	Playbook   Playbook   `json:"playbook"`
	// Trials is the number of trials of each case under each variant; Need of them must pass.
	Trials int `json:"trials"`
	Need   int `json:"need"`
	// Judged tells whether the playbook has evaluators.
	Judged bool `json:"evaluators"`
	// Problems are errors of the run as a whole, also that nothing was judged. With any of them its outcome is error.
	Problems []string `json:"problems,omitempty"`
}

// Playbook is the playbook of a run.
type Playbook struct {
	Path   string `json:"path"`
	Digest string `json:"digest"`
}

// Case is one task of the playbook.
type Case struct {
	ID              string   `json:"id"`
	Title           string   `json:"title,omitempty"`
	Prompts         []string `json:"prompts,omitempty"`
	ExpectedOutcome string   `json:"expected_outcome,omitempty"`
	ReferenceAnswer string   `json:"reference_answer,omitempty"`
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
	// Score is the weighted mean of the evaluators' scores, 0..1, nil if there is none.
	Score *float64 `json:"score"`
	// AI are the scores of AI judges.
	AI []AIScore `json:"ai_scores,omitempty"`
	// Paths are relative to the run directory.
	Paths Paths `json:"paths"`
	// Missing are the artifacts that should be there, since the unit ran, and are not.
	Missing []string `json:"missing,omitempty"`
	// TooLarge says of each artifact that is too large to be shown how large it is.
	TooLarge []string `json:"too_large,omitempty"`
	// Result is how the unit ended, nil if it has not run.
	Result *result.Unit `json:"result"`

	// page is what the page shows of the unit when it is opened: JSON, compressed with gzip.
	page []byte
}

// Paths are where a unit's files lie.
type Paths struct {
	Workspace string `json:"workspace"`
	Logs      string `json:"logs"`
	Artifacts string `json:"artifacts"`
}

// AIScore is what an AI judge said of one unit.
type AIScore struct {
	Model  string  `json:"model"`
	Score  float64 `json:"score"` // 0..10
	Reason string  `json:"reason"`
}

// metrics returns what is known of the unit's agent, nil if it never started.
func (u Unit) metrics() *result.Metrics {
	if u.Result == nil {
		return nil
	}
	return u.Result.Metrics
}
