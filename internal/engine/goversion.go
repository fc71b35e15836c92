package engine

import (
	"fmt"
	"go/version"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/fault"
)

// safeGo is the first version of Go in which [os.Root], through which we reach the files of agents, cannot be left.
const safeGo = "go1.26.5"

// isUnsafe reports whether a version of Go, as [runtime.Version] tells it, is older than safeGo. One that cannot be
// told is.
func isUnsafe(goVersion string) bool {
	goVersion, _, _ = strings.Cut(strings.TrimPrefix(goVersion, "devel "), " ") // from experiments and dates
	return version.Compare(goVersion, safeGo) < 0
}

// unsafeGo says what is wrong with a version of Go that a program was built with, "" if nothing is.
func unsafeGo(goVersion string) string {
	if !isUnsafe(goVersion) {
		return ""
	}
	return fmt.Sprintf("this program was built with %s: before %s what an agent left can lead us out of its "+
		"workspace, by defects of os.Root", goVersion, safeGo)
}

// CheckGo returns an error, with advice, if a program that was built with this version of Go starts no agent.
func CheckGo(goVersion string) error {
	why := unsafeGo(goVersion)
	if why == "" {
		return nil
	}
	return fault.Advise(fmt.Errorf("no agent is started: %s", why), "build with "+safeGo+" or later: "+
		"`go get toolchain@"+safeGo+"` in the module of your tests, "+
		"GOTOOLCHAIN="+safeGo+"+auto with `go install` of sdd-eval")
}

// checkGo returns an error if the run starts agents, and the version of Go is none for that.
func (r *Runner) checkGo() error {
	if slices.ContainsFunc(r.plan.Units, r.startsAgent) {
		return CheckGo(r.cfg.GoVersion)
	}
	return nil
}
