package confine

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sdd-eval/sdd-eval/internal/confine/probe"
	"github.com/sdd-eval/sdd-eval/internal/helper"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
)

// Property is something that a process outside its policy cannot do.
type Property = probe.Property

// The properties, in the order in which they are shown; see package probe.
const (
	FilesRead    = probe.FilesRead
	FilesWritten = probe.FilesWritten
	FileModes    = probe.FileModes
	Terminals    = probe.Terminals
	Processes    = probe.Processes
	Sockets      = probe.Sockets
	Network      = probe.Network
	SetIDs       = probe.SetIDs
	Namespaces   = probe.Namespaces
	Interfaces   = probe.Interfaces
	Forks        = probe.Forks
	Memory       = probe.Memory
	CPU          = probe.CPU
	Disk         = probe.Disk
)

// AllProperties returns all properties in the order in which they are shown.
func AllProperties() []Property { return probe.All() }

// Properties are the properties that a sandbox was found to have.
type Properties struct {
	Kind Kind `json:"kind"`
	// Version is the version of bubblewrap or Landlock, such as "0.8.0" or "ABI 7", or empty.
	Version string `json:"version,omitempty"`
	// Holds lists the properties that the sandbox has, Open those that it does not have.
	Holds []Property `json:"holds"`
	Open  []Property `json:"open"`
	// PassedOver lists the reasons why [Auto] did not choose stronger kinds.
	PassedOver []string `json:"passed_over,omitempty"`
}

// ConfinesFiles reports whether files outside of what a process was given are out of its reach. Kinds differ, and a
// [Wrapper] may confine nothing.
func (h Properties) ConfinesFiles() bool {
	return slices.Contains(h.Holds, FilesRead) && slices.Contains(h.Holds, FilesWritten)
}

// Seen returns the path at which a confined process finds a [Policy.Workspace]: [WorkspacePath], or its own.
func (h Properties) Seen(workspace string) string {
	if h.Kind == Bwrap && relocates() {
		return WorkspacePath
	}
	return workspace
}

// String returns the kind, its version and the properties that it does not have. For the zero value, of a run that
// starts no process to confine, it returns "unused".
func (h Properties) String() string {
	if h.Kind == "" {
		return "unused"
	}
	s := string(h.Kind)
	if h.Version != "" {
		s += " " + h.Version
	}
	if h.Kind == None || len(h.Open) == 0 {
		return s
	}
	open := make([]string, len(h.Open))
	for i, p := range h.Open {
		open[i] = string(p)
	}
	return fmt.Sprintf("%s (open: %s)", s, strings.Join(open, ", "))
}

// measureTimeout bounds the measurement, which takes milliseconds.
const measureTimeout = 20 * time.Second

// bound is a limit that is enough for every Go program, and what a prober asks for that tries to exceed it.
type bound struct {
	property Property
	limits   supervise.Limits
	asks     probe.Targets
}

var bounds = []bound{
	{Forks, supervise.Limits{Threads: 64}, probe.Targets{Threads: 128}},
	{Memory, supervise.Limits{Memory: 64 << 20}, probe.Targets{Memory: 96 << 20}},
	{CPU, supervise.Limits{CPUs: 0.1}, probe.Targets{CPU: 15 * time.Millisecond}},
	{Disk, supervise.Limits{Disk: 4 << 20}, probe.Targets{Disk: 6 << 20}},
}

// measure has probers try to escape from a method's sandbox, and returns the properties that it was found to have.
func measure(ctx context.Context, kind Kind, m method) (Properties, error) {
	version, err := m.version(ctx)
	if err != nil {
		return Properties{}, err
	}
	if _, err := helper.Find(); err != nil { // before the timeout begins: it may be built
		return Properties{}, err
	}
	timeout := fmt.Errorf("the sandbox probe took longer than %v", measureTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, measureTimeout, timeout)
	defer cancel()
	outside, err := newTargets()
	if err != nil {
		return Properties{}, &targetsError{err}
	}
	defer outside.remove()
	var online, offline map[Property]bool
	bounded := make([]bool, len(bounds))
	var group errgroup.Group
	group.Go(func() (err error) {
		online, err = try(ctx, m, Policy{Write: []string{outside.own}, Network: true}, outside.local())
		return err
	})
	group.Go(func() (err error) {
		offline, err = try(ctx, m, Policy{Write: []string{outside.own}}, outside.probe)
		return err
	})
	for i, b := range bounds {
		group.Go(func() (err error) {
			b.asks.Own = outside.own
			bounded[i], err = tryLimit(ctx, m, b.limits, b.asks)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		if ctx.Err() != nil {
			err = &untested{context.Cause(ctx)}
		}
		return Properties{}, err
	}
	offline[Network] = offline[Network] && !outside.packetArrived()
	online[Network] = true // the policy allows it
	for i, b := range bounds {
		online[b.property], offline[b.property] = bounded[i], bounded[i]
	}
	properties := Properties{Kind: kind, Version: version, Holds: []Property{}, Open: []Property{}}
	for _, p := range AllProperties() {
		if online[p] && offline[p] {
			properties.Holds = append(properties.Holds, p)
		} else {
			properties.Open = append(properties.Open, p)
		}
	}
	return properties, nil
}

// targets are what probers try to reach, outside of their sandboxes.
type targets struct {
	dir, own  string
	listeners []net.Listener
	packets   net.PacketConn
	probe     probe.Targets // describes them to probers
	process   *supervise.Process
	terminal  *os.File
}

// targetsError says that the targets could not be made. That says nothing about a sandbox.
type targetsError struct{ err error }

func (e *targetsError) Error() string { return "test the sandbox: " + e.err.Error() }

func (e *targetsError) Unwrap() error { return e.err }

// maxSocketDir is how long the path of a directory for temporary files may be, so that a socket two levels below it
// has a name of 107 bytes at most, which is the system's limit.
const maxSocketDir = 79

// newTargets makes the targets.
func newTargets() (_ *targets, err error) {
	t := new(targets)
	defer func() {
		if err != nil {
			t.remove()
		}
	}()
	parent := ""
	if len(os.TempDir()) > maxSocketDir {
		parent = "/tmp"
	}
	if t.dir, err = os.MkdirTemp(parent, "sdd-eval-probe-"); err != nil {
		return nil, err
	}
	if t.own, err = os.MkdirTemp("", "sdd-eval-probe-"); err != nil {
		return nil, err
	}
	t.probe = probe.Targets{
		Dir: t.dir, Own: t.own, Socket: filepath.Join(t.dir, "s"), Address: "@sdd-eval-" + rand.Text(),
	}
	if err = os.WriteFile(filepath.Join(t.dir, probe.SecretFile), []byte(probe.SecretText), 0o600); err != nil {
		return nil, err
	}
	for _, l := range []struct{ network, address string }{
		{"unix", t.probe.Socket}, {"unix", t.probe.Address}, {"tcp", "127.0.0.1:0"},
	} {
		listener, err := net.Listen(l.network, l.address)
		if err != nil {
			return nil, err
		}
		t.listeners = append(t.listeners, listener)
	}
	t.probe.TCP = t.listeners[2].Addr().String()
	if t.packets, err = net.ListenPacket("udp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	t.probe.UDP = t.packets.LocalAddr().String()
	t.terminal, t.probe.Tty, _ = openTerminal() // a container may have none
	return t, t.setProcess()
}

// setProcess starts a process with a marker in its environment: a prober that waits for its targets.
func (t *targets) setProcess() error {
	p, err := helper.Find()
	if err != nil {
		return err
	}
	t.probe.Marker = "MARKER=" + rand.Text()
	t.process, err = supervise.Start(context.Background(), supervise.Command{
		Path: p.Path, Args: p.Command(helper.Prober), Env: []string{t.probe.Marker}, PipeStdin: true,
		Grace: time.Millisecond,
	})
	if err != nil {
		return err
	}
	t.probe.Process = t.process.PID()
	t.probe.PIDs, err = os.Readlink("/proc/self/ns/pid")
	return err
}

func (t *targets) remove() {
	if t.process != nil {
		_, _ = t.process.Kill()
	}
	if t.terminal != nil {
		t.terminal.Close()
	}
	if t.packets != nil {
		t.packets.Close()
	}
	for _, l := range t.listeners {
		l.Close()
	}
	for _, dir := range []string{t.dir, t.own} {
		if dir != "" {
			_ = os.RemoveAll(dir)
		}
	}
}

// local returns the targets on this machine, for a prober that may use the network.
func (t *targets) local() probe.Targets {
	here := t.probe
	here.TCP, here.UDP = "", ""
	return here
}

// packetArrived reports whether a prober's packet has arrived. On loopback it arrives at once.
func (t *targets) packetArrived() bool {
	if err := t.packets.SetReadDeadline(time.Now().Add(5 * time.Millisecond)); err != nil {
		return true // unknown
	}
	packet := make([]byte, len(probe.SecretText))
	n, _, err := t.packets.ReadFrom(packet)
	return err == nil && string(packet[:n]) == probe.SecretText
}

// try returns which properties a method's sandbox has under a policy.
func try(ctx context.Context, m method, p Policy, t probe.Targets) (map[Property]bool, error) {
	var r prober
	if err := r.start(ctx, m, p, t, supervise.Limits{}); err != nil {
		return nil, err
	}
	exit, err := r.process.Wait()
	if err != nil {
		return nil, &untested{err}
	}
	var properties map[Property]bool
	if err := json.Unmarshal(r.stdout.Bytes(), &properties); err != nil || exit != (supervise.Exit{}) {
		return nil, r.failed(exit)
	}
	return properties, nil
}

// tryLimit reports whether a prober is kept within its limits. To end it afterwards is too late for most: a fork bomb
// is quicker than a supervisor that counts. What it has written to the disk can be removed. It is slowed down to its
// part of the processors; that it took long says little, since others may have been at work.
func tryLimit(ctx context.Context, m method, l supervise.Limits, asks probe.Targets) (bool, error) {
	var r prober
	if err := r.start(ctx, m, Policy{Write: []string{asks.Own}}, asks, l); err != nil {
		return false, err
	}
	exit, err := r.process.Wait()
	if ctx.Err() != nil {
		return false, &untested{context.Cause(ctx)}
	}
	exceeded := strings.Contains(r.stdout.String(), probe.Exceeded)
	_, met := errors.AsType[*supervise.LimitError](err)
	switch {
	case exceeded:
		return l.CPUs > 0 && r.process.Usage().Throttled, nil
	case !met && exit == (supervise.Exit{}):
		return false, r.failed(exit)
	}
	return met || l.Threads > 0, nil // a program that gets no thread fails; else the reason may be another
}

// prober is a process that tries to escape, with its output.
type prober struct {
	process        *supervise.Process
	stdout, stderr bytes.Buffer
}

func (r *prober) start(
	ctx context.Context, m method, given Policy, t probe.Targets, l supervise.Limits,
) error {
	p, err := helper.Find()
	if err != nil {
		return err
	}
	input, err := json.Marshal(t)
	if err != nil {
		return err
	}
	c := supervise.Command{
		Path: p.Path, Args: p.Command(helper.Prober), Dir: "/", Env: []string{"GOTRACEBACK=none"},
		Limits: l, Stdin: bytes.NewReader(input), Stdout: &r.stdout, Stderr: &r.stderr,
	}
	c.Limits.Dirs = given.Write
	if err := confined(m, &c, given); err != nil {
		return err
	}
	if r.process, err = supervise.Start(ctx, c); err == nil {
		return nil
	}
	if text := strings.TrimSpace(r.stderr.String()); text != "" {
		return errors.New(text) // the reason why the sandbox does not start
	}
	return err
}

// failed returns the error of a prober that did not print its findings.
func (r *prober) failed(exit supervise.Exit) error {
	printed := strings.TrimSpace(r.stderr.String() + r.stdout.String())
	return &untested{fmt.Errorf("the sandbox probe failed: %s: %s", exit, cmp.Or(printed, "no output"))}
}

// untested is the error of a sandbox that may work, although the prober in it failed or took too long.
type untested struct{ error }

func (u *untested) Unwrap() error { return u.error }
