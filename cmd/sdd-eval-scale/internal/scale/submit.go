// Package scale makes a run of a project for a queue, and a run directory of what came of it.
package scale

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/cmd/sdd-eval-scale/internal/bundle"
	"github.com/sdd-eval/sdd-eval/cmd/sdd-eval-scale/internal/queue"
	"github.com/sdd-eval/sdd-eval/cmd/sdd-eval-scale/internal/unit"
	"github.com/sdd-eval/sdd-eval/cmd/sdd-eval-scale/internal/worker"
	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/kinds"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/git"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/secret"
)

// Options say what is run.
type Options struct {
	// Root is the project's root, and Playbook the path of the playbook, both absolute.
	Root, Playbook string
	Mode, Sandbox  string
	LLMJudge       bool
	Only           queue.Selection
	ConfigDir      string
	// Private are files that do not travel, whatever they are called in the project, by what they are to people; a path
	// may be empty.
	Private map[string]string
	// Limits are how many units of an account run at a time, by the accounts' names.
	Limits map[string]int
	// MaxUSD bounds what the run costs, 0: nothing does; AssumedUSD is what a unit counts that does not say.
	MaxUSD     float64
	AssumedUSD *float64
	Attempts   int
	Silence    time.Duration
	// Alone says that no other machine carries units out: it needs all accounts.
	Alone bool
}

// Submit puts a run of a playbook into the queue. The plan is made of the bundle, not of the project: what a worker
// would not find is found missing here.
func Submit(ctx context.Context, q *queue.Queue, o Options) (queue.Run, error) {
	name, err := filepath.Rel(o.Root, o.Playbook)
	if err != nil || !filepath.IsLocal(name) {
		return queue.Run{}, &engine.InputError{Err: fmt.Errorf(
			"%s is not below the project's root, %s: only what is there travels", o.Playbook, o.Root)}
	}
	if _, err := os.Stat(o.Playbook); err != nil {
		if _, says := plan.Load(o.Playbook, kinds.All()); says != nil { // what to do, too
			err = says
		}
		return queue.Run{}, &engine.InputError{Err: err}
	}
	secrets := new(secret.Set)
	secrets.AddEnvironment(os.Environ())
	for what, file := range o.Private {
		if file == "" {
			continue
		}
		data, err := disk.ReadRegular(file, maxPrivate)
		if err != nil {
			return queue.Run{}, &engine.InputError{Err: fmt.Errorf("%s: %w", what, err)}
		}
		secrets.Mark(what, string(data))
	}
	data, err := pack(ctx, o.Root, filepath.ToSlash(name), secrets)
	if err != nil {
		return queue.Run{}, &engine.InputError{Err: err}
	}
	there, err := disk.MkdirTemp(os.TempDir())
	if err != nil {
		return queue.Run{}, err
	}
	defer disk.RemoveAll(there) //nolint:errcheck // it is in the system's directory for such
	if err := bundle.Unpack(data, there); err != nil {
		return queue.Run{}, err
	}
	source := unit.Source{
		Root: there, Playbook: filepath.ToSlash(name), Mode: o.Mode, Sandbox: o.Sandbox, LLMJudge: o.LLMJudge,
		Units: o.Only.Units, Cases: o.Only.Cases, Variants: o.Only.Variants,
	}
	p, cfg, err := source.Load(secrets, o.ConfigDir)
	if err != nil {
		if _, err := os.Stat(o.Playbook); err != nil {
			return queue.Run{}, &engine.InputError{Err: err}
		}
		if _, ok := errors.AsType[*engine.InputError](err); ok {
			return queue.Run{}, err
		}
		return queue.Run{}, &engine.InputError{Err: fmt.Errorf(
			"%s (read from what travels to workers: files that git ignores do not)",
			strings.ReplaceAll(err.Error(), there, o.Root))}
	}
	run, units, err := describe(p, cfg, o, source)
	if err != nil {
		return queue.Run{}, &engine.InputError{Err: err}
	}
	weigh(units, o.Root, source.Playbook)
	return q.Submit(ctx, run, units, data)
}

// describe returns what the queue is told of a plan.
func describe(p *plan.Plan, cfg engine.Config, o Options, source unit.Source) (queue.Run, []queue.Unit, error) {
	now := time.Now().UTC()
	limits := p.Playbook.Limits
	r := queue.Run{
		ID: rundir.NewID(now, p.Playbook.Name, ""), CreatedAt: now, Tool: unit.Tool(), Playbook: source.Playbook,
		Mode: source.Mode, Sandbox: source.Sandbox, LLMJudge: source.LLMJudge, Attempts: o.Attempts, Silence: o.Silence,
		MaxUSD: o.MaxUSD, UnitUSD: limits.MaxCostUSD, AssumedUSD: o.AssumedUSD, Only: o.Only,
	}
	if most := limits.Run.MaxCostUSD; most > 0 && (r.MaxUSD == 0 || most < r.MaxUSD) {
		r.MaxUSD = most
	}
	if r.AssumedUSD != nil && r.MaxUSD == 0 {
		return r, nil, errors.New("--assume-cost: the run has no budget: give it one with --budget-usd")
	}
	accounts := make(map[string]int)
	var units []queue.Unit
	for _, u := range unit.Selected(p, cfg) {
		a := queue.Account{Kind: worker.Replays}
		if cfg.Mode == engine.Live {
			a = queue.Account{Kind: u.Variant.Agent.Kind, Preset: u.Variant.Agent.Preset}
		}
		a.Limit = o.Limits[a.Name()]
		i, ok := accounts[a.Name()]
		if !ok {
			i = len(r.Accounts)
			accounts[a.Name()], r.Accounts = i, append(r.Accounts, a)
		}
		units = append(units, queue.Unit{
			ID: u.ID(), Variant: u.Variant.ID, Account: i, Costs: cfg.Mode == engine.Live || cfg.LLMJudge,
		})
	}
	if len(units) == 0 {
		return r, nil, fmt.Errorf("%s has no units: there is nothing to distribute", source.Playbook)
	}
	for name := range o.Limits {
		if _, ok := accounts[name]; !ok {
			var names []string
			for _, a := range r.Accounts {
				names = append(names, a.Name())
			}
			return r, nil, fmt.Errorf("--limit %s: the run has no such account: it has %s", name,
				strings.Join(names, ", "))
		}
	}
	for _, a := range r.Accounts {
		if err := worker.Has(a, o.ConfigDir); err != nil && o.Alone {
			return r, nil, err
		}
		if _, ok := agent.Lookup(a.Kind); !ok && a.Kind != worker.Replays {
			return r, nil, fmt.Errorf("unknown kind of agent %q", a.Kind)
		}
	}
	return r, units, nil
}

const (
	maxPrivate = 1 << 20  // bytes of a file that does not travel
	maxListed  = 64 << 20 // bytes of what git says of files, of which a bundle takes 200,000
)

// ours are directories below a project's root that are not the project's.
var ours = []string{".git", ".llman/sdd-eval/runs", ".llman/sdd-eval/queue", ".evaltest"}

// pack packs the files of a project that git would keep, or all if it has no git, and the playbook. One with a secret
// is an error: secrets do not travel.
func pack(ctx context.Context, root, playbook string, secrets *secret.Set) ([]byte, error) {
	var names []string
	if git.Top(root) != "" {
		out, err := git.OutputUpTo(ctx, maxListed, root, "ls-files", "-z", "--cached", "--others", "--exclude-standard",
			"--", ".")
		if err != nil {
			return nil, err
		}
		for name := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
			// What is deleted and not committed is listed. A repository within is a directory.
			info, err := os.Lstat(filepath.Join(root, filepath.FromSlash(name)))
			if name != "" && err == nil && !info.IsDir() {
				names = append(names, name)
			}
		}
		names = slices.DeleteFunc(names, isOurs)
	} else {
		var err error
		if names, err = bundle.Files(root, isOurs); err != nil {
			return nil, err
		}
	}
	if !slices.Contains(names, playbook) {
		names = append(names, playbook)
	}
	data, _, err := bundle.Pack(root, names, false, func(_ string, data []byte) error {
		if name, found := secrets.Contains(data); found {
			return fmt.Errorf("it contains the value of %s, and secrets do not travel: have git ignore it, or "+
				"remove it", name)
		}
		return nil
	})
	if errors.Is(err, bundle.ErrTooLarge) {
		err = fault.Advise(err, "have git ignore what the playbook does not need")
	}
	return data, err
}

func isOurs(name string) bool {
	return slices.ContainsFunc(ours, func(dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") })
}

// maxFormer is how many former runs are looked at for how long units take.
const maxFormer = 20

// weigh says of units how long they are thought to take: the median of the same case and variant in former runs, else
// the median of its variant, else of all.
func weigh(units []queue.Unit, root, playbook string) {
	former, err := rundir.List(root)
	if err != nil { // then there is no order
		return
	}
	took := make(map[string][]float64)
	seen := 0
	for _, s := range former {
		if s.Err != nil || s.Playbook != playbook {
			continue
		}
		if seen++; seen > maxFormer {
			break
		}
		run, err := rundir.Open(root, s.ID, new(secret.Set))
		if err != nil {
			continue
		}
		done, _ := run.Units()
		for _, u := range done {
			if u.Telling() {
				seconds := float64(u.Duration)
				for _, of := range []string{path.Dir(u.ID), u.Variant, ""} {
					took[of] = append(took[of], seconds)
				}
			}
		}
	}
	for i, u := range units {
		for _, of := range []string{path.Dir(u.ID), u.Variant, ""} {
			if all := took[of]; len(all) > 0 {
				slices.Sort(all)
				units[i].Weight = all[len(all)/2]
				break
			}
		}
	}
}
