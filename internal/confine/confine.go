// Package confine runs processes that can touch only what they are given.
//
//	s, err := confine.New(confine.Auto, nil)
//	...
//	p, err := s.Start(ctx, supervise.Command{Path: "go", Args: []string{"go", "test"}, Dir: workspace, Env: env},
//		confine.Policy{Write: []string{workspace, home, tmp}})
//
// A process under evaluation does what an agent decided, or runs code that an agent wrote: the kernel confines it and
// all its descendants, without their cooperation. There are several kinds of sandboxes, with different guarantees. No
// kind is taken on trust: a [Sandbox] reports only what was measured on this machine, by a process that tried to
// escape.
package confine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/sdd-eval/sdd-eval/internal/helper"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
)

// MaxThreads is how many threads a confined process and its descendants may have all together.
const MaxThreads = 2048

// Sandbox confines processes. It is safe for concurrent use.
type Sandbox struct {
	kind    Kind
	command []string // of a Wrapper

	mu     sync.Mutex
	tried  bool
	method method
	held   Held
	err    error
}

// method is how one kind confines.
type method interface {
	// version returns the version of what confines, or why it cannot be used here.
	version(ctx context.Context) (string, error)
	// confine changes a command, whose Path is absolute, so that it runs as the view has it.
	confine(c *supervise.Command, v view) error
}

// New returns a sandbox of a kind. Command is that of a [Wrapper], and empty for all other kinds. Whether the kind works
// on this machine is found out when it is first used.
func New(kind Kind, command []string) (*Sandbox, error) {
	if !slices.Contains(Kinds(), kind) {
		return nil, fmt.Errorf("unknown kind of sandbox %q", kind)
	}
	if (kind == Wrapper) != (len(command) > 0) {
		return nil, fmt.Errorf("a sandbox of kind %q has a command, and those of other kinds have none", Wrapper)
	}
	return &Sandbox{kind: kind, command: command}, nil
}

// Start starts a command as [supervise.Start] does, confined by the policy.
func (s *Sandbox) Start(ctx context.Context, c supervise.Command, p Policy) (*supervise.Process, error) {
	m, _, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	name := c.Path
	if err := confined(m, &c, p); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return supervise.Start(ctx, c)
}

// confined changes a command so that a method confines it by a policy. A nil method does not.
func confined(m method, c *supervise.Command, p Policy) error {
	if m == nil {
		return nil
	}
	program, err := c.Program()
	if err != nil {
		return err
	}
	if len(c.Args) == 0 {
		c.Args = []string{c.Path}
	}
	c.Path = program
	if c.MaxThreads == 0 {
		c.MaxThreads = MaxThreads
	}
	v, err := newView(p, append(p.paths(c.Env), program), c.Env)
	if err != nil {
		return err
	}
	return m.confine(c, v)
}

// Held returns what the sandbox holds. That is tried once, with processes that want to get out. The error says that the
// kind, or for Auto every kind, does not work here, and what can be done.
func (s *Sandbox) Held(ctx context.Context) (Held, error) {
	_, held, err := s.open(ctx)
	return held, err
}

// open finds out once how to confine. A context that ends meanwhile leaves that open.
func (s *Sandbox) open(ctx context.Context) (method, Held, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tried {
		return s.method, s.held, s.err
	}
	m, held, err := s.choose(ctx)
	if ctx.Err() != nil && err != nil {
		return nil, Held{}, fmt.Errorf("try the sandbox: %w", context.Cause(ctx))
	}
	s.tried, s.method, s.held, s.err = true, m, held, err
	return m, held, err
}

func (s *Sandbox) choose(ctx context.Context) (method, Held, error) {
	if s.kind == None {
		return nil, Held{Kind: None, Holds: []Property{}, Open: Properties()}, nil
	}
	methods := []kindMethod{{Bwrap, bwrap{}}, {Landlock, landlock{}}}
	if s.kind != Auto {
		methods = append(methods, kindMethod{Wrapper, wrapper(s.command)})
		methods = slices.DeleteFunc(methods, func(m kindMethod) bool { return m.kind != s.kind })
	}
	unavailable := &UnavailableError{Kind: s.kind}
	for _, m := range methods {
		held, err := measure(ctx, m.kind, m.method)
		if err == nil {
			held.PassedOver = unavailable.Reasons
			return m.method, held, nil
		}
		if _, ok := errors.AsType[*helper.Error](err); ok { // which says nothing about the sandbox
			return nil, Held{}, err
		}
		unavailable.add(m.kind, err)
	}
	if s.kind != Auto && !unavailable.Starts {
		unavailable.Other = worksInstead(ctx)
	}
	return nil, Held{}, unavailable
}

type kindMethod struct {
	kind   Kind
	method method
}

// worksInstead returns the kind that works where the chosen one does not, empty if there is none.
func worksInstead(ctx context.Context) Kind {
	auto := &Sandbox{kind: Auto}
	_, held, _ := auto.choose(ctx)
	return held.Kind
}

// UnavailableError says that a sandbox cannot be used on this machine.
type UnavailableError struct {
	Kind    Kind     // what was asked for
	Reasons []string // one for each kind that was tried
	// Starts is set if a sandbox works as far as can be seen: what failed is the process in it that tries what it holds.
	Starts bool
	// Other is a kind that works, where a certain one was asked for.
	Other Kind
}

func (e *UnavailableError) add(k Kind, err error) {
	e.Reasons = append(e.Reasons, fmt.Sprintf("%s: %v", k, err))
	if _, ok := errors.AsType[*untried](err); ok && k != Wrapper { // what started there is the user's command
		e.Starts = true
	}
}

func (e *UnavailableError) Error() string {
	what := "no sandbox works on this machine"
	if e.Kind != Auto {
		what = fmt.Sprintf("the sandbox %s does not work on this machine", e.Kind)
	}
	if e.Starts {
		what = "a sandbox starts on this machine, but what it holds could not be tried"
	}
	return what + ": " + strings.Join(e.Reasons, "; ")
}

// Advice returns what the user can do, empty if that is not known. It names no sandbox at all only where none starts.
func (e *UnavailableError) Advice() string {
	if e.Starts {
		return ""
	}
	advice := "let agents and tests run with all of your rights: --sandbox none, EVALTEST_SANDBOX=none with go test"
	if e.Other != "" {
		advice = fmt.Sprintf("use the kind that works here: --sandbox %s, EVALTEST_SANDBOX=%[1]s with go test", e.Other)
	}
	if runtime.GOOS == "linux" && e.Other != Bwrap {
		advice = "install bubblewrap (Debian: apt-get install bubblewrap), or " + advice
	}
	return advice
}

// errNotLinux is why kinds do not work on other systems.
var errNotLinux = errors.New("it confines on Linux only")
