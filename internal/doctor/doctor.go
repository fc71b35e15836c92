// Package doctor finds out what a machine has for runs of agents: sandboxes, agents, accounts, tools and room. Its
// checks are rows of one table, and what they find is data. How that looks belongs in package cli.
//
// It changes nothing. It starts programs of the user's with an option that prints their version, and probers that try
// to escape from sandboxes. No agent is
// started.
package doctor

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sdd-eval/sdd-eval/internal/panics"
)

// State says how well a thing is.
type State string

const (
	// Well is what works.
	Well State = "ok"
	// Noted is what works less well than it could, or is not what was tested.
	Noted State = "note"
	// Absent is what is not there, and not every run needs.
	Absent State = "absent"
	// Bad is what has to be mended: runs fail because of it.
	Bad State = "bad"
)

// Finding is what was found out about one thing.
type Finding struct {
	Group string `json:"group"`
	Name  string `json:"name"`
	State State  `json:"state"`
	// Text says in a line what was found.
	Text string `json:"text"`
	// Next is what a person can do about it: a command or, after a line of text, lines to write into a file. What is
	// well has none, and what no run needs.
	Next string `json:"next,omitempty"`
	// Facts are what the text says, for programs.
	Facts map[string]any `json:"facts,omitempty"`
}

// Config says what is looked at.
type Config struct {
	// Root is the project's root, Dir where presets are; empty: as [agent.Resolve] says.
	Root, ConfigDir string
	// Dir is where the relative paths of a command start.
	Dir string
	// Environ and Getenv are the environment.
	Environ []string
	Getenv  func(string) string
	// GoVersion is the version of Go that this program was built with, as [runtime.Version] tells it.
	GoVersion string
	// Timeout bounds each program that is asked for its version.
	Timeout time.Duration
}

// check is a row of the table.
type check struct {
	group string
	// timeout bounds it; 0: it takes as long as the programs that it asks.
	timeout time.Duration
	find    func(context.Context, *machine) []Finding
}

// checks is the table of all checks, in the order in which they are shown.
func checks() []check {
	all := []check{
		{"sandbox", sandboxTimeout, inUse},
		{"sandbox", sandboxTimeout, bubblewrap},
		{"sandbox", sandboxTimeout, landlock},
		{"sandbox", 0, engineOf("podman")},
		{"sandbox", 0, engineOf("docker")},
	}
	for _, p := range installable() {
		all = append(all, check{"agents", 0, func(ctx context.Context, m *machine) []Finding {
			return m.agent(ctx, p)
		}})
	}
	return append(all,
		check{"accounts", lookTimeout, accounts},
		check{"machine", lookTimeout, ourselves},
		check{"machine", 0, goCommand},
		check{"machine", 0, gitCommand},
		check{"machine", lookTimeout, caches},
		check{"machine", lookTimeout, variables},
		check{"machine", lookTimeout, limits},
		check{"machine", lookTimeout, room},
		check{"machine", lookTimeout, runs},
	)
}

// How long checks may take: for the most part milliseconds.
const (
	sandboxTimeout = time.Minute
	lookTimeout    = 10 * time.Second
)

// programsAtOnce is how many programs are asked for their versions at a time: most are started by Node.js, for seconds.
const programsAtOnce = 2

// machine is what the checks look at.
type machine struct {
	Config
	asking chan struct{} // has a token for each program that is asked

	measured sync.Map // *measured, by the kind of sandbox
}

// Examine makes all checks, several at a time, and returns what they found in the order of the table. A check that ends
// neither in time nor with findings is bad, and so says what it found.
func Examine(ctx context.Context, c Config) []Finding {
	m := &machine{Config: c, asking: make(chan struct{}, programsAtOnce)}
	table := checks()
	found := make([][]Finding, len(table))
	var group errgroup.Group
	for i, row := range table {
		group.Go(func() error {
			found[i] = m.make(ctx, row)
			return nil
		})
	}
	_ = group.Wait()
	return slices.Concat(found...)
}

// make makes a check.
func (m *machine) make(ctx context.Context, row check) (found []Finding) {
	if row.timeout > 0 {
		late := fmt.Errorf("no answer within %v", row.timeout)
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, row.timeout, late)
		defer cancel()
	}
	err := panics.Catch(func() error {
		found = row.find(ctx, m)
		return nil
	})
	if err != nil {
		const next = "report this: it is a defect of sdd-eval"
		found = []Finding{{Name: "check", State: Bad, Text: err.Error(), Next: next}}
	}
	for i := range found {
		found[i].Group = row.group
	}
	return found
}

// Worst returns the findings that are bad.
func Worst(all []Finding) []Finding {
	return slices.DeleteFunc(slices.Clone(all), func(f Finding) bool { return f.State != Bad })
}
