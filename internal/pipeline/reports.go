package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/aijudge"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/human"
	"github.com/sdd-eval/sdd-eval/internal/llm"
	"github.com/sdd-eval/sdd-eval/internal/report"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
)

// ReportOptions say how a run is reported.
type ReportOptions struct {
	// Formats are those that are written, empty: all.
	Formats []string
	// Ask has the AI judge asked for scores that are missing, if the playbook enables it; Rejudge for all.
	Ask, Rejudge bool
	// Models returns the client that asks, as [engine.Models] does. It is not called for a run without an AI judge.
	Models func() (llm.Asker, error)
	// Note is told what is going on.
	Note func(string)
}

// Report writes the reports of a run, and what people need to score it. It returns the names of the reports' files.
func Report(ctx context.Context, r *rundir.Run, o ReportOptions) ([]string, error) {
	judged := error(nil)
	if judge := r.Manifest().AIJudge; judge.Enabled && o.Ask {
		client, err := judgeOf(o.Models)
		if err != nil {
			return nil, &InputError{err}
		}
		judged = aijudge.Judge(ctx, r, aijudge.Config{Model: judge.Model, Client: client, Rejudge: o.Rejudge, Progress: o.Note})
	}
	if r.Manifest().Human {
		if err := human.Write(r); err != nil {
			return nil, errors.Join(judged, err)
		}
	}
	formats := o.Formats
	if len(formats) == 0 {
		formats = report.Names()
	}
	files, err := report.Write(r, formats)
	return files, errors.Join(judged, err)
}

// judgeOf returns the client of the AI judge, whose want of a key has a name of its own.
func judgeOf(models func() (llm.Asker, error)) (llm.Asker, error) {
	client, err := models()
	if errors.Is(err, llm.ErrNoKey) {
		return nil, aijudge.ErrNoKey
	}
	return client, err
}

// checkJudge refuses a playbook whose report could not be made for want of the AI judge's key, before agents do work.
func (p *pipeline) checkJudge() error {
	if !p.plan.Playbook.Report.AIJudge.Enabled || !p.reports() {
		return nil
	}
	_, err := judgeOf(p.models)
	return err
}

// reports tells whether a job of the playbook makes reports.
func (p *pipeline) reports() bool {
	return slices.ContainsFunc(p.plan.Jobs, engine.Reports)
}

// report makes the reports in the middle of a run, for steps that follow.
func (p *pipeline) report(ctx context.Context) error {
	_, err := Report(ctx, p.dir, ReportOptions{Ask: true, Models: p.models, Note: p.Watch.Note})
	return err
}

// closeReports makes them once more where a job has: now the run has ended.
func (p *pipeline) closeReports(ctx context.Context) error {
	if !p.reports() {
		return nil
	}
	_, err := Report(ctx, p.dir, ReportOptions{Note: p.Watch.Note})
	return err
}

// scrub masks the secrets that stand in the run's directory although nothing of ours writes any: an agent that is not
// confined has put them there. That it could is an error. A run that starts nothing has none but what we wrote, and
// needs no search unless there are secrets that we did not know all the time.
func (p *pipeline) scrub(ctx context.Context) error {
	if p.Resume == "" && !p.runner.StartsChildren() && p.Secrets.Len() == p.masked {
		return nil
	}
	found, err := p.Secrets.Scrub(context.WithoutCancel(ctx), p.dir.Dir())
	if err != nil {
		err = fmt.Errorf("look for secrets in the run's directory: %w", err)
	}
	if len(found) == 0 {
		return err
	}
	places := make([]string, len(found))
	for i, f := range found {
		places[i] = f.String()
	}
	return errors.Join(err, fmt.Errorf("leak: the run's directory held secrets, which are masked now: %s", strings.Join(places, "; ")))
}
