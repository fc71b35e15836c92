package convert

import (
	"strings"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

// patchDiffs returns what a unified diff of one file changes, a diff for each of its parts. What is before the first
// part is about the file.
func patchDiffs(path, patch string) []trajectory.Diff {
	var all []trajectory.Diff
	var before, after strings.Builder
	flush := func() {
		if before.Len()+after.Len() > 0 {
			all = append(all, trajectory.Diff{Path: path, Old: new(before.String()), New: after.String()})
		}
		before.Reset()
		after.Reset()
	}
	inside := false
	for line := range strings.Lines(patch) {
		text := line[1:]
		switch {
		case line[0] == '@':
			flush()
			inside = true
		case !inside:
		case line[0] == '-':
			before.WriteString(text)
		case line[0] == '+':
			after.WriteString(text)
		case line[0] == ' ':
			before.WriteString(text)
			after.WriteString(text)
		}
	}
	flush()
	return all
}
