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

// CheckFormats returns an error unless there are formats of all these names. What a person typed can be checked by it
// before anything runs.
func CheckFormats(names []string) error {
	for _, name := range names {
		if !slices.Contains(Formats(), name) {
			return fmt.Errorf("unknown report format %q: want one of %s", name, strings.Join(Formats(), ", "))
		}
	}
	return nil
}

// Write writes the report's files in those formats into the run's directory. A format that there is not is an error, and
// nothing is written.
func Write(run *rundir.Run, names []string) error {
	if err := CheckFormats(names); err != nil {
		return err
	}
	rep, err := Load(run)
	if err != nil {
		return err
	}
	for _, f := range formats {
		if !slices.Contains(names, f.name) {
			continue
		}
		data, err := f.render(rep)
		if err != nil {
			return fmt.Errorf("make %s: %w", f.file, err)
		}
		if err := run.WriteFile(f.file, data); err != nil {
			return err
		}
	}
	return nil
}
