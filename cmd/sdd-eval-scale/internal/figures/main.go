//go:build linux

// Command figures prints what the queue costs, each figure beside something simple that is measured in turns with it.
// It runs in the directory of sdd-eval-scale: go run ./internal/figures. docs/scale.md has its table.
package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/sdd-eval/sdd-eval/cmd/sdd-eval-scale/internal/embedded"
	"github.com/sdd-eval/sdd-eval/cmd/sdd-eval-scale/internal/queue"
	"github.com/sdd-eval/sdd-eval/internal/disk"
)

const (
	many    = 16 // that do something at the same time
	archive = 4 << 10
	queued  = 100_000
)

var account = queue.Account{Kind: "none"}

func main() {
	times := pflag.Int("times", 3, "repetitions, of which the medians count")
	units := pflag.Int("units", 32, "units of the run that is compared with sdd-eval run")
	parallel := pflag.Int("parallel", runtime.NumCPU(), "how many of them at a time")
	asked := pflag.Int("memory", 0, "put so many units into a queue, and print the memory of this process")
	pflag.Parse()
	var err error
	if *asked > 0 {
		err = memory(*asked)
	} else {
		err = table(*times, *units, *parallel)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "figures:", err)
		os.Exit(1)
	}
}

// figure is a row of the table: what is measured, and what is measured in turns with it.
type figure struct {
	what, unit, beside string
	measure, compare   func() (float64, error)
}

func table(times, units, parallel int) (err error) {
	dir, err := disk.MkdirTemp(os.TempDir())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, disk.RemoveAll(dir)) }()
	b := bench{dir: dir, project: filepath.Join(dir, "project"), units: units, parallel: parallel}
	if err := b.build(); err != nil {
		return err
	}
	fmt.Printf("| | measured | beside | ratio |\n|---|---|---|---|\n")
	for _, f := range []figure{
		{
			fmt.Sprintf("no-op units a second, embedded, %d at a time, %d KB each", many, archive>>10), "/s",
			"such files, written and synced", b.throughput, b.synced,
		},
		{"start of the embedded server with a new queue", "s", "start of the program, `help`", b.start, b.help},
		{
			fmt.Sprintf("memory of the process with %d units queued", queued), "MB", "with one",
			b.memoryOf(queued), b.memoryOf(1),
		},
		{
			fmt.Sprintf("%d units of 2 s, %d at a time, embedded", units, parallel), "s",
			fmt.Sprintf("`sdd-eval run --parallel %d`", parallel), b.run("sdd-eval-scale"), b.run("sdd-eval"),
		},
	} {
		var measured, beside []float64
		for range times {
			for of, do := range map[*[]float64]func() (float64, error){&measured: f.measure, &beside: f.compare} {
				v, err := do()
				if err != nil {
					return fmt.Errorf("%s: %w", f.what, err)
				}
				*of = append(*of, v)
			}
		}
		m, c := median(measured), median(beside)
		fmt.Printf("| %s | %.3g %s | %s: %.3g %s | %.2f |\n", f.what, m, f.unit, f.beside, c, f.unit, m/c)
	}
	queued, local := median(b.cpu["sdd-eval-scale"]), median(b.cpu["sdd-eval"])
	load, err := os.ReadFile("/proc/loadavg")
	fmt.Printf("\nCPU of the runs: %.3g s and %.3g s, %.3f s more for each unit. Load %s on %d processors.\n", queued,
		local, (queued-local)/float64(units), strings.Fields(string(load) + " ?")[0], runtime.NumCPU())
	return err
}

func median(of []float64) float64 {
	slices.Sort(of)
	return (of[(len(of)-1)/2] + of[len(of)/2]) / 2
}

type bench struct {
	dir, project    string
	units, parallel int
	cpu             map[string][]float64 // of runs, in seconds, by the program
}

// build builds the programs, and makes the project whose units take two seconds.
func (b *bench) build() error {
	b.cpu = make(map[string][]float64)
	if err := os.Mkdir(b.project, 0o700); err != nil {
		return err
	}
	for name, args := range map[string][]string{
		"sdd-eval-scale": {"build", "-o", filepath.Join(b.dir, "sdd-eval-scale"), "."},
		"sdd-eval":       {"build", "-C", "../..", "-o", filepath.Join(b.dir, "sdd-eval"), "./cmd/sdd-eval"},
	} {
		if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w: %s", name, err, out)
		}
	}
	for name, text := range map[string]string{
		"slow.json": `{"turns": [{"actions": [{"sleep": "2s"}]}]}`,
		"slow.yaml": fmt.Sprintf(`name: slow
task: {prompt: Wait.}
trials: {count: %d}
variants: {a: {agent: {kind: fake-acp, args: [slow.json]}}}
workflow:
  jobs:
    eval:
      strategy: {matrix: {variant: [a]}}
      steps: [{uses: builtin:sdd-eval/workspace.prepare}, {uses: builtin:sdd-eval/acp.prompt}]
`, b.units),
	} {
		if err := os.WriteFile(filepath.Join(b.project, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// run returns what measures a run by a program, in seconds.
func (b *bench) run(program string) func() (float64, error) {
	return func() (float64, error) {
		c := exec.Command(filepath.Join(b.dir, program), "run", "slow.yaml", "--root", b.project,
			"--parallel", strconv.Itoa(b.parallel))
		c.Dir = b.project
		began := time.Now()
		if out, err := c.CombinedOutput(); err != nil {
			return 0, fmt.Errorf("%w: %s", err, out)
		}
		took := time.Since(began).Seconds()
		u := c.ProcessState.SysUsage().(*syscall.Rusage)
		b.cpu[program] = append(b.cpu[program], time.Duration(u.Utime.Nano()+u.Stime.Nano()).Seconds())
		return took, nil
	}
}

func (b *bench) help() (float64, error) {
	began := time.Now()
	err := exec.Command(filepath.Join(b.dir, "sdd-eval-scale"), "help").Run()
	return time.Since(began).Seconds(), err
}

// opened has do use a queue that is new, in a server in this process.
func opened(below string, do func(*queue.Queue) error) (err error) {
	dir, err := disk.MkdirTemp(below)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, disk.RemoveAll(dir)) }()
	s, err := embedded.Start(dir)
	if err != nil {
		return err
	}
	defer s.Close()
	q, err := queue.Open(context.Background(), queue.Options{InProcess: s})
	if err != nil {
		return err
	}
	defer q.Close()
	return do(q)
}

func (b *bench) start() (took float64, err error) {
	began := time.Now()
	err = opened(b.dir, func(*queue.Queue) error {
		took = time.Since(began).Seconds()
		return nil
	})
	return took, err
}

func submit(q *queue.Queue, n int) (queue.Run, error) {
	return q.Submit(context.Background(), queue.Run{ID: "r", Accounts: []queue.Account{account}, MaxUSD: 1e9},
		make([]queue.Unit, n), nil)
}

// throughput takes and commits units that do nothing, all of one budget.
func (b *bench) throughput() (perSecond float64, err error) {
	const units = 1000
	err = opened(b.dir, func(q *queue.Queue) error {
		r, err := submit(q, units)
		if err != nil {
			return err
		}
		var left atomic.Int64
		left.Store(units)
		began := time.Now()
		err = together(func() error {
			for left.Load() > 0 {
				o, err := q.Next(context.Background(), account)
				if err != nil {
					return err
				}
				if o == nil {
					continue
				}
				l, err := o.Take(context.Background(), r, queue.Unit{Costs: true, Variant: "v"}, "w")
				if err == nil && l != nil {
					err = l.Commit(queue.Done{Outcome: "pass", CostUSD: new(.01), Telling: true}, make([]byte, archive))
					left.Add(-1)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
		perSecond = units / time.Since(began).Seconds()
		return err
	})
	return perSecond, err
}

// synced writes files of the size of the archives, as the results of sdd-eval run are written.
func (b *bench) synced() (perSecond float64, err error) {
	const files = 1000
	dir, err := disk.MkdirTemp(b.dir)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, disk.RemoveAll(dir)) }()
	var next atomic.Int64
	began := time.Now()
	err = together(func() error {
		for n := next.Add(1); n <= files; n = next.Add(1) {
			file := filepath.Join(dir, strconv.FormatInt(n, 10))
			if err := disk.Replace(file, make([]byte, archive), 0o600); err != nil {
				return err
			}
		}
		return nil
	})
	return files / time.Since(began).Seconds(), err
}

func together(do func() error) error {
	var group sync.WaitGroup
	errs := make([]error, many)
	for i := range many {
		group.Go(func() { errs[i] = do() })
	}
	group.Wait()
	return errors.Join(errs...)
}

// memoryOf returns what measures the memory of a process that has a queue of so many units, in MB.
func (b *bench) memoryOf(units int) func() (float64, error) {
	return func() (float64, error) {
		self, err := os.Executable()
		if err != nil {
			return 0, err
		}
		c := exec.Command(self, "--memory", strconv.Itoa(units))
		c.Env, c.Stderr = append(os.Environ(), "TMPDIR="+b.dir), os.Stderr
		out, err := c.Output()
		if err != nil {
			return 0, err
		}
		return strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	}
}

// memory puts units into a queue, and prints what the process has in memory then, in MB.
func memory(units int) error {
	return opened(os.TempDir(), func(q *queue.Queue) error {
		if _, err := submit(q, units); err != nil {
			return err
		}
		status, err := os.ReadFile("/proc/self/status")
		if err != nil {
			return err
		}
		for line := range bytes.Lines(status) {
			if rest, ok := bytes.CutPrefix(line, []byte("VmRSS:")); ok {
				kb, err := strconv.ParseFloat(string(bytes.Fields(rest)[0]), 64)
				fmt.Printf("%.1f\n", kb/1024)
				return err
			}
		}
		return cmp.Or(err, errors.New("/proc/self/status has no VmRSS"))
	})
}
