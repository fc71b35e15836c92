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
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sdd-eval/sdd-eval/internal/confine/probe"
	"github.com/sdd-eval/sdd-eval/internal/helper"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
)

// Property is something that a process outside its policy cannot do.
type Property = probe.Property

// The properties, in the order in which they are shown; see those of package probe.
const (
	FilesRead    = probe.FilesRead
	FilesWritten = probe.FilesWritten
	FileModes    = probe.FileModes
	Terminals    = probe.Terminals
	Processes    = probe.Processes
	Sockets      = probe.Sockets
	Network      = probe.Network
	Forks        = probe.Forks
)

// Properties returns all properties.
func Properties() []Property {
	return []Property{FilesRead, FilesWritten, FileModes, Terminals, Processes, Sockets, Network, Forks}
}

// Held is what a sandbox was found to hold.
type Held struct {
	Kind Kind `json:"kind"`
	// Version is that of what confines, e.g. "0.8.0" or "ABI 7"; empty: none is known.
	Version string `json:"version,omitempty"`
	// Holds are the properties that held when they were tried, Open those that did not.
	Holds []Property `json:"holds"`
	Open  []Property `json:"open"`
	// PassedOver are the reasons why [Auto] did not take stronger kinds.
	PassedOver []string `json:"passed_over,omitempty"`
}

// String tells the kind and version, and what it leaves open; "unused" for the zero value, of a run that starts nothing to
// confine.
func (h Held) String() string {
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

const (
	// measureTimeout bounds the measuring, a matter of milliseconds.
	measureTimeout = 20 * time.Second
	// fewThreads is a limit that a prober starts more threads than, and no Go program fewer.
	fewThreads = 64
)

// measure has probers try to get out of what a method makes, and returns what held.
func measure(ctx context.Context, kind Kind, m method) (Held, error) {
	version, err := m.version(ctx)
	if err != nil {
		return Held{}, err
	}
	if _, err := helper.Find(); err != nil { // which may take its time
		return Held{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, measureTimeout, fmt.Errorf("trying it took longer than %v", measureTimeout))
	defer cancel()
	b, err := setBait()
	if err != nil {
		return Held{}, &untried{fmt.Errorf("try it: %w", err)}
	}
	defer b.remove()
	var online, offline map[Property]bool
	var bounded bool
	var group errgroup.Group
	group.Go(func() (err error) {
		online, err = b.try(ctx, m, Policy{Network: true}, b.local())
		return err
	})
	group.Go(func() (err error) {
		offline, err = b.try(ctx, m, Policy{}, b.targets)
		return err
	})
	group.Go(func() (err error) {
		bounded, err = b.tryThreads(ctx, m)
		return err
	})
	if err := group.Wait(); err != nil {
		if ctx.Err() != nil {
			err = &untried{context.Cause(ctx)}
		}
		return Held{}, err
	}
	offline[Network] = offline[Network] && !b.packetArrived()
	online[Network] = true // it is allowed
	online[Forks], offline[Forks] = bounded, bounded
	held := Held{Kind: kind, Version: version, Holds: []Property{}, Open: []Property{}}
	for _, p := range Properties() {
		if online[p] && offline[p] {
			held.Holds = append(held.Holds, p)
		} else {
			held.Open = append(held.Open, p)
		}
	}
	return held, nil
}

// bait is what probers try to get at.
type bait struct {
	dir       string
	listeners []net.Listener
	packets   net.PacketConn
	targets   probe.Targets
	process   *supervise.Process
	terminal  *os.File
}

// setBait lays the bait out, outside of what probers are shown.
func setBait() (_ *bait, err error) {
	b := new(bait)
	defer func() {
		if err != nil {
			b.remove()
		}
	}()
	if b.dir, err = os.MkdirTemp("", "sdd-eval-bait-"); err != nil {
		return nil, err
	}
	b.targets = probe.Targets{Dir: b.dir, Socket: filepath.Join(b.dir, "s"), Address: "@sdd-eval-" + rand.Text()}
	if err = os.WriteFile(filepath.Join(b.dir, probe.SecretFile), []byte(probe.SecretText), 0o600); err != nil {
		return nil, err
	}
	for _, l := range []struct{ network, address string }{
		{"unix", b.targets.Socket}, {"unix", b.targets.Address}, {"tcp", "127.0.0.1:0"},
	} {
		listener, err := net.Listen(l.network, l.address)
		if err != nil {
			return nil, err
		}
		b.listeners = append(b.listeners, listener)
	}
	b.targets.TCP = b.listeners[2].Addr().String()
	if b.packets, err = net.ListenPacket("udp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	b.targets.UDP = b.packets.LocalAddr().String()
	b.terminal, b.targets.Tty, _ = openTerminal() // there may be none, in a container
	return b, b.setProcess()
}

// setProcess starts a process with a marker in its environment: a prober that waits for its targets.
func (b *bait) setProcess() error {
	p, err := helper.Find()
	if err != nil {
		return err
	}
	b.targets.Marker = "MARKER=" + rand.Text()
	b.process, err = supervise.Start(context.Background(), supervise.Command{
		Path: p.Path, Args: p.Command(helper.Prober), Env: []string{b.targets.Marker}, PipeStdin: true, Grace: time.Millisecond,
	})
	if err != nil {
		return err
	}
	b.targets.Process = b.process.PID()
	b.targets.PIDs, err = os.Readlink("/proc/self/ns/pid")
	return err
}

func (b *bait) remove() {
	if b.process != nil {
		_, _ = b.process.Kill()
	}
	if b.terminal != nil {
		b.terminal.Close()
	}
	if b.packets != nil {
		b.packets.Close()
	}
	for _, l := range b.listeners {
		l.Close()
	}
	if b.dir != "" {
		_ = os.RemoveAll(b.dir)
	}
}

// local returns the targets on this machine, for a prober that may use the network.
func (b *bait) local() probe.Targets {
	t := b.targets
	t.TCP, t.UDP = "", ""
	return t
}

// packetArrived reports whether a prober's packet has come. On loopback that takes no time.
func (b *bait) packetArrived() bool {
	if err := b.packets.SetReadDeadline(time.Now().Add(5 * time.Millisecond)); err != nil {
		return true // unknown
	}
	packet := make([]byte, len(probe.SecretText))
	n, _, err := b.packets.ReadFrom(packet)
	return err == nil && string(packet[:n]) == probe.SecretText
}

// try returns which properties hold under a policy.
func (b *bait) try(ctx context.Context, m method, p Policy, t probe.Targets) (map[Property]bool, error) {
	var r prober
	if err := r.start(ctx, m, p, t, 0); err != nil {
		return nil, err
	}
	exit, err := r.process.Wait()
	if err != nil {
		return nil, &untried{err}
	}
	var held map[Property]bool
	if err := json.Unmarshal(r.stdout.Bytes(), &held); err != nil || exit != (supervise.Exit{}) {
		return nil, r.failed(exit)
	}
	return held, nil
}

// tryThreads reports whether the kernel keeps a prober from starting more threads than it may. That it is killed later
// is no bound: a fork bomb is quicker than who counts.
func (b *bait) tryThreads(ctx context.Context, m method) (bool, error) {
	t := b.targets
	t.Threads = 2 * fewThreads
	var r prober
	if err := r.start(ctx, m, Policy{}, t, fewThreads); err != nil {
		return false, err
	}
	exit, _ := r.process.Wait() // that it has grown too large is an error
	if ctx.Err() != nil {
		return false, &untried{context.Cause(ctx)}
	}
	bounded := !strings.Contains(r.stdout.String(), probe.AllStarted)
	if bounded && exit == (supervise.Exit{}) {
		return false, r.failed(exit)
	}
	return bounded, nil
}

// prober is a process that tries to get out, with what it prints.
type prober struct {
	process        *supervise.Process
	stdout, stderr bytes.Buffer
}

func (r *prober) start(ctx context.Context, m method, policy Policy, t probe.Targets, maxThreads int) error {
	p, err := helper.Find()
	if err != nil {
		return err
	}
	input, err := json.Marshal(t)
	if err != nil {
		return err
	}
	c := supervise.Command{
		Path: p.Path, Args: p.Command(helper.Prober), Dir: "/", Env: []string{"GOTRACEBACK=none"}, MaxThreads: maxThreads,
		Stdin: bytes.NewReader(input), Stdout: &r.stdout, Stderr: &r.stderr,
	}
	if err := confined(m, &c, policy); err != nil {
		return err
	}
	if r.process, err = supervise.Start(ctx, c); err == nil {
		return nil
	}
	if text := strings.TrimSpace(r.stderr.String()); text != "" {
		return errors.New(text) // why there is none
	}
	return err
}

// failed is the error of a prober that printed something else than what it found out.
func (r *prober) failed(exit supervise.Exit) error {
	printed := strings.TrimSpace(r.stderr.String() + r.stdout.String())
	return &untried{fmt.Errorf("a process in it did not do its work: %s: %s", exit, cmp.Or(printed, "it printed nothing"))}
}

// untried is the error of a sandbox that starts, of which is not known what it holds.
type untried struct{ error }

func (u *untried) Unwrap() error { return u.error }
