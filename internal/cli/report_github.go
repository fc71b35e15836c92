package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sdd-eval/sdd-eval/internal/report"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
)

// githubFormat is what a step of GitHub Actions has instead of files.
const githubFormat = "github"

// summaryVariable names the file that GitHub makes the summary of a step from.
const summaryVariable = "GITHUB_STEP_SUMMARY"

// reportToGitHub prints annotations, and adds the run to the summary of the job.
func (a *App) reportToGitHub(r *rundir.Run, rootFlag string) error {
	root, err := a.projectRoot(rootFlag)
	if err != nil {
		return err
	}
	rep, err := report.Load(r)
	if err != nil {
		return err
	}
	if _, err := a.Stdout.Write(rep.Annotations(inRepository(a.Getenv("GITHUB_WORKSPACE"), root))); err != nil {
		return err
	}
	file := a.Getenv(summaryVariable)
	if file == "" {
		fmt.Fprintf(a.Stderr, "%s is not set, so there is no summary: it is for steps of GitHub Actions\n", summaryVariable)
		return nil
	}
	added, err := appendSummary(file, rep)
	if err != nil {
		return fmt.Errorf("add run %s to the summary of the job: %w", r.ID(), err)
	}
	if !added {
		fmt.Fprintf(a.Stderr, "the summary of the job is full: run %s is not in it\n", r.ID())
	}
	return nil
}

// inRepository returns a project's directory in the repository that is checked out, with slashes; "" if it is not in there.
func inRepository(checkout, root string) string {
	if checkout == "" {
		return ""
	}
	if real, err := filepath.EvalSymlinks(checkout); err == nil {
		checkout = real
	}
	dir, err := filepath.Rel(checkout, root)
	if err != nil || !filepath.IsLocal(dir) {
		return ""
	}
	return filepath.ToSlash(dir)
}

// appendSummary adds a report to the file, as much of it as GitHub will show. What a report says is masked.
func appendSummary(file string, rep *report.Report) (added bool, err error) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	const between = "\n"
	text := rep.Summary(report.MaxSummary - int(info.Size()) - len(between))
	if text == nil {
		return false, nil
	}
	_, err = f.Write(append(text, between...))
	return err == nil, err
}
