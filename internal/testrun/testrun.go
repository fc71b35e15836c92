// Package testrun knows what the environment says about the run of tests that this process is part of: its id, and
// whether it is continuous integration. Directories of the module belong in package project.
package testrun

import (
	"crypto/rand"
	"fmt"
	"strings"
	"sync"

	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
)

// variable names the run for all of its processes: `go test ./...` has one for each package.
const variable = "TEST_RUN_ID"

// validID matches what can stand in the name of a file on any system and as an argument of any command, if it is not
// longer than maxID.
var validID = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_-]*$`)

const maxID = 64

// generated is the id of a process that was given none.
var generated = sync.OnceValue(func() string { return strings.ToLower(rand.Text()[:8]) })

// ID returns the id of the run: TEST_RUN_ID, or, if that is empty, eight random characters, which are the same ones for
// as long as the process lives. It is a path element. A TEST_RUN_ID that could not be one is an error.
func ID(getenv func(string) string) (string, error) {
	id := getenv(variable)
	if id == "" {
		return generated(), nil
	}
	if len(id) > maxID || !validID.MatchString(id) {
		return "", fmt.Errorf("%s: %.80q cannot name a run: use up to 64 letters, digits, _ and -, and no - in front",
			variable, id)
	}
	return id, nil
}

// InCI reports whether this is continuous integration, where nobody sees what was skipped or reads what was recorded:
// CI is set, and neither 0 nor false.
func InCI(getenv func(string) string) bool {
	v := getenv("CI")
	return v != "" && v != "0" && !strings.EqualFold(v, "false")
}
