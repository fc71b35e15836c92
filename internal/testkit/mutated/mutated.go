// Package mutated lets internal/testkit/mutants change the programs that tests build. It asks tests to build a program
// in [Dir] with [Flags], unless it is there, and to start it with [Environ].
package mutated

import (
	"net/url"
	"os"
	"path/filepath"
)

// The variables that the tool sets.
const (
	Mutant  = "SDD_EVAL_MUTANT"         // number of the active mutant
	Seconds = "SDD_EVAL_MUTANT_SECONDS" // how many a process with a mutant may live
	Reached = "SDD_EVAL_MUTANT_REACHED" // the file to which a process writes which mutants it reaches

	Programs   = "SDD_EVAL_MUTANT_PROGRAMS"    // the directory of programs that were built with all mutants
	BuildFlags = "SDD_EVAL_MUTANT_BUILD_FLAGS" // what builds them
	ReachedDir = "SDD_EVAL_MUTANT_REACHED_DIR" // the directory for a file of each test
)

// Dir returns a directory for programs that tests build, and a function that removes it. With mutants, it stays, and
// may already have the programs.
func Dir(pattern string) (dir string, remove func(), err error) {
	if dir := os.Getenv(Programs); dir != "" {
		return dir, func() {}, nil
	}
	dir, err = os.MkdirTemp("", pattern)
	return dir, func() { os.RemoveAll(dir) }, err
}

// Flags returns the flags of the go command that put mutants into a program, as GOFLAGS takes them; mostly none.
func Flags() string { return os.Getenv(BuildFlags) }

// Environ returns the variables with which a test starts such a program, those above; mostly none.
func Environ(test string) []string {
	var env []string
	for _, name := range []string{Mutant, Seconds} {
		if value := os.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	if dir := os.Getenv(ReachedDir); dir != "" {
		env = append(env, Reached+"="+filepath.Join(dir, FileName(test)))
	}
	return env
}

// FileName returns the name of a test's file in [ReachedDir].
func FileName(test string) string { return url.PathEscape(test) }
