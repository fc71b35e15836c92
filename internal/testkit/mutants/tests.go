package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/testkit/mutated"
)

// quick is how long tests take that run together. Longer ones run one by one, when those found nothing.
const quick = 500 * time.Millisecond

// suite is the tests of one package.
type suite struct {
	dir    string // of the package, absolute
	pkg    string // its directory from the root
	binary string // with mutants
	tests  []*test
	builds bool // what has the mutants, by what env has; tests may be subtests then
	env    []string
}

// test is a top-level test, or a subtest of one that builds.
type test struct {
	suite   *suite
	name    string
	took    time.Duration
	reached map[int]bool // marks
	digest  string       // of its name, and of the files that it may depend on
}

// build compiles the tests of a package, with the mutants of another or the same.
func (b *bench) build(ctx context.Context, overlay, of string) (*suite, error) {
	name := strings.ReplaceAll(of, "/", "-")
	s := &suite{
		dir: filepath.Join(b.tree, filepath.FromSlash(of)), pkg: of,
		binary: filepath.Join(b.out, name+".mutants"),
	}
	_, err := command(ctx, b.tree, nil, "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", s.binary, "./"+of)
	return s, err
}

// find finds those tests of a suite whose names a pattern takes.
func (b *bench) find(ctx context.Context, s *suite, pattern string) error {
	if _, err := os.Stat(s.binary); errors.Is(err, fs.ErrNotExist) {
		return nil // there are no test files
	}
	out, err := command(ctx, s.dir, b.env(noMutant), s.binary, "-test.list", pattern)
	for line := range strings.Lines(string(out)) {
		if name := strings.TrimSpace(line); name != "" {
			s.tests = append(s.tests, &test{suite: s, name: name})
		}
	}
	return err
}

// pattern is what selects tests. Subtests have to be of one test.
func pattern(tests []*test) string {
	names := make([]string, len(tests))
	top := ""
	for i, t := range tests {
		if of, name, sub := strings.Cut(t.name, "/"); sub {
			top, names[i] = "^"+of+"$/", regexp.QuoteMeta(name)
		} else {
			names[i] = regexp.QuoteMeta(of)
		}
	}
	return top + "^(" + strings.Join(names, "|") + ")$"
}

// env is the environment of tests: the mutant's number, and no directory of the user's but those of the go command.
func (b *bench) env(mutant int) []string {
	home := filepath.Join(b.work, "home")
	return append([]string{
		mutated.Mutant + "=" + strconv.Itoa(mutant), "HOME=" + home, "TMPDIR=" + filepath.Join(b.work, "tmp"),
		"UPDATE_GOLDEN=",
	}, b.goDirs...)
}

// trace finds out which marks each test reaches, and how long it takes. Tests that fail without a mutant are left out;
// it returns their names.
func (b *bench) trace(ctx context.Context, s *suite) (failing []string, err error) {
	file := s.binary + ".reached"
	env := append(b.env(noMutant), mutated.Reached+"="+file)
	words := append(b.guard(), s.binary, "-test.run") // so that what fails behind the guard kills no mutant
	var kept []*test
	for _, t := range s.tests {
		_ = os.Remove(file)
		start := time.Now()
		args := append(slices.Clone(words[1:]), pattern([]*test{t}))
		if _, err := command(ctx, s.dir, env, words[0], args...); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			failing = append(failing, s.pkg+": "+t.name)
			continue
		}
		t.took = time.Since(start)
		if t.reached, err = readMarks(file); err != nil {
			return nil, err
		}
		kept = append(kept, t)
	}
	s.tests = kept
	return failing, nil
}

// readMarks reads the marks of files; those that do not exist have none.
func readMarks(files ...string) (map[int]bool, error) {
	marks := make(map[int]bool)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for line := range strings.FieldsSeq(string(text)) {
			n, err := strconv.Atoi(line)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			marks[n] = true
		}
	}
	return marks, nil
}

// Outcomes of a mutant.
const (
	killed   = "killed"
	hangs    = "hangs"   // tests do not end with it, and do without: counts as killed
	unclear  = "unclear" // tests take too long, perhaps since the machine is busy: there is no figure
	survived = "survived"
	uncover  = "not covered" // counts as survived
)

// running runs tests with a mutant. Beside unclear, by has the names of those that did not end, if they are known.
type running func(ctx context.Context, mutant int, tests []*test) (outcome, by string, err error)

// attemptAlone does what attempt does when nothing else runs, first with those tests that did not end before.
func (b *bench) attemptAlone(ctx context.Context, m *mutant, before verdict) (v verdict, err error) {
	for _, s := range b.suites {
		for _, t := range s.tests {
			if !slices.Contains(strings.Fields(before.By), t.name) || !t.reached[m.mark] {
				continue
			}
			outcome, by, err := b.runAlone(ctx, m.number, []*test{t})
			if err != nil || outcome == killed || outcome == hangs {
				return verdict{ID: m.ID, Digest: m.digest, Outcome: outcome, By: by, Survived: before.Survived}, err
			}
		}
	}
	return b.attempt(ctx, m, before.Survived, b.runAlone)
}

// attempt runs the tests that reach a mutant, until one fails, but none that it is known to survive.
func (b *bench) attempt(ctx context.Context, m *mutant, known []string, run running) (v verdict, err error) {
	v = verdict{ID: m.ID, Digest: m.digest, Outcome: uncover}
	defer func() { slices.Sort(v.Survived) }()
	done := func(t *test) bool { return slices.Contains(known, t.digest) }
	for _, s := range b.suites {
		for _, group := range s.groups(m) {
			v.Outcome = survived
			if left := slices.DeleteFunc(slices.Clone(group), done); len(left) > 0 {
				v.Outcome, v.By, err = run(ctx, m.number, left)
			}
			if err != nil || v.Outcome != survived {
				return v, err
			}
			for _, t := range group {
				v.Survived = append(v.Survived, t.digest)
			}
		}
	}
	return v, nil
}

// atOnce is how many tests run together with what they build.
const atOnce = 8

// groups returns the tests that reach a mutant: first the quick ones, which run together.
func (s *suite) groups(m *mutant) [][]*test {
	var together, alone []*test
	for _, t := range s.tests {
		switch {
		case !t.reached[m.mark]:
		case t.took < quick && !s.builds:
			together = append(together, t)
		default:
			alone = append(alone, t)
		}
	}
	slices.SortFunc(alone, func(a, b *test) int { return cmp.Compare(a.took, b.took) })
	if s.builds {
		return chunks(alone)
	}
	var groups [][]*test
	if len(together) > 0 {
		groups = append(groups, together)
	}
	for _, t := range alone {
		groups = append(groups, []*test{t})
	}
	return groups
}

// patience is how many times as long tests may take with a mutant as they just took without, when they run alone.
const patience = 4

// atMost is how long tests may take without a mutant when they run alone, however busy the machine is.
const atMost = 10 * time.Minute

// runTests runs tests with a mutant. That they take too long says nothing, since others run, too.
func (b *bench) runTests(ctx context.Context, mutant int, tests []*test) (outcome, by string, err error) {
	return b.within(ctx, b.limit(tests), mutant, tests)
}

// runAlone runs tests that took too long, when nothing else does, without the mutant and then with it. If they do not
// end without it either, nothing is known.
func (b *bench) runAlone(ctx context.Context, mutant int, tests []*test) (outcome, by string, err error) {
	start := time.Now()
	control, _, err := b.within(ctx, atMost, noMutant, tests)
	if err != nil || control != survived {
		return unclear, "", err
	}
	outcome, by, err = b.within(ctx, b.grace+patience*time.Since(start), mutant, tests)
	if outcome == unclear {
		outcome = hangs
	}
	return outcome, by, err
}

// limit is how long tests may take that do not run alone.
func (b *bench) limit(tests []*test) time.Duration {
	limit := b.grace
	for _, t := range tests {
		limit += 2 * t.took
	}
	return limit
}

// failed finds the name of a test that failed in the output of tests.
var failed = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)

// within runs tests of one suite with a mutant, or [noMutant].
func (b *bench) within(
	ctx context.Context, limit time.Duration, mutant int, tests []*test,
) (outcome, by string, err error) {
	s := tests[0].suite
	within, cancel := context.WithTimeout(ctx, limit+5*time.Second)
	defer cancel()
	temp, err := os.MkdirTemp(filepath.Join(b.work, "tmp"), "")
	if err != nil {
		return "", "", err
	}
	defer disk.RemoveAll(temp)
	if err := os.Chmod(temp, 0o777); err != nil { // some tests run themselves as another user
		return "", "", err
	}
	words := append(b.guard(), s.binary, "-test.run", pattern(tests))
	c := exec.CommandContext(within, words[0], words[1:]...)
	c.Dir, c.Env = s.dir, slices.Concat(os.Environ(), b.env(mutant), s.env)
	c.Env = append(c.Env, mutated.Seconds+"="+strconv.Itoa(int(limit.Seconds())+6), "TMPDIR="+temp)
	c.WaitDelay = time.Second
	out := &head{}
	c.Stdout, c.Stderr = out, out
	if s.builds {
		first := &firstFailure{stop: cancel}
		c.Stdout, c.Stderr = first, nil
		// A script that the test's limit ends has not failed, so there is none.
		c.Args = append(c.Args, "-test.v=test2json", "-test.timeout=0")
		err = c.Run()
		if first.name != "" && ctx.Err() == nil {
			if mutant != noMutant { // what they need may be gone
				if again, _, err := b.within(ctx, limit, noMutant, tests); err != nil || again != survived {
					return unclear, "", err
				}
			}
			return killed, s.pkg + ": " + first.name, nil
		}
	} else {
		c.Args = append(c.Args, "-test.failfast", "-test.timeout="+limit.String())
		err = c.Run()
	}
	exit, exited := errors.AsType[*exec.ExitError](err)
	switch {
	case ctx.Err() != nil:
		return "", "", ctx.Err()
	case err == nil, errors.Is(err, exec.ErrWaitDelay): // only a child of theirs is left
		return survived, "", nil
	case within.Err() != nil, exited && exit.ExitCode() == late,
		bytes.Contains(out.kept, []byte("panic: test timed out")):
		return unclear, unended(out.kept), nil
	case !exited:
		return "", "", err
	case s.builds:
		return "", "", fmt.Errorf("%s ended without a test that failed: %w", s.binary, err)
	}
	if match := failed.FindSubmatch(out.kept); match != nil {
		return killed, s.pkg + ": " + string(match[1]), nil
	}
	return killed, s.pkg, nil
}

// stuck finds the names of tests that did not end in the output of tests that took too long.
var stuck = regexp.MustCompile(`(?m)^\t\t([^\s/]+)\S* \(\S+\)$`)

// unended returns the names of those tests.
func unended(out []byte) string {
	_, list, _ := bytes.Cut(out, []byte("running tests:\n"))
	list, _, _ = bytes.Cut(list, []byte("\n\n"))
	var names []string
	for _, match := range stuck.FindAllSubmatch(list, -1) {
		names = append(names, string(match[1]))
	}
	return strings.Join(slices.Compact(names), " ")
}

// head keeps the beginning of what is written, and drops the rest.
type head struct{ kept []byte }

func (h *head) Write(p []byte) (int, error) {
	h.kept = append(h.kept, p[:min(len(p), 1<<20-len(h.kept))]...)
	return len(p), nil
}

// note sets the digests of a suite's tests: of the files in its directory, below testdata, too. A script counts for
// the test that runs it only.
func (s *suite) note() error {
	sum := sha256.New()
	err := filepath.WalkDir(s.dir, func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != s.dir && filepath.Dir(path) == s.dir && d.Name() != "testdata",
			d.IsDir() && path == filepath.Dir(s.script("any")):
			return filepath.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		fmt.Fprintln(sum, path)
		_, err = io.Copy(sum, bufio.NewReader(f))
		return err
	})
	if err != nil {
		return err
	}
	for _, t := range s.tests {
		script, err := os.ReadFile(s.script(t.name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		t.digest = digest(fmt.Sprintf("%x %s %s", sum.Sum(nil), t.name, script))[:8]
	}
	return nil
}

// script returns the file of a test that is a script.
func (s *suite) script(name string) string {
	return filepath.Join(s.dir, "testdata", "script", strings.TrimPrefix(name, "TestScript/")+".txtar")
}
