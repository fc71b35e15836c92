package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// bench tries the mutants of one package.
type bench struct {
	options

	tree, dir, out string
	pkg            listed
	suites         []*suite
}

// verdict is what is known of a mutant, a line of the results.
type verdict struct {
	ID, Digest, Outcome string
	By                  string   `json:",omitempty"` // the test that failed
	Survived            []string `json:",omitempty"` // digests of tests that did not fail
}

// try runs all mutants of which nothing is known.
func (b *bench) try(ctx context.Context, equivalents map[string]string) (*report, error) {
	// Some tests run themselves as another user.
	for _, dir := range []string{b.out, filepath.Join(b.work, "home"), filepath.Join(b.work, "tmp")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	}
	if err := os.Chmod(filepath.Join(b.work, "tmp"), 0o777); err != nil {
		return nil, err
	}
	pkgs, err := list(ctx, b.tree, b.dir, false)
	if err != nil {
		return nil, err
	}
	pkg := pkgs[0]
	b.pkg = pkg
	files, err := parse(token.NewFileSet(), pkg.Dir, pkg.GoFiles)
	if err != nil {
		return nil, err
	}
	imports, err := importsOf(ctx, b.tree, b.dir)
	if err != nil {
		return nil, err
	}
	all := collect(files, b.seed)
	r := &report{dir: b.dir, candidates: len(all), equivalents: equivalents}
	r.stale = stale(all, equivalents)
	mutants, sources, err := choose(pkg, imports, files, all, b.count)
	if err != nil {
		return nil, err
	}
	r.mutants = mutants
	if b.list {
		return r, nil
	}
	path, err := overlay(pkg, b.out, sources)
	if err != nil {
		return nil, err
	}
	for _, tests := range append([]string{b.dir}, exercisedBy[b.dir]...) {
		dir, names, _ := strings.Cut(tests, " ")
		s, err := b.build(ctx, path, dir)
		if err != nil {
			return nil, err
		}
		if err := b.find(ctx, s, cmp.Or(names, "^(Test|Fuzz|Example)")); err != nil {
			return nil, err
		}
		failing, err := b.trace(ctx, s)
		if err != nil {
			return nil, err
		}
		r.failing = append(r.failing, failing...)
		b.suites = append(b.suites, s)
	}
	for _, tests := range builtBy[b.dir] {
		if !b.built {
			break
		}
		dir, names, _ := strings.Cut(tests, " ")
		s, failing, err := b.builder(ctx, path, dir, names)
		if err != nil {
			return nil, err
		}
		r.failing = append(r.failing, failing...)
		b.suites = append(b.suites, s)
	}
	for _, s := range b.suites {
		if err := s.note(); err != nil {
			return nil, err
		}
	}
	r.verdicts, err = b.runAll(ctx, mutants)
	return r, err
}

// runAll returns the verdict on each mutant, by its id; those that the file of results has, or new ones, which it
// appends there.
func (b *bench) runAll(ctx context.Context, mutants []*mutant) (map[string]verdict, error) {
	path := filepath.Join(b.out, "results.jsonl")
	known, err := readVerdicts(path)
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer file.Close()

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var lock sync.Mutex
	verdicts := make(map[string]verdict)
	note := func(v verdict) error {
		line, err := json.Marshal(v)
		if err != nil {
			return err
		}
		lock.Lock()
		defer lock.Unlock()
		verdicts[v.ID] = v
		_, err = file.Write(append(line, '\n'))
		return err
	}
	conclude := func(v verdict) {
		if old := known[v.ID]; old.Digest == v.Digest && old.Outcome == v.Outcome &&
			slices.Equal(old.Survived, v.Survived) {
			lock.Lock()
			defer lock.Unlock()
			verdicts[v.ID] = v
			return
		}
		if err := note(v); err != nil {
			cancel(err)
		}
	}
	queue := make(chan *mutant)
	slow := make(map[*mutant]verdict)
	var workers sync.WaitGroup
	for range b.procs {
		workers.Go(func() {
			for m := range queue {
				v, err := b.attempt(ctx, m, known[m.ID].survived(m), b.runTests)
				switch {
				case err != nil:
					cancel(err)
				case v.Outcome == unclear:
					lock.Lock()
					slow[m] = v
					lock.Unlock()
					fallthrough
				default:
					conclude(v)
				}
			}
		})
	}
	for _, m := range mutants {
		if v, ok := known[m.ID]; ok && v.holds(m) {
			lock.Lock()
			verdicts[m.ID] = v
			lock.Unlock()
			continue
		}
		select {
		case queue <- m:
		case <-ctx.Done():
		}
	}
	close(queue)
	workers.Wait()
	for m, before := range slow {
		v, err := b.attemptAlone(ctx, m, before)
		if err != nil {
			cancel(err)
			break
		}
		conclude(v)
	}
	return verdicts, context.Cause(ctx)
}

// holds reports whether a verdict of an earlier run is true whatever the tests are now.
func (v verdict) holds(m *mutant) bool {
	return v.Digest == m.digest && (v.Outcome == killed || v.Outcome == hangs)
}

// survived returns the digests of tests that a mutant survived in an earlier run.
func (v verdict) survived(m *mutant) []string {
	if v.Digest != m.digest {
		return nil
	}
	return v.Survived
}

// readVerdicts reads a file of results. The last line on a mutant counts; a line that was cut is left out.
func readVerdicts(path string) (map[string]verdict, error) {
	known := make(map[string]verdict)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return known, nil
	} else if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var v verdict
		if json.Unmarshal(lines.Bytes(), &v) == nil {
			known[v.ID] = v
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return known, nil
}
