package hook

import (
	"errors"
	"path/filepath"

	"github.com/sdd-eval/sdd-eval/internal/testrun"
)

// The variables by which a harness tells hooks what to do.
const (
	VariableMode    = "TEST_MODE"          // true: this is a test
	VariableRunID   = "TEST_RUN_ID"        // names the directory of the run's output
	VariableProject = "CLAUDE_PROJECT_DIR" // the project's root; Claude Code sets it for its hooks, too
	VariableCapture = "EVALTEST_CAPTURE"   // the capture's file
)

// Target says where the hooks of an agent write: what a harness tells them through the agent's environment.
type Target struct {
	// RunID is what [testrun.ID] returns.
	RunID string
	// Project is the project's root and Capture the capture's file, both absolute. The agent has to be able to write to the
	// directory of the capture.
	Project, Capture string
}

// Environment returns the variables for the agent, "NAME=value" each.
func (t Target) Environment() []string {
	return []string{
		VariableMode + "=true", VariableRunID + "=" + t.RunID, VariableProject + "=" + t.Project, VariableCapture + "=" + t.Capture,
	}
}

// captureFile returns the file that lines are appended to, and the directory of output that it is in; empty: the user
// chose another. With an error, the place is never read, but people can find its side file.
func captureFile(getenv func(string) string, cwd string) (file, output string, err error) {
	project := getenv(VariableProject)
	if project == "" {
		project = cwd
	}
	if file := getenv(VariableCapture); file != "" {
		if !filepath.IsAbs(file) {
			file = filepath.Join(project, file)
		}
		return file, "", nil
	}
	const name = "tool-calls.jsonl"
	output = filepath.Join(project, "test-output")
	id := getenv(VariableRunID)
	if id == "" { // one of our own would be another one for each call
		return filepath.Join(output, name), output, errors.New(VariableRunID + " is not set, and neither is " + VariableCapture)
	}
	if _, err := testrun.ID(getenv); err != nil {
		return filepath.Join(output, name), output, err
	}
	return filepath.Join(output, id, name), output, nil
}
