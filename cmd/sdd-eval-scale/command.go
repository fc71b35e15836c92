package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/sdd-eval/sdd-eval/cmd/sdd-eval-scale/internal/embedded"
	"github.com/sdd-eval/sdd-eval/cmd/sdd-eval-scale/internal/queue"
	"github.com/sdd-eval/sdd-eval/cmd/sdd-eval-scale/internal/scale"
	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/project"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/secret"
)

const usage = `sdd-eval-scale runs a playbook by a queue, on this machine or on many.

Usage:
  sdd-eval-scale run --playbook FILE [--queue embedded|URL] [FLAGS]
  sdd-eval-scale run --resume RUN [--queue embedded|URL] [FLAGS]
  sdd-eval-scale worker --queue URL [--parallel N] [FLAGS]
  sdd-eval-scale status [RUN] [--queue embedded|URL]
  sdd-eval-scale cancel RUN [--queue embedded|URL]
  sdd-eval-scale fetch RUN [--queue embedded|URL] [--root DIR]
  sdd-eval-scale remove RUN [--queue embedded|URL]

run puts the playbook's units into the queue, waits until all have a result, and makes the run's
directory of them, as sdd-eval run does. The queue is embedded by default: this process has it, below
the project's root, and carries the units out. With the URL of a NATS server with JetStream, such as
nats://host:4222 or tls://host:4222, several separated by commas, workers do. An interrupted run goes
on in the queue; --resume waits for it again.

worker carries out units of runs whose accounts it has. fetch makes the directory of a run that has
ended. docs/scale.md says more.

Flags:
%s
Exit codes are those of sdd-eval run: 0 passed, 1 failed, 2 the command line, the playbook or the
configuration is wrong, 3 nothing is known of a unit or of an agent, 130 interrupted.
`

const (
	exitOK, exitUsage, exitHarness = 0, 2, 3
	exitInterrupted                = 130
)

// usageError is a mistake on the command line.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// command is one invocation.
type command struct {
	stdout, stderr io.Writer
	telling        sync.Mutex
	secrets        *secret.Set
	root           string // the project's
	command        []string

	at                                     queue.Options
	queue, playbook, resume, mode, sandbox string
	rootFlag, configDir                    string
	budget, assume                         float64
	parallel, attempts                     int
	llmJudge                               bool
	only                                   queue.Selection
	limits                                 []string
	silence                                time.Duration
	assumed                                bool
}

// embeddedQueue is the queue that needs no server.
const embeddedQueue = "embedded"

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	secrets := new(secret.Set)
	secrets.AddEnvironment(os.Environ())
	lines := secrets.Lines(stderr)
	defer lines.Close()
	c := &command{stdout: stdout, stderr: lines, secrets: secrets}
	code, err := c.run(ctx, args)
	if err = queue.Explained(err); err != nil {
		fmt.Fprintf(c.stderr, "sdd-eval-scale: %s\n", excerpt.Harmless(c.secrets.String(err.Error())))
		if advice := fault.Advice(err); advice != "" {
			fmt.Fprintf(c.stderr, "next: %s\n", advice)
		}
	}
	return code
}

func (c *command) run(ctx context.Context, args []string) (int, error) {
	f := c.flags()
	name := ""
	if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	do, ok := map[string]func(context.Context, []string) (int, error){
		"run": c.runPlaybook, "worker": c.work, "status": c.status, "cancel": c.on("cancel", c.cancel),
		"fetch": c.on("fetch", c.fetch), "remove": c.on("remove", c.remove),
	}[name]
	if name == "help" || name == "--help" || name == "-h" {
		fmt.Fprintf(c.stdout, usage, f.FlagUsagesWrapped(100))
		return exitOK, nil
	}
	if name == "" {
		return exitUsage, errors.New("give a command: run, worker, status, cancel, fetch or remove; " +
			"sdd-eval-scale help says more")
	}
	if !ok {
		return exitUsage, fmt.Errorf("there is no command %q: use run, worker, status, cancel, fetch or remove; "+
			"sdd-eval-scale help says more", name)
	}
	if err := f.Parse(args); errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintf(c.stdout, usage, f.FlagUsagesWrapped(100))
		return exitOK, nil
	} else if err != nil {
		return exitUsage, fmt.Errorf("%s: %w; sdd-eval-scale help lists them", name, err)
	}
	c.assumed = f.Changed("assume-cost")
	code, err := exitOK, c.unread(name, f)
	if err == nil {
		err = c.complete(name)
	}
	if err == nil {
		code, err = do(ctx, f.Args())
	}
	var input *engine.InputError
	var mistake usageError
	switch {
	case err == nil:
	case ctx.Err() != nil:
		code = exitInterrupted
	case errors.Is(err, queue.ErrNoRun):
		code, err = exitUsage, fault.Advise(err, c.line("status"))
	case errors.As(err, &input), errors.As(err, &mistake), errors.Is(err, queue.ErrURL):
		code = exitUsage
	default:
		code = exitHarness
	}
	return code, err
}

func (c *command) flags() *pflag.FlagSet {
	f := pflag.NewFlagSet("sdd-eval-scale", pflag.ContinueOnError)
	f.SortFlags, f.Usage = false, func() {}
	f.SetOutput(io.Discard)
	f.StringVar(&c.queue, "queue", embeddedQueue, "The `QUEUE`: embedded, or the URL of a NATS server.")
	f.StringVar(&c.at.Credentials, "creds", "", "The NATS credentials `FILE`.")
	f.StringVar(&c.at.CA, "tls-ca", "", "The PEM `FILE` of the authority that the server's certificate must be of.")
	f.StringVar(&c.at.Cert, "tls-cert", "", "The PEM `FILE` of our certificate.")
	f.StringVar(&c.at.Key, "tls-key", "", "The PEM `FILE` of its key.")
	f.IntVar(&c.at.Replicas, "replicas", 0, "How many servers keep a queue that is new: `N`; default: 1.")
	f.DurationVar(&c.at.Lease, "lease", 0, "The `TIME` that a unit stays with a worker that says nothing, for a queue "+
		"that is new; default: 30s.")
	f.StringVar(&c.rootFlag, "root", "", "The project's root `DIR`; default: as sdd-eval says.")
	f.StringVar(&c.configDir, "config-dir", "", "The `DIR` with the account presets; default: as sdd-eval says.")
	f.IntVar(&c.parallel, "parallel", 1, "Carry out up to `N` units at the same time.")
	f.StringVar(&c.playbook, "playbook", "", "run: the playbook `FILE`.")
	f.StringVar(&c.resume, "resume", "", "run: wait for this `RUN`, which is in the queue.")
	f.StringVar(&c.mode, "mode", "live", "run: the `MODE`, live or replay.")
	f.StringVar(&c.sandbox, "sandbox", "", "run: the `KIND` of sandbox on workers, as of sdd-eval run.")
	f.BoolVar(&c.llmJudge, "llm-judge", false, "run: let evaluators ask models where no answer is recorded.")
	f.StringVar(&c.only.Units, "units", "", "run: only the units that `PATTERN` means, as of sdd-eval run.")
	f.StringVar(&c.only.Cases, "case", "", "run: only the units of these `CASES`, separated by commas.")
	f.StringVar(&c.only.Variants, "variant", "", "run: only the units of these `VARIANTS`, separated by commas.")
	f.StringArrayVar(&c.limits, "limit", nil, "run: carry out at most N units of an account at a time, on all "+
		"workers and of all runs: `KIND[/PRESET]=N`; may be given several times.")
	f.Float64Var(&c.budget, "budget-usd", 0, "run: begin no unit that may make the run cost more than `USD`.")
	f.Float64Var(&c.assume, "assume-cost", 0, "run: count `USD` for a unit whose agent does not say what it cost.")
	f.IntVar(&c.attempts, "attempts", 3, "run: try a unit `N` times if its worker cannot carry it out.")
	f.DurationVar(&c.silence, "silence", 0, "run: the `TIME` that a unit may show no progress; default: 30m.")
	return f
}

// unread returns an error for a flag of which a command makes no use: it would look as if that held.
func (c *command) unread(name string, f *pflag.FlagSet) (err error) {
	f.Visit(func(flag *pflag.Flag) {
		ofRun := strings.HasPrefix(flag.Usage, "run: ")
		switch {
		case name != "run" && ofRun:
			err = usagef("%s: remove --%s: only run takes it", name, flag.Name)
		case flag.Name == "parallel" && name != "run" && name != "worker":
			err = usagef("%s: remove --%s: only run and worker take it", name, flag.Name)
		case flag.Name == "config-dir" && !slices.Contains([]string{"run", "worker", "fetch"}, name):
			err = usagef("%s: remove --%s: only run, worker and fetch take it", name, flag.Name)
		case flag.Name == "parallel" && name == "run" && c.queue != embeddedQueue:
			err = usagef("%s: remove --%s: the workers of the queue have one each", name, flag.Name)
		case c.resume != "" && ofRun && flag.Name != "resume":
			err = usagef("run: --resume continues a run as it began: remove --%s", flag.Name)
		}
	})
	return err
}

// complete checks the flags.
func (c *command) complete(name string) error {
	if min(c.parallel, c.attempts) < 1 || c.at.Replicas < 0 {
		return usagef("--parallel, --attempts, --replicas: want a number above 0")
	}
	if !(c.budget >= 0 && c.assume >= 0) || math.IsInf(c.budget+c.assume, 1) {
		return usagef("--budget-usd, --assume-cost: want US dollars")
	}
	if c.at.Lease < 0 || c.silence < 0 {
		return usagef("--lease, --silence: want a time above 0")
	}
	if _, err := confine.ParseKind(cmp.Or(c.sandbox, string(confine.Auto))); err != nil {
		return usagef("--sandbox: %w", err)
	}
	if c.at.Name = "sdd-eval-scale " + name; c.queue != embeddedQueue {
		if !strings.Contains(c.queue, "://") {
			return usagef("--queue %s: want embedded or a URL, such as nats://host:4222",
				queue.Shown(queue.Options{URL: c.queue}))
		}
		c.at.URL = c.queue
	}
	here, err := os.Getwd()
	if err == nil {
		c.root, err = rundir.ProjectRoot(here, c.rootFlag, os.Getenv)
	}
	if err != nil {
		return usageError{err}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	c.command = childCommand(self)
	return nil
}

// open opens the queue. The function that it returns closes it.
func (c *command) open(ctx context.Context) (*queue.Queue, func(), error) {
	shut := func() {}
	if c.queue == embeddedQueue {
		tree, dir := disk.Tree(c.root), filepath.Join(c.root, ".llman", "sdd-eval", "queue")
		if err := project.MakeIgnored(tree, dir); err != nil {
			return nil, nil, err
		}
		s, err := embedded.Start(filepath.Join(dir, "store"))
		if err != nil {
			return nil, nil, err
		}
		c.at.InProcess, shut = s, s.Close
	}
	q, err := queue.Open(ctx, c.at)
	if err != nil {
		shut()
		return nil, nil, err
	}
	return q, func() { q.Close(); shut() }, nil
}

// log tells a person something.
func (c *command) log(format string, args ...any) {
	c.telling.Lock()
	defer c.telling.Unlock()
	fmt.Fprintln(c.stderr, c.harmless(format, args...))
}

// harmless returns a text for people, masked. What others say in it looks like no line of ours, and is no command for a
// terminal or a CI system.
func (c *command) harmless(format string, args ...any) string {
	text := c.secrets.String(fmt.Sprintf(format, args...))
	return excerpt.Harmless(strings.ReplaceAll(text, "\n", "\n  "))
}

// limitsOf reads --limit.
func limitsOf(said []string) (map[string]int, error) {
	limits := make(map[string]int)
	for _, s := range said {
		i := strings.LastIndexByte(s, '=')
		n, err := strconv.Atoi(s[i+1:])
		if i < 1 || err != nil || n < 1 {
			return nil, usagef("--limit %s: want KIND/PRESET=N", s)
		}
		limits[s[:i]] = n
	}
	return limits, nil
}

func (c *command) runPlaybook(ctx context.Context, args []string) (int, error) {
	if len(args) == 1 && c.playbook == "" {
		c.playbook, args = args[0], nil
	}
	if len(args) > 0 || (c.playbook == "") == (c.resume == "") {
		return 0, usagef("run: give either --playbook FILE or --resume RUN")
	}
	limits, err := limitsOf(c.limits)
	if err != nil {
		return 0, err
	}
	q, shut, err := c.open(ctx)
	if err != nil {
		return 0, err
	}
	defer shut()
	var r queue.Run
	if c.resume != "" {
		r, err = q.Run(ctx, c.resume)
	} else {
		r, err = c.submit(ctx, q, limits)
	}
	if err == nil && r.Submitting {
		err = fmt.Errorf("the queue has only a part of the run %s: another process submits it, or was killed as it did",
			r.ID)
		err = fault.Advise(err, "wait, or "+c.line("remove", r.ID))
	}
	if err != nil {
		return 0, err
	}
	c.log("run %s", r.ID)
	working, atWork := ctx, func() error { return nil }
	if c.queue == embeddedQueue {
		if working, atWork, err = c.startWorker(ctx, q); err != nil {
			return 0, fault.Advise(err, c.line("run", "--resume", r.ID))
		}
	}
	err = c.follow(working, q, r)
	err = cmp.Or(atWork(), err)
	if errors.Is(err, errRemoved) {
		return 0, err
	}
	if err != nil {
		return 0, fault.Advise(err, c.line("run", "--resume", r.ID))
	}
	return c.fetch(ctx, q, r.ID)
}

// line returns a command line for people, with the flags that say where the queue is.
func (c *command) line(args ...string) string {
	words := append([]string{"sdd-eval-scale"}, args...)
	flags := [][2]string{
		{"--creds", c.at.Credentials},
		{"--tls-ca", c.at.CA},
		{"--tls-cert", c.at.Cert},
		{"--tls-key", c.at.Key},
		{"--root", c.rootFlag},
	}
	for _, flag := range flags {
		if flag[1] != "" {
			words = append(words, flag[0], flag[1])
		}
	}
	if c.queue != embeddedQueue {
		words = append(words, "--queue", queue.Shown(c.at))
	}
	return strings.Join(words, " ")
}

func (c *command) submit(ctx context.Context, q *queue.Queue, limits map[string]int) (queue.Run, error) {
	playbook, err := filepath.Abs(c.playbook)
	if err == nil { // as the root has none
		if dir, err := filepath.EvalSymlinks(filepath.Dir(playbook)); err == nil {
			playbook = filepath.Join(dir, filepath.Base(playbook))
		}
	}
	if err != nil {
		return queue.Run{}, err
	}
	o := scale.Options{
		Root: c.root, Playbook: playbook, Mode: c.mode, Sandbox: c.sandbox, LLMJudge: c.llmJudge, Only: c.only,
		Private:   map[string]string{"--creds": c.at.Credentials, "--tls-key": c.at.Key},
		ConfigDir: c.configDir, Limits: limits, MaxUSD: c.budget, Attempts: c.attempts, Silence: c.silence,
		Alone: c.queue == embeddedQueue,
	}
	if c.assumed {
		o.AssumedUSD = &c.assume
	}
	return scale.Submit(ctx, q, o)
}

var (
	errInterrupted = errors.New("interrupted: the queue keeps the run")
	errRemoved     = errors.New("the run was removed: nothing is known of its units")
)

// look is how often a run is looked at.
const look = 100 * time.Millisecond

// follow waits until a run has ended, and tells how it goes.
func (c *command) follow(ctx context.Context, q *queue.Queue, r queue.Run) error {
	told := make(map[string]bool)
	tell := func(format string, args ...any) {
		if line := fmt.Sprintf(format, args...); !told[line] {
			told[line] = true
			c.log("%s", line)
		}
	}
	began := time.Now()
	var looked time.Time
	for {
		waiting, err := q.Waiting(ctx, r.ID)
		if ctx.Err() != nil {
			return errInterrupted
		}
		if err != nil {
			tell("waiting for the queue: %v", queue.Explained(err))
		}
		if err == nil && !waiting {
			break
		}
		if time.Since(looked) > 2*time.Second {
			looked = time.Now()
			if s, err := q.Status(ctx, r.ID); err == nil {
				c.tellStatus(s, tell, time.Since(began))
			}
		}
		wait(ctx, look)
	}
	// Workers still end what they had begun when the run was cancelled.
	for deadline := time.Now().Add(q.Lease() + 20*time.Second); ; wait(ctx, look) {
		s, err := q.Status(ctx, r.ID)
		if ctx.Err() != nil {
			return errInterrupted
		}
		if errors.Is(err, queue.ErrNoRun) {
			return errRemoved
		}
		if errors.Is(err, queue.ErrContent) {
			return err
		}
		if err != nil {
			tell("waiting for the queue: %v", queue.Explained(err))
		}
		if err == nil && (s.Counts().Running == 0 || time.Now().After(deadline)) {
			c.tellStatus(s, tell, time.Since(began))
			if s.End == nil {
				return q.End(ctx, r.ID, queue.End{Kind: queue.Complete})
			}
			return nil
		}
	}
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// tellStatus tells what is new about a run.
func (c *command) tellStatus(s queue.Status, tell func(string, ...any), since time.Duration) {
	n := s.Counts()
	missing := ""
	if n.Failed > 0 {
		missing = fmt.Sprintf(", %d without a result", n.Failed)
	}
	tell("%d of %d units done, %d running, %d waiting%s", n.Done, len(s.Units), n.Running, n.Waiting, missing)
	for i, r := range s.Records {
		for _, f := range r.Failures {
			tell("%s: attempt %d on %s: %s: %s", s.Units[i].ID, f.Attempt, f.Worker, f.Kind, f.Why)
		}
	}
	for account, said := range s.Paused {
		tell("account %s pauses: %s", account, said)
	}
	for id, why := range s.Refusals {
		tell("worker %s refuses the run: %s", id, why)
	}
	for _, w := range s.Workers {
		for account, why := range w.Lacks {
			tell("worker %s has not the account %s: %s", w.ID, account, why)
		}
	}
	if len(s.Workers) == 0 && s.End == nil && since > 3*time.Second && n.Waiting > 0 {
		tell("no worker is there: %s", c.line("worker", "--parallel", "4"))
	}
	if s.End != nil {
		tell("the run has ended: %v", s.End)
	}
}

// startWorker starts a worker in this process, and returns a context that ends when the worker does. The function that
// it returns ends it, and returns why it had ended by itself.
func (c *command) startWorker(ctx context.Context, q *queue.Queue) (context.Context, func() error, error) {
	w, remove, err := c.newWorker(q)
	if err != nil {
		return nil, nil, err
	}
	w.Alone = true
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	group.Go(func() {
		defer cancel()
		err = w.Run(ctx)
	})
	return ctx, func() error {
		cancel()
		group.Wait()
		remove()
		return err
	}, nil
}

func (c *command) work(ctx context.Context, args []string) (int, error) {
	if len(args) > 0 {
		return 0, usagef("worker: it takes no arguments")
	}
	if c.queue == embeddedQueue {
		return 0, usagef("worker: --queue must be the URL of a server: run carries out the units of an embedded queue")
	}
	q, shut, err := c.open(ctx)
	if err != nil {
		return 0, err
	}
	defer shut()
	w, remove, err := c.newWorker(q)
	if err != nil {
		return 0, err
	}
	defer remove()
	c.log("worker %s", w.ID)
	if err := w.Run(ctx); err != nil {
		return 0, err
	}
	return exitInterrupted, nil
}

func (c *command) status(ctx context.Context, args []string) (int, error) {
	if len(args) > 1 {
		return 0, usagef("status: give one RUN or none")
	}
	q, shut, err := c.open(ctx)
	if err != nil {
		return 0, err
	}
	defer shut()
	if len(args) == 0 {
		runs, err := q.Runs(ctx)
		for _, r := range runs {
			end, err := q.Ended(ctx, r.ID)
			if err != nil {
				return 0, err
			}
			state := "goes on"
			switch {
			case end != nil:
				state = end.Kind
			case r.Submitting:
				state = "is being submitted"
			}
			fmt.Fprintf(c.stdout, "%s  %s  %s\n", r.ID, r.Playbook, state)
		}
		return exitOK, err
	}
	s, err := q.Status(ctx, args[0])
	if err != nil {
		return 0, err
	}
	c.tellStatus(s, func(format string, args ...any) {
		fmt.Fprintln(c.stdout, c.harmless(format, args...))
	}, time.Hour)
	if s.Run.MaxUSD > 0 {
		fmt.Fprintf(c.stdout, "budget: $%.2f, of which $%.2f are spent\n", s.Run.MaxUSD, s.Money.SpentUSD)
	}
	return exitOK, nil
}

// on returns a command that does something about the run that its only argument names.
func (c *command) on(name string, do func(ctx context.Context, q *queue.Queue, id string) (int, error)) func(
	context.Context, []string,
) (int, error) {
	return func(ctx context.Context, args []string) (int, error) {
		if len(args) != 1 {
			return 0, usagef("%s: give one RUN; sdd-eval-scale status lists them", name)
		}
		q, shut, err := c.open(ctx)
		if err != nil {
			return 0, err
		}
		defer shut()
		return do(ctx, q, args[0])
	}
}

func (c *command) cancel(ctx context.Context, q *queue.Queue, id string) (int, error) {
	if _, err := q.Run(ctx, id); err != nil {
		return 0, err
	}
	if err := q.End(ctx, id, queue.End{Kind: queue.Cancelled, Why: "by hand"}); err != nil {
		return 0, err
	}
	end, err := q.Ended(ctx, id)
	if err == nil && end != nil { // it is that of the first who ended it
		c.log("the run has ended: %v", end)
		c.log("next: %s", c.line("fetch", id))
	}
	return exitOK, err
}

func (c *command) remove(ctx context.Context, q *queue.Queue, id string) (int, error) {
	return exitOK, q.Remove(ctx, id)
}

// fetch makes a run's directory, and lets sdd-eval finish it: jobs after the units, reports, the verdict.
func (c *command) fetch(ctx context.Context, q *queue.Queue, id string) (int, error) {
	done, err := scale.Fetch(ctx, q, id, c.root, c.secrets)
	if err != nil {
		return 0, fault.Advise(err, c.line("status", id))
	}
	if n := len(done.NotRun); n > 0 {
		const shown = 10
		for _, why := range done.NotRun[:min(n, shown)] {
			c.log("no result: %s", why)
		}
		if n > shown {
			c.log("no result: %d more units", n-shown)
		}
		fmt.Fprintln(c.stdout, done.Dir)
		next := "sdd-eval run --resume " + id
		if c.rootFlag != "" {
			next += " --root " + c.rootFlag
		}
		return exitHarness, fmt.Errorf("%d units have no result\nnext, to run them here: %s", n, next)
	}
	return c.finish(ctx, id), nil
}
