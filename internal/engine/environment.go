package engine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/confine"
)

// FromEnvironment returns what the environment says of a run in a mode. Getenv reads the variables one by one, so that go
// test's cache knows them.
func FromEnvironment(mode Mode, getenv func(string) string, environ []string) (c Config, err error) {
	if err := checkVariables(environ); err != nil {
		return Config{}, err
	}
	c.Mode, c.Getenv, c.Environ, c.Sandbox = mode, getenv, environ, getenv("EVALTEST_SANDBOX")
	if c.Stale, err = ParseStaleMode(getenv("EVALTEST_STALE")); err != nil {
		return Config{}, fmt.Errorf("EVALTEST_STALE: %w", err)
	}
	if c.LLMJudge, err = ParseSwitch(getenv("EVAL_LLM_JUDGE")); err != nil {
		return Config{}, fmt.Errorf("EVAL_LLM_JUDGE: %w", err)
	}
	if c.RecordJudges, err = ParseJudges(getenv("EVALTEST_JUDGES"), mode, getenv); err != nil {
		return Config{}, fmt.Errorf("EVALTEST_JUDGES: %w", err)
	}
	if c.Sandbox != "" {
		if _, err := confine.ParseKind(c.Sandbox); err != nil {
			return Config{}, fmt.Errorf("EVALTEST_SANDBOX: %w", err)
		}
	}
	if n := getenv("EVALTEST_PARALLEL"); n != "" {
		if c.Parallel, err = strconv.Atoi(n); err != nil || c.Parallel < 1 {
			return Config{}, fmt.Errorf("EVALTEST_PARALLEL: %q is not a number of units, from 1", n)
		}
	}
	return c, nil
}

// variables are the environment variables that this package reads, and those that only tests or hooks do.
var variables = []string{
	"EVALTEST_MODE", "EVALTEST_STALE", "EVALTEST_PARALLEL", "EVALTEST_RECORD_IN_CI", "EVALTEST_RUN_DIR", "EVALTEST_SANDBOX",
	"EVALTEST_HELPER", "EVALTEST_JUDGES", "EVALTEST_CAPTURE",
}

// checkVariables refuses unknown EVALTEST_ variables: a misspelt one would be ignored.
func checkVariables(environ []string) error {
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(name, "EVALTEST_") {
			continue
		}
		if !slices.Contains(variables, name) {
			return fmt.Errorf("unknown environment variable %s: use one of %s", name, strings.Join(variables, ", "))
		}
	}
	return nil
}
