package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/rundir"
)

// formats are the files of a report, by the names that people give.
var formats = []struct {
	name, file string
	render     func(*Report) ([]byte, error)
}{
	{"md", "report.md", func(rep *Report) ([]byte, error) { return rep.Markdown(), nil }},
	{"json", "report.json", (*Report).JSON},
	{"html", "report.html", (*Report).HTML},
	{"junit", "report.junit.xml", (*Report).JUnit},
}

// Formats returns the names of all formats.
func Formats() []string {
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = f.name
	}
	return names
}

// checkFormats returns an error unless there are formats of all these names.
func checkFormats(names []string) error {
	for _, name := range names {
		if !slices.Contains(Formats(), name) {
			return fmt.Errorf("unknown report format %q: want one of %s", name, strings.Join(Formats(), ", "))
		}
	}
	return nil
}

// Write writes the report's files in those formats into the run's directory and returns their names. A format that there
// is not is an error, and nothing is written.
func Write(run *rundir.Run, names []string) (files []string, err error) {
	if err := checkFormats(names); err != nil {
		return nil, err
	}
	rep, err := Load(run)
	if err != nil {
		return nil, err
	}
	for _, f := range formats {
		if !slices.Contains(names, f.name) {
			continue
		}
		data, err := f.render(rep)
		if err != nil {
			return files, fmt.Errorf("make %s: %w", f.file, err)
		}
		if err := run.WriteFile(f.file, data); err != nil {
			return files, err
		}
		files = append(files, f.file)
	}
	return files, nil
}
