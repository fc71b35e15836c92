// Package confine runs processes that can touch only what a policy allows. It decides what a process may reach; package
// supervise ends processes, and package lockdown asks the kernel for restrictions.
//
//	s, err := confine.New(confine.Auto, nil)
//	...
//	p, err := s.Start(ctx, supervise.Command{Path: "go", Args: []string{"go", "test"}, Dir: workspace, Env: env},
//		confine.Policy{Write: []string{workspace, home, tmp}})
//
// A process under evaluation does what an agent decided, or runs code that an agent wrote. The kernel confines it and
// all its descendants, without their cooperation. There are several kinds of sandboxes, with different guarantees. No
// kind is taken on trust: a [Sandbox] reports only the properties that were measured on this machine, by a process that
// tried to escape.
package confine

import (
	"cmp"
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

// DefaultLimits are those of a process that is started without: what an agent with a build beside it can need.
func DefaultLimits() supervise.Limits {
	return supervise.Limits{Threads: 2048, Memory: 4 << 30, Disk: 10 << 30}
}

// limitsOf returns a command's limits, the default ones where it has none. Disk is what the directories may take that
// the policy lets it write.
func limitsOf(l supervise.Limits, p Policy) supervise.Limits {
	d := DefaultLimits()
	return supervise.Limits{
		Threads: cmp.Or(l.Threads, d.Threads), Memory: cmp.Or(l.Memory, d.Memory), CPUs: l.CPUs,
		Disk: cmp.Or(l.Disk, d.Disk), Dirs: p.Write,
	}
}

// Sandbox confines processes. It is safe for concurrent use.
type Sandbox struct {
	kind    Kind
	command []string // of a Wrapper
	leave   []Property

	mu         sync.Mutex
	tried      bool
	method     method
	properties Properties
	err        error
}

// method is how one kind confines.
type method interface {
	// version returns the version of the program or kernel interface that confines. An error says why the method cannot
	// be used here.
	version(ctx context.Context) (string, error)
	// confine changes a command, whose Path is absolute, so that it runs with the view.
	confine(c *supervise.Command, v view) error
}

// New returns a sandbox of a kind. Command is the command of a [Wrapper] and empty for all other kinds. Leave has
// properties that [Bwrap] and [Landlock] need not have: [Sockets], for programs that need unix sockets, and
// [Namespaces], for those that bring a sandbox of their own. The first use of the sandbox tests whether the kind works
// on this machine.
func New(kind Kind, command []string, leave ...Property) (*Sandbox, error) {
	if !slices.Contains(kinds(), kind) {
		return nil, fmt.Errorf("unknown kind of sandbox %q", kind)
	}
	if (kind == Wrapper) != (len(command) > 0) {
		return nil, fmt.Errorf("a sandbox of kind %q needs a command, and no other kind takes one", Wrapper)
	}
	return &Sandbox{kind: kind, command: command, leave: leave}, nil
}

// Start starts a command as [supervise.Start] does, confined by the policy. Limits that the command does not have are
// those of [DefaultLimits].
func (s *Sandbox) Start(ctx context.Context, c supervise.Command, p Policy) (*supervise.Process, error) {
	m, _, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	name := c.Path
	c.Limits = limitsOf(c.Limits, p)
	if err := confined(m, &c, p); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return supervise.Start(ctx, c)
}

// confined changes a command so that a method confines it by a policy. With a nil method it does nothing.
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
	v, err := newView(p, append(p.paths(c.Env), program), c.Env)
	if err != nil {
		return err
	}
	return m.confine(c, v)
}

// Properties returns the properties of the sandbox. They are measured once, by processes that try to escape. The error
// is an [UnavailableError] if the kind, or for Auto every kind, does not work here.
func (s *Sandbox) Properties(ctx context.Context) (Properties, error) {
	_, properties, err := s.open(ctx)
	return properties, err
}

// open chooses the method and measures it, once. If the context ends meanwhile, the next call tries again.
func (s *Sandbox) open(ctx context.Context) (method, Properties, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tried {
		return s.method, s.properties, s.err
	}
	m, properties, err := s.choose(ctx)
	if ctx.Err() != nil && err != nil {
		return nil, Properties{}, fmt.Errorf("try the sandbox: %w", context.Cause(ctx))
	}
	s.tried, s.method, s.properties, s.err = true, m, properties, err
	return m, properties, err
}

// Trust takes over the properties that another process of this user has measured, on this machine, of a sandbox that
// was made of the same kind, command and environment: they are not measured again.
func (s *Sandbox) Trust(p Properties) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tried || s.kind == None {
		return nil
	}
	for _, m := range s.methods() {
		if m.kind == p.Kind {
			s.tried, s.method, s.properties = true, m.method, p
			return nil
		}
	}
	return fmt.Errorf("a sandbox of kind %s is not one of kind %s", s.kind, p.Kind)
}

// methods returns those that the kind means, the strongest first.
func (s *Sandbox) methods() []kindMethod {
	methods := []kindMethod{{Bwrap, bwrap{s.leave}}, {Landlock, landlock{s.leave}}}
	if s.kind != Auto {
		methods = append(methods, kindMethod{Wrapper, wrapper(s.command)})
		methods = slices.DeleteFunc(methods, func(m kindMethod) bool { return m.kind != s.kind })
	}
	return methods
}

func (s *Sandbox) choose(ctx context.Context) (method, Properties, error) {
	if s.kind == None {
		return nil, Properties{Kind: None, Holds: []Property{}, Open: AllProperties()}, nil
	}
	unavailable := &UnavailableError{Kind: s.kind}
	for _, m := range s.methods() {
		properties, err := measure(ctx, m.kind, m.method)
		if err == nil {
			properties.PassedOver = unavailable.Reasons
			return m.method, properties, nil
		}
		if isOurs(err) {
			return nil, Properties{}, err
		}
		unavailable.add(m.kind, err)
	}
	if s.kind != Auto && !unavailable.Untested {
		unavailable.Other = worksInstead(ctx)
	}
	return nil, Properties{}, unavailable
}

type kindMethod struct {
	kind   Kind
	method method
}

// isOurs reports whether an error is about our preparations and says nothing about the sandbox.
func isOurs(err error) bool {
	_, isHelper := errors.AsType[*helper.Error](err)
	_, isTargets := errors.AsType[*targetsError](err)
	return isHelper || isTargets
}

// worksInstead returns the kind that works here in place of the chosen one, or "" if none does.
func worksInstead(ctx context.Context) Kind {
	auto := &Sandbox{kind: Auto}
	_, properties, _ := auto.choose(ctx)
	return properties.Kind
}

// UnavailableError says that a sandbox cannot be used on this machine.
type UnavailableError struct {
	Kind    Kind     // the kind that was asked for
	Reasons []string // one for each kind that was tried
	// Untested is set if a sandbox may work: the process failed, or took too long, that was to test it.
	Untested bool
	// Other is a kind that works in place of Kind, or "".
	Other Kind
}

func (e *UnavailableError) add(k Kind, err error) {
	e.Reasons = append(e.Reasons, fmt.Sprintf("%s: %v", k, err))
	// The probe of a wrapper fails because of the user's command.
	if _, ok := errors.AsType[*untested](err); ok && k != Wrapper {
		e.Untested = true
	}
}

func (e *UnavailableError) Error() string {
	what := "no sandbox works on this machine"
	if e.Kind != Auto {
		what = fmt.Sprintf("the sandbox %s does not work on this machine", e.Kind)
	}
	if e.Untested {
		what = "the sandbox could not be tested on this machine"
	}
	return what + ": " + strings.Join(e.Reasons, "; ")
}

// Advice returns what the user can do, or "" if that is not known. It suggests to run without a sandbox only if none
// works.
func (e *UnavailableError) Advice() string {
	if e.Untested {
		return ""
	}
	advice := "run agents and tests with all your rights: --sandbox none, EVALTEST_SANDBOX=none with go test"
	if e.Other != "" {
		advice = fmt.Sprintf("use the kind that works here: --sandbox %s, EVALTEST_SANDBOX=%[1]s with go test", e.Other)
	}
	if runtime.GOOS == "linux" && e.Other != Bwrap {
		advice = "install bubblewrap (Debian: apt-get install bubblewrap), or " + advice
	}
	return advice
}

// errNotLinux says why a kind does not work on other systems.
var errNotLinux = errors.New("works only on Linux")
