// Package unit carries out one unit in a process of its own, by the same engine as `sdd-eval run`: the worker that
// started the process may be killed, stopped or cut off, and the unit's agent ends all the same.
//
// The worker writes the [Spec] as the first line of standard input, and a byte now and then: without one for a while,
// or at its end, the unit ends. What the process writes to standard output are [Message]s.
package unit

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sdd-eval/sdd-eval/cmd/sdd-eval-scale/internal/bundle"
	"github.com/sdd-eval/sdd-eval/internal/cli"
	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/kinds"
	"github.com/sdd-eval/sdd-eval/internal/llm"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/secret"
	"github.com/sdd-eval/sdd-eval/internal/session"
	_ "github.com/sdd-eval/sdd-eval/internal/tracing/otlp" // sends the traces of units
)

// Word is the argument that makes the program carry out a unit.
const Word = "carry-out"

// Source is what a plan is made of.
type Source struct {
	Root     string `json:"root"`     // the project's
	Playbook string `json:"playbook"` // its path from there, with slashes
	Mode     string `json:"mode"`
	Sandbox  string `json:"sandbox,omitempty"`
	LLMJudge bool   `json:"llm_judge,omitempty"`
	// Units, Cases and Variants say which units of the playbook are run, as the flags of sdd-eval run do; empty: all.
	Units    string `json:"units,omitempty"`
	Cases    string `json:"cases,omitempty"`
	Variants string `json:"variants,omitempty"`
}

// Spec says what is to be carried out.
type Spec struct {
	Source
	// Unit is the unit's id; empty: what all units of a machine share is carried out.
	Unit string `json:"unit,omitempty"`
	Shared
	// Below is an empty directory for the run's directory, and Archive the file that it is packed into.
	Below   string `json:"below"`
	Archive string `json:"archive"`
	// Temp is where the unit's other directories are made.
	Temp string `json:"temp"`
	// ConfigDir is where account presets are; empty: as sdd-eval says.
	ConfigDir string `json:"config_dir,omitempty"`
	// Patience is how long the process lives without a byte from its worker.
	Patience time.Duration `json:"patience"`
}

// Shared is what is carried out once for all units that a machine carries out.
type Shared struct {
	// Before is how the jobs before the units ended.
	Before []result.Job `json:"before,omitempty"`
	// Measured is what the sandbox was found to hold; nil: no unit starts a process.
	Measured *confine.Properties `json:"measured,omitempty"`
}

// Message is what the process says: how it has ended, or, if that is nil, that there is progress.
type Message struct {
	End *End `json:"end,omitempty"`
}

// End is how carrying out a unit has ended.
type End struct {
	Kind Kind   `json:"kind"`
	Why  string `json:"why,omitempty"`
	// Outcome is that of the unit, and Sandbox what confined it, if it is done.
	Outcome string `json:"outcome,omitempty"`
	Sandbox string `json:"sandbox,omitempty"`
	// CostUSD is what the unit's agents cost, in all attempts; nil: nobody knows. If it is Telling, another unit may
	// cost as much.
	CostUSD *float64 `json:"cost_usd,omitempty"`
	Telling bool     `json:"telling,omitempty"`
	// Wait is how long the model of a limited account asks to wait; 0: it does not say.
	Wait time.Duration `json:"wait,omitempty"`
	// Skipped are files that do not travel: sockets, devices, and links that lead elsewhere.
	Skipped []string `json:"skipped,omitempty"`
	Shared
}

// Kind is a kind of ends.
type Kind string

const (
	// Done: there is a result, and the archive.
	Done Kind = "done"
	// Broken: the playbook cannot be read, on no machine.
	Broken Kind = "broken"
	// Unfit: this machine lacks what the unit needs.
	Unfit Kind = "unfit"
	// Limited: the model of the account takes no more requests.
	Limited Kind = "limited"
	// TooLarge: there is a result, with more files than travel. Another attempt would cost as much for nothing.
	TooLarge Kind = "too-large"
	// Failed: anything else. Another attempt may go better.
	Failed Kind = "failed"
)

// Tool names this program and what it was built from: a plan is carried out by the program that made it.
func Tool() string {
	var name strings.Builder
	name.WriteString("sdd-eval-scale " + engine.Version)
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				name.WriteString(" " + s.Value[:min(len(s.Value), 12)])
			}
		}
	}
	return name.String()
}

// Load reads the plan, with the configuration that carries it out. An error of the environment is an
// [*engine.InputError], any other one of the playbook.
func (s Source) Load(secrets *secret.Set, configDir string) (*plan.Plan, engine.Config, error) {
	mode, err := engine.ParseMode(s.Mode, engine.Live, os.Getenv)
	if err == nil && mode != engine.Live && mode != engine.Replay {
		err = fmt.Errorf("mode %s: recordings are made on one machine, by sdd-eval run: want live or replay", mode)
	}
	var cfg engine.Config
	if err == nil {
		cfg, err = engine.FromEnvironment(mode, os.Getenv, os.Environ())
	}
	if err != nil {
		return nil, cfg, &engine.InputError{Err: err}
	}
	cfg.Root, cfg.Source, cfg.Cassettes, cfg.ConfigDir = s.Root, s.Root, "cassettes", configDir
	cfg.Sandbox, cfg.Parallel = cmp.Or(s.Sandbox, cfg.Sandbox), 1
	cfg.LLMJudge = cfg.LLMJudge || s.LLMJudge
	cfg.Secrets, cfg.Spent = secrets, new(llm.Spent)
	cfg.Models = engine.Models(os.Getenv, cfg.Spent)
	cfg.Command = func(m engine.Mode, _ plan.Unit) string {
		return fmt.Sprintf("sdd-eval run --playbook %s --mode %s", s.Playbook, m)
	}
	source := plan.Source{
		Root: s.Root, Path: filepath.Join(s.Root, filepath.FromSlash(s.Playbook)), Name: s.Playbook,
		Untrusted: cfg.Untrusted, StartsAgents: mode != engine.Replay, AsksJudges: cfg.LLMJudge || cfg.RecordJudges,
	}
	pb, err := plan.Read(source, kinds.All())
	if err != nil {
		return nil, cfg, err
	}
	p, err := pb.Plan()
	if err == nil {
		cfg.Keep = &engine.Keep{Tool: Tool()}
		err = cli.Select(p, &cfg, s.Units, s.Cases, s.Variants)
	}
	return p, cfg, err
}

// Main carries out a unit.
func Main() int {
	keep()
	// Its worker ends it. What it starts gets signals as ever.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt, syscall.SIGTERM)
	out := &sender{w: os.Stdout}
	end := run(bufio.NewReader(os.Stdin), out)
	out.send(Message{End: &end})
	if end.Kind != Done {
		return 1
	}
	return 0
}

func run(in *bufio.Reader, out *sender) End {
	line, err := in.ReadBytes('\n')
	var spec Spec
	if err == nil {
		err = json.Unmarshal(line, &spec)
	}
	if err != nil {
		return End{Kind: Failed, Why: fmt.Sprintf("read what to carry out: %v", err)}
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	go attend(in, spec.Patience, cancel)
	secrets := new(secret.Set)
	secrets.AddEnvironment(os.Environ())
	end := carryOut(ctx, spec, secrets, out)
	if ctx.Err() != nil && end.Kind != Done && end.Kind != TooLarge {
		end = End{Kind: Failed, Why: context.Cause(ctx).Error(), CostUSD: end.CostUSD}
	}
	end.Why = secrets.String(end.Why)
	return end
}

// attend ends the unit when its worker says nothing any more.
func attend(in io.ByteReader, patience time.Duration, cancel context.CancelCauseFunc) {
	timer := time.AfterFunc(patience, func() { cancel(errors.New("the worker stands still")) })
	for {
		if _, err := in.ReadByte(); err != nil {
			cancel(errors.New("the worker has ended, or ends the unit"))
			return
		}
		timer.Reset(patience)
	}
}

// grace is how long a unit that ends early may take to end its agent.
const grace = 3 * time.Second

func carryOut(ctx context.Context, spec Spec, secrets *secret.Set, out *sender) End {
	out.progress()
	p, cfg, err := spec.Load(secrets, spec.ConfigDir)
	if err != nil {
		kind := Broken
		if _, ok := errors.AsType[syscall.Errno](err); ok { // the run was submitted with all files that it needs
			kind = Unfit
		}
		return failed(err, kind)
	}
	cfg.TempDir = spec.Temp
	cfg.Grace, cfg.Wait = grace, time.Nanosecond           // the queue waits for rate limits, for all workers
	cfg.SelectedJob = func(plan.Job) bool { return false } // they run where the run is fetched
	if spec.Unit == "" {
		return share(ctx, p, cfg, out)
	}
	own := func(u plan.Unit) bool { return u.ID() == spec.Unit }
	if !slices.ContainsFunc(Selected(p, cfg), own) {
		return End{Kind: Broken, Why: fmt.Sprintf("%s has no unit %s", spec.Playbook, spec.Unit)}
	}
	cfg.Keep.Below, cfg.Keep.Part, cfg.Keep.Before = spec.Below, own, spec.Before
	cfg.Measured = spec.Measured
	runner, err := engine.New(p, cfg)
	if err != nil {
		return failed(err, Unfit)
	}
	done, err := runner.Run(ctx, &sink{sender: out})
	cost, asked := runner.Paid()
	if len(done.Units) != 1 || done.Units[0].ID != spec.Unit {
		if err == nil {
			err = errors.New("the unit was not carried out")
		}
		end := failed(err, Failed)
		end.CostUSD = cost
		return end
	}
	u := done.Units[0]
	end := End{Kind: Done, Outcome: string(u.Outcome), CostUSD: cost, Telling: asked && u.Telling()}
	if err != nil {
		end.Why = err.Error() // the run's directory has it
	}
	if end.Skipped, end.Sandbox, err = pack(ctx, spec, done.ID, secrets); err != nil {
		end.Kind, end.Why = Failed, strings.ReplaceAll(err.Error(), spec.Below+string(filepath.Separator), "")
		if errors.Is(err, bundle.ErrTooLarge) {
			end.Kind = TooLarge
		}
	}
	return end
}

// Selected returns the units that are run.
func Selected(p *plan.Plan, cfg engine.Config) []plan.Unit {
	if cfg.Selected == nil {
		return p.Units
	}
	return slices.DeleteFunc(slices.Clone(p.Units), func(u plan.Unit) bool { return !cfg.Selected(u) })
}

// share measures the sandbox, and carries out the jobs before the units.
func share(ctx context.Context, p *plan.Plan, cfg engine.Config, out *sender) End {
	cfg.Keep = nil
	runner, err := engine.New(p, cfg)
	var held confine.Properties
	if err == nil {
		held, err = runner.Sandbox(ctx)
	}
	if err != nil {
		return failed(err, Unfit)
	}
	end := End{Kind: Done}
	if held.Kind != "" {
		end.Measured = &held
	}
	if len(p.Before()) == 0 {
		return end
	}
	s := &sink{sender: out}
	cfg.Selected = func(plan.Unit) bool { return false }
	if runner, err = engine.New(p, cfg); err == nil {
		_, err = runner.Run(ctx, s)
	}
	if err != nil || ctx.Err() != nil {
		return failed(cmp.Or(err, ctx.Err()), Failed)
	}
	end.Before = s.jobs
	return end
}

// failed returns the end that an error is, by default of a kind.
func failed(err error, kind Kind) End {
	if _, ok := errors.AsType[*engine.InputError](err); ok {
		kind = Unfit
	}
	end := End{Kind: kind, Why: err.Error()}
	if limit, ok := errors.AsType[*engine.RateLimitError](err); ok {
		end.Kind, end.Wait, end.Why = Limited, limit.Asked, limit.Said
	}
	return end
}

// pack masks the run's directory, whatever is in it, and packs it.
func pack(
	ctx context.Context, spec Spec, id string, secrets *secret.Set,
) (skipped []string, sandbox string, err error) {
	run, err := rundir.Open(spec.Below, id, secrets)
	if err != nil {
		return nil, "", err
	}
	if _, err := secrets.Scrub(ctx, run.Dir(), nil); err != nil {
		return nil, "", err
	}
	names, err := bundle.Files(run.Dir(), nil)
	if err != nil {
		return nil, "", err
	}
	data, skipped, err := bundle.Pack(run.Dir(), names, true, func(name string, data []byte) error {
		if secret, found := secrets.Contains(data); found {
			return fmt.Errorf("it contains the value of %s", secret)
		}
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	return skipped, run.Manifest().Sandbox, disk.Replace(spec.Archive, data, 0o600)
}

// sender writes messages. Progress is told now and then only.
type sender struct {
	mu   sync.Mutex
	w    io.Writer
	last time.Time
}

func (s *sender) send(m Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write(m)
}

func (s *sender) write(m Message) {
	data, err := json.Marshal(m)
	if err == nil {
		_, _ = s.w.Write(append(data, '\n')) // a worker that reads no more has ended
	}
}

func (s *sender) progress() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); now.Sub(s.last) > 100*time.Millisecond {
		s.last = now
		s.write(Message{})
	}
}

// sink is told what happens in the unit: that is its progress.
type sink struct {
	*sender
	jobs []result.Job
}

func (s *sink) Begin(int, []result.Unit, []string) { s.progress() }
func (s *sink) UnitStarts(plan.Unit) io.Writer     { return s }
func (s *sink) Activity(session.Activity)          { s.progress() }
func (s *sink) Note(string)                        { s.progress() }
func (s *sink) UnitEnds(plan.Unit, result.Unit)    { s.progress() }
func (s *sink) JobEnds(j result.Job) {
	s.progress()
	s.jobs = append(s.jobs, j)
}

func (s *sink) Write(p []byte) (int, error) {
	s.progress()
	return len(p), nil
}
