package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/shard"
	"github.com/sdd-eval/sdd-eval/internal/toolname"
)

// variables are the environment variables that this package reads, and those that only tests or hooks do.
var variables = []string{
	"EVALTEST_MODE", "EVALTEST_STALE", "EVALTEST_PARALLEL", "EVALTEST_RECORD_IN_CI", "EVALTEST_RUN_DIR", shard.Variable,
	"EVALTEST_SANDBOX", requireVariable, untrustedVariable,
	"EVALTEST_HELPER", "EVALTEST_JUDGES", "EVALTEST_CAPTURE",
}

// checkVariables refuses unknown EVALTEST_ variables, and names that are one slip away from a known one: they would be
// ignored.
func checkVariables(environ []string) error {
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if slices.Contains(variables, name) {
			continue
		}
		for _, known := range variables {
			if oneSlip(name, known) {
				return fmt.Errorf("unknown environment variable %s: write %s", name, known)
			}
		}
		if strings.HasPrefix(name, "EVALTEST_") {
			return fmt.Errorf("unknown environment variable %s: use one of %s", name, strings.Join(variables, ", "))
		}
	}
	return nil
}

// Misspellings calls each with all names that are one slip away from a variable: a letter that is missing, added,
// wrong, or swapped with the next. The go command caches results by the variables that a test has read, so one that
// reads all of these by os.Getenv is not answered from the cache where one of them is set.
func Misspellings(each func(name string)) {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_"
	for _, v := range variables {
		for i := range len(v) + 1 {
			for _, l := range letters {
				each(v[:i] + string(l) + v[i:])
				if i < len(v) {
					each(v[:i] + string(l) + v[i+1:])
				}
			}
			if i < len(v) {
				each(v[:i] + v[i+1:])
			}
			if i+1 < len(v) {
				each(v[:i] + v[i+1:i+2] + v[i:i+1] + v[i+2:])
			}
		}
	}
}

// oneSlip reports whether one slip, or letters in another case, make name of known.
func oneSlip(name, known string) bool {
	return name != known && toolname.Near(name, []string{known}) != ""
}
