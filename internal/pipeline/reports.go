package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sdd-eval/sdd-eval/internal/aijudge"
	"github.com/sdd-eval/sdd-eval/internal/human"
	"github.com/sdd-eval/sdd-eval/internal/llm"
	"github.com/sdd-eval/sdd-eval/internal/report"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// ReportOptions say how a run is reported.
type ReportOptions struct {
	// Formats are those that are written, empty: all.
	Formats []string
	// Ask has the AI judge asked for scores that are missing, if the playbook enables it; Rejudge for all.
	Ask, Rejudge bool
	Getenv       func(string) string
	// Note is told what is going on.
	Note func(string)
}

// Report writes the reports of a run, and what people need to score it. It returns the names of the reports' files.
func Report(ctx context.Context, r *rundir.Run, o ReportOptions) ([]string, error) {
	judged := error(nil)
	if judge := r.Manifest().AIJudge; judge.Enabled && o.Ask {
		client, err := judgeClient(o.Getenv)
		if errors.Is(err, llm.ErrNoKey) {
			return nil, &InputError{aijudge.ErrNoKey}
		}
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
		formats = report.Formats()
	}
	files, err := report.Write(r, formats)
	return files, errors.Join(judged, err)
}

// checkJudge refuses a playbook whose report could not be made for want of the AI judge's key, before agents do work.
func (p *pipeline) checkJudge() error {
	if !p.plan.Playbook.Report.AIJudge.Enabled || !p.reports() {
		return nil
	}
	if _, err := judgeClient(p.Getenv); errors.Is(err, llm.ErrNoKey) {
		return aijudge.ErrNoKey
	} else if err != nil {
		return err
	}
	return nil
}

// reports tells whether a job of the playbook makes reports.
func (p *pipeline) reports() bool {
	return slices.ContainsFunc(p.plan.Jobs, func(j playbook.Job) bool {
		return slices.ContainsFunc(j.Steps, func(s playbook.Step) bool { return s.Uses == playbook.ActionReport })
	})
}

// report makes the reports in the middle of a run, for steps that follow.
func (p *pipeline) report(ctx context.Context) error {
	p.reported = true
	_, err := Report(ctx, p.dir, ReportOptions{Ask: true, Getenv: p.Getenv, Note: p.Watch.Note})
	return err
}

// closeReports makes them once more where a job has: now the run has ended.
func (p *pipeline) closeReports(ctx context.Context) error {
	if !p.reported {
		return nil
	}
	_, err := Report(ctx, p.dir, ReportOptions{Getenv: p.Getenv, Note: p.Watch.Note})
	return err
}

// sweep proves that no secret stands in the run's directory.
func (p *pipeline) sweep(ctx context.Context) error {
	found, err := p.Secrets.Sweep(context.WithoutCancel(ctx), p.dir.Dir())
	if err != nil {
		return fmt.Errorf("look for secrets in the run's directory: %w", err)
	}
	var errs []error
	for _, f := range found {
		errs = append(errs, fmt.Errorf("leak: %s holds the value of %s at byte %d", f.Path, f.Name, f.Offset))
	}
	return errors.Join(errs...)
}
