package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/llm"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/secret"
	"github.com/sdd-eval/sdd-eval/internal/shard"
	"github.com/sdd-eval/sdd-eval/internal/testrun"
)

// Version is the version of this module, told to agents and kept in cassettes.
const Version = "0.2.0"

// Config says how a plan is run.
type Config struct {
	// Mode is where sessions come from; the zero value is not a mode.
	Mode Mode
	// Stale is what a stale cassette means; empty: [StaleFails].
	Stale StaleMode
	// Parallel is how many units run at a time; 0: as many as the playbook says, else as processors in a replay that
	// starts no agent, else 1.
	Parallel int
	// Root is the module's or project's root: paths in results are relative to it.
	Root string
	// Cassettes is the directory of the cassettes, relative to Root unless absolute.
	Cassettes string
	// ConfigDir is where presets are looked up; empty: as agent.Resolve says.
	ConfigDir string
	// TempDir is where units get their directories; empty: the system's.
	TempDir string
	// Source is the directory that workspaces are copied from where the playbook names none, absolute; empty: such
	// workspaces begin empty.
	Source string
	// Sandbox is the kind of sandbox that the user chose, see package confine; empty: the playbook's.
	Sandbox string
	// SandboxRequire are properties of the sandbox that the user requires, beside those of the playbook, see package
	// confine.
	SandboxRequire []string
	// Untrusted says that the playbook is a stranger's: whoever reads it refuses what widens, see [plan.Source].
	Untrusted bool
	// OwnAgents says that the user chose the agents of an untrusted playbook, so that they may be started.
	OwnAgents bool
	// Secrets are the values that nothing that is written may show. Those of Environ are added, and those of presets
	// when they are resolved. Nil: a set of the runner's own.
	Secrets *secret.Set
	// LLMJudge lets evaluators ask models where there is no recording of an answer. RecordJudges has them asked anew,
	// and recorded, also about a session that is replayed.
	LLMJudge, RecordJudges bool
	// Models returns the client of these models, and Spent counts what they and agents are asked, for all who share it;
	// nil: [Models] of the runner's own.
	Models func() (llm.Asker, error)
	Spent  *llm.Spent
	// Keep says where the run is kept; nil: nowhere.
	Keep *Keep
	// Trees has replays write their workspaces into directories where they need not, for tests that compare.
	Trees bool
	// Wait is how long the units of an account wait for its rate limit, in all, until one of them ends; then the run
	// ends and can be resumed. 0: they do not wait, and such a unit ends in an error.
	Wait time.Duration
	// Budget is what the user allows the run to cost, see [Runner.Budget].
	Budget Budget
	// Doubt ends a run with a [*SuspectError], before another agent is started, once so many cases in which something
	// should be used have ended, and it was used in none of their trials; 0: a run goes on. A resumed run goes on.
	Doubt int
	// Shard is which of several shards of the plan is run, see [Config.FindShard]; the zero value: all. Weights is the
	// file that says how long units take; empty: the one beside the playbook, if there is one.
	Shard   shard.Shard
	Weights string
	// Measured is what another process has measured of the sandbox, see [confine.Sandbox.Trust]; nil: it is measured.
	Measured *confine.Properties
	// Command returns the command that runs a unit in a mode. Errors about cassettes name it. It is required.
	Command func(Mode, plan.Unit) string
	// Grace is how long a cancelled unit may take to end its agent; 0 means 20 s.
	Grace time.Duration
	// Getenv reads the environment.
	Getenv func(string) string
	// GoVersion is the version of Go that the program was built with; empty: what [runtime.Version] says.
	GoVersion string
	// Environ is the environment that run steps start from.
	Environ []string
	// Renew reports whether the session of a unit is recorded anew in mode [Missing] although there is a recording,
	// such as a stale one. Nil: none is.
	Renew func(plan.Unit) bool
	// Selected and SelectedJob report whether a unit, and a job after the units, is to be run. Nil: all are.
	Selected    func(plan.Unit) bool
	SelectedJob func(plan.Job) bool
}

// TestTool is the [Keep.Tool] of runs of tests.
const TestTool = "evaltest"

// Keep says where a run is kept.
type Keep struct {
	// Below is the directory below which the run's directory is made.
	Below string
	// Resumed, if not nil, is the directory of a run that is to be finished, in place of a new one.
	Resumed *rundir.Run
	// AcceptChanged lets a run be resumed although what judges its units has changed.
	AcceptChanged bool
	// Tool is what runs it, for the manifest.
	Tool string
	// SelectedBy is what chose the units that [Config.Selected] selects, as flags of the command: all trials of a case
	// under a variant or none. The run's directory lists no others then. Empty: it lists all of the plan.
	SelectedBy string
	// Part reports whether a unit of those that [Config.Selected] selects is one of the part of the plan that is run,
	// which [rundir.Merge] completes: units by their ids, whatever they are. The run's directory lists no others. A
	// [Config.Shard] is such a part, too. Nil: it is all of them.
	Part func(plan.Unit) bool
	// Before is how the jobs before the units ended, which ran once for several parts; nil: they run.
	Before []result.Job
	// Again is the id of the run whose units are run again; empty: there is none.
	Again string
	// Rejudged is the run whose units are judged anew, in place of agents or cassettes, in mode [Replay]; nil: there is
	// none.
	Rejudged *rundir.Run
	// Report makes the reports of a run, where a step asks for them, and with last when the run has ended. Nil: such
	// steps are skipped.
	Report func(ctx context.Context, run *rundir.Run, last bool) error
}

// grace is how long ending an agent may take.
func (r *Runner) grace() time.Duration { return cmp.Or(r.cfg.Grace, 20*time.Second) }

// parallel is how many units run at a time.
func (r *Runner) parallel() int {
	byDefault := 1
	if r.cfg.Mode == Replay && !r.pb.Cassette.Level.RunsAgent() {
		byDefault = runtime.GOMAXPROCS(0)
	}
	return cmp.Or(r.cfg.Parallel, r.pb.Parallel, byDefault)
}

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

// ParseJudges returns whether a user wants models to judge anew: "record", as opposed to "". As a cassette that CI
// records is one that nobody read, so is a judgement.
func ParseJudges(s string, m Mode, getenv func(string) string) (bool, error) {
	switch {
	case s == "":
		return false, nil
	case s != "record":
		return false, fmt.Errorf("unknown value %q: use record, or leave it empty", s)
	case m == Live:
		return false, fmt.Errorf("in mode %s nothing is recorded: use mode %s to judge recorded sessions anew", Live,
			Replay)
	case testrun.InCI(getenv) && getenv("EVALTEST_RECORD_IN_CI") != "1":
		return false, errors.New(
			"recording judgements is refused because CI is set: record on your machine and commit them, " +
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

// FromEnvironment returns what the environment says of a run in a mode. Getenv reads the variables one by one, so that
// go test's cache knows them.
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
	if c.SandboxRequire, err = parseProperties(getenv(requireVariable)); err != nil {
		return Config{}, fmt.Errorf("%s: %w", requireVariable, err)
	}
	if c.Untrusted, err = Untrusted(getenv); err != nil {
		return Config{}, err
	}
	if n := getenv("EVALTEST_PARALLEL"); n != "" {
		if c.Parallel, err = strconv.Atoi(n); err != nil || c.Parallel < 1 {
			return Config{}, fmt.Errorf("EVALTEST_PARALLEL: %q must be a number of units, at least 1", n)
		}
	}
	return c, nil
}

// Untrusted reports whether the environment says that playbooks are strangers'.
func Untrusted(getenv func(string) string) (bool, error) {
	untrusted, err := ParseSwitch(getenv(untrustedVariable))
	if err != nil {
		return false, fmt.Errorf("%s: %w", untrustedVariable, err)
	}
	return untrusted, nil
}

const untrustedVariable = "EVALTEST_UNTRUSTED"

// requireVariable names properties of the sandbox that a run must have, with commas between them.
const requireVariable = "EVALTEST_SANDBOX_REQUIRE"

// parseProperties returns the properties in a list.
func parseProperties(list string) (properties []string, err error) {
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		switch {
		case name == "" && strings.TrimSpace(list) == "":
			return nil, nil
		case !slices.Contains(confine.AllProperties(), confine.Property(name)):
			return nil, fmt.Errorf("unknown property %q: use some of %s", name, joined(confine.AllProperties()))
		}
		properties = append(properties, name)
	}
	return properties, nil
}

func joined(properties []confine.Property) string {
	names := make([]string, len(properties))
	for i, p := range properties {
		names[i] = string(p)
	}
	return strings.Join(names, ", ")
}
