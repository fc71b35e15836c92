package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/rundir"
)

// Format is a kind of report.
type Format struct {
	Name   string // as people give it
	File   string // in the run's directory
	render func(*Report) ([]byte, error)
}

// Formats are all kinds of reports.
var Formats = []Format{
	{"md", "report.md", func(rep *Report) ([]byte, error) { return rep.Markdown(), nil }},
	{"json", "report.json", (*Report).JSON},
	{"html", "report.html", (*Report).HTML},
	{"junit", "report.junit.xml", (*Report).JUnit},
}

// Names returns the names of all formats.
func Names() []string {
	names := make([]string, len(Formats))
	for i, f := range Formats {
		names[i] = f.Name
	}
	return names
}

// Write writes the report's files in those formats into the run's directory and returns their names. A format that there
// is not is an error, and nothing is written.
func Write(run *rundir.Run, names []string) (files []string, err error) {
	for _, name := range names {
		if !slices.Contains(Names(), name) {
			return nil, fmt.Errorf("unknown report format %q: want one of %s", name, strings.Join(Names(), ", "))
		}
	}
	rep, err := Load(run)
	if err != nil {
		return nil, err
	}
	for _, f := range Formats {
		if !slices.Contains(names, f.Name) {
			continue
		}
		data, err := f.render(rep)
		if err != nil {
			return files, fmt.Errorf("make %s: %w", f.File, err)
		}
		if err := run.WriteFile(f.File, data); err != nil {
			return files, err
		}
		files = append(files, f.File)
	}
	return files, nil
}
