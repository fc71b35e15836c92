package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/testrun"
)

// Mode is where a unit's sessions come from.
type Mode string

const (
	// Replay plays the cassettes: no agent process, no network, no key.
	Replay Mode = "replay"
	// Record runs the agents and writes the cassettes anew.
	Record Mode = "record"
	// Missing records what has no cassette and replays the rest.
	Missing Mode = "missing"
	// Live runs the agents and writes no cassette.
	Live Mode = "live"
)

var modes = []Mode{Replay, Record, Missing, Live}

// ParseMode returns the mode that a user wrote; "" is def. Recording is refused in CI, because a cassette that CI
// records is one that nobody read; getenv tells CI and the way out of it.
func ParseMode(s string, def Mode, getenv func(string) string) (Mode, error) {
	m := Mode(s)
	if s == "" {
		m = def
	}
	if !slices.Contains(modes, m) {
		return "", fmt.Errorf("unknown mode %q: use one of %s", s, modeList())
	}
	if (m == Record || m == Missing) && testrun.InCI(getenv) && getenv("EVALTEST_RECORD_IN_CI") != "1" {
		return "", fmt.Errorf("mode %s is refused because CI is set: record on your machine and commit the cassettes, "+
			"or set EVALTEST_RECORD_IN_CI=1", m)
	}
	return m, nil
}

// StaleMode is what a stale cassette means.
type StaleMode string

const (
	// StaleFails makes a unit with a stale cassette an error.
	StaleFails StaleMode = "fail"
	// StaleWarns replays it anyway and says so.
	StaleWarns StaleMode = "warn"
)

// ParseStaleMode returns the stale mode that a user wrote; "" is [StaleFails].
func ParseStaleMode(s string) (StaleMode, error) {
	switch m := StaleMode(s); m {
	case "":
		return StaleFails, nil
	case StaleFails, StaleWarns:
		return m, nil
	}
	return "", fmt.Errorf("unknown stale mode %q: use fail or warn", s)
}

// ParseJudges returns whether a user wants models to judge anew: "record", as opposed to "". As a cassette that CI records
// is one that nobody read, so is a judgement.
func ParseJudges(s string, m Mode, getenv func(string) string) (bool, error) {
	switch {
	case s == "":
		return false, nil
	case s != "record":
		return false, fmt.Errorf("unknown value %q: use record, or leave it empty", s)
	case m == Live:
		return false, fmt.Errorf("in mode %s nothing is recorded: use mode %s to judge recorded sessions anew", Live, Replay)
	case testrun.InCI(getenv) && getenv("EVALTEST_RECORD_IN_CI") != "1":
		return false, errors.New("recording judgements is refused because CI is set: record on your machine and commit them, " +
			"or set EVALTEST_RECORD_IN_CI=1")
	}
	return true, nil
}

// ParseSwitch returns what a user said to a question of yes or no: "1" or "0"; "" is no.
func ParseSwitch(s string) (bool, error) {
	switch s {
	case "", "0":
		return false, nil
	case "1":
		return true, nil
	}
	return false, fmt.Errorf("unknown value %q: use 1 or 0", s)
}

func modeList() string {
	names := make([]string, len(modes))
	for i, m := range modes {
		names[i] = string(m)
	}
	return strings.Join(names, ", ")
}
