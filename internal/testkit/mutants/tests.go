package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
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
)

// quick is how long tests take that run together. Longer ones run one by one, when those found nothing.
const quick = 500 * time.Millisecond

// suite is the tests of one package.
type suite struct {
	dir            string // of the package, absolute
	pkg            string // its directory from the root
	binary, tracer string // with mutants, and with coverage
	tests          []*test
	env            []string // of its tests, beside that of all
	builds         string   // the test that builds what has the mutants, of which tests are subtests; empty: none
}

// test is a top-level test.
type test struct {
	suite *suite
	name  string
	took  time.Duration
	runs  map[string][]block // those of the package's code that it enters, and others, by file
}

// block is a block of a coverage profile.
type block struct {
	from, to position
	entered  bool
}

// position is a line and a column.
type position struct{ line, column int }

func (p position) compare(q position) int {
	return cmp.Or(cmp.Compare(p.line, q.line), cmp.Compare(p.column, q.column))
}

// reaches reports whether a test runs a mutant's place. The expressions of cases are in no block; for them, all tests
// count that run the function.
func (t *test) reaches(m *mutant) bool {
	inside := false
	for _, b := range t.runs[m.File] {
		if b.from.compare(m.to) <= 0 && m.from.compare(b.to) <= 0 {
			if b.entered {
				return true
			}
			inside = true
		}
	}
	return !inside && slices.ContainsFunc(t.runs[m.File], func(b block) bool {
		return b.entered && m.function.start.compare(b.from) <= 0 && b.to.compare(m.function.end) <= 0
	})
}

// build compiles the tests of a package, with the mutants of another or the same, and with its coverage, and finds
// those tests whose names the pattern takes.
func (b *bench) build(ctx context.Context, overlay, of, pattern string) (*suite, error) {
	name := strings.ReplaceAll(of, "/", "-")
	s := &suite{
		dir: filepath.Join(b.tree, filepath.FromSlash(of)), pkg: of,
		binary: filepath.Join(b.out, name+".mutants"), tracer: filepath.Join(b.out, name+".cover"),
	}
	for _, args := range [][]string{
		{"-overlay", overlay, "-o", s.binary},
		{"-cover", "-coverpkg", b.pkg.ImportPath, "-o", s.tracer},
	} {
		args = append([]string{"test", "-c", "-vet=off"}, append(args, "./"+of)...)
		if _, err := command(ctx, b.tree, nil, "go", args...); err != nil {
			return nil, err
		}
	}
	if _, err := os.Stat(s.binary); errors.Is(err, fs.ErrNotExist) {
		return s, nil // there are no test files
	}
	out, err := command(ctx, s.dir, b.env(noMutant), s.binary, "-test.list", pattern)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(out)) {
		if name := strings.TrimSpace(line); name != "" {
			s.tests = append(s.tests, &test{suite: s, name: name})
		}
	}
	return s, nil
}

// pattern is what selects tests.
func (s *suite) pattern(tests []*test) string {
	names := make([]string, len(tests))
	for i, t := range tests {
		names[i] = regexp.QuoteMeta(t.name)
	}
	pattern := "^(" + strings.Join(names, "|") + ")$"
	if s.builds != "" {
		pattern = "^" + s.builds + "$/" + pattern
	}
	return pattern
}

// env is the environment of tests: the mutant's number, and no directory of the user's.
func (b *bench) env(mutant int) []string {
	home := filepath.Join(b.work, "home")
	return []string{
		variable + "=" + strconv.Itoa(mutant), "HOME=" + home, "TMPDIR=" + filepath.Join(b.work, "tmp"),
		"UPDATE_GOLDEN=",
	}
}

// trace finds out which lines each test runs, and how long it takes. Tests that fail without a mutant are left out;
// it returns their names.
func (b *bench) trace(ctx context.Context, s *suite) (failing []string, err error) {
	profile := s.tracer + ".out"
	var kept []*test
	for _, t := range s.tests {
		exact := "^" + regexp.QuoteMeta(t.name) + "$"
		start := time.Now()
		if _, err := command(ctx, s.dir, b.env(noMutant), s.binary, "-test.run", exact); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			failing = append(failing, s.pkg+": "+t.name)
			continue
		}
		t.took = time.Since(start)
		_ = os.Remove(profile)
		args := []string{"-test.run", exact, "-test.coverprofile", profile}
		if _, err := command(ctx, s.dir, b.env(noMutant), s.tracer, args...); err != nil {
			failing = append(failing, s.pkg+": "+t.name+" (with coverage)")
			continue
		}
		text, err := os.ReadFile(profile)
		if err != nil {
			return nil, err
		}
		t.runs = blocks(string(text), b.pkg.ImportPath+"/")
		kept = append(kept, t)
	}
	s.tests = kept
	return failing, nil
}

// blocks returns what a coverage profile says, by file; the files' names begin with prefix there.
func blocks(profile, prefix string) map[string][]block {
	found := make(map[string][]block)
	for entry := range strings.Lines(profile) {
		name, rest, ok := strings.Cut(strings.TrimPrefix(entry, prefix), ":")
		if !ok {
			continue
		}
		var b block
		var statements, count int
		n, _ := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d",
			&b.from.line, &b.from.column, &b.to.line, &b.to.column, &statements, &count)
		if n == 6 {
			b.entered = count > 0
			found[name] = append(found[name], b)
		}
	}
	return found
}

// Outcomes of a mutant.
const (
	killed   = "killed"
	hangs    = "hangs"   // tests do not end with it, and do without: counts as killed
	unclear  = "unclear" // tests take too long, perhaps since the machine is busy: there is no figure
	survived = "survived"
	uncover  = "not covered" // counts as survived
)

// running runs tests with a mutant.
type running func(ctx context.Context, mutant int, tests []*test) (outcome, by string, err error)

// attempt runs the tests that reach a mutant, until one fails.
func (b *bench) attempt(ctx context.Context, m *mutant, run running) (outcome, by string, err error) {
	outcome = uncover
	for _, s := range b.suites {
		for _, group := range s.groups(m) {
			outcome, by, err = run(ctx, m.number, group)
			if err != nil || outcome != survived {
				return outcome, by, err
			}
		}
	}
	return outcome, "", nil
}

// atOnce is how many subtests run together with what they build.
const atOnce = 6

// groups returns the tests that reach a mutant: first the quick ones, which run together.
func (s *suite) groups(m *mutant) [][]*test {
	var together, alone []*test
	for _, t := range s.tests {
		switch {
		case !t.reaches(m):
		case t.took < quick && s.builds == "":
			together = append(together, t)
		default:
			alone = append(alone, t)
		}
	}
	slices.SortFunc(alone, func(a, b *test) int { return cmp.Compare(a.took, b.took) })
	if s.builds != "" {
		return slices.Collect(slices.Chunk(alone, atOnce))
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

// runTests runs tests with a mutant. That they take too long says nothing, since others run, too.
func (b *bench) runTests(ctx context.Context, mutant int, tests []*test) (outcome, by string, err error) {
	return b.within(ctx, b.limit(tests), mutant, tests)
}

// runAlone runs tests that took too long, when nothing else does, without the mutant and then with it. If they do not
// end without it either, nothing is known.
func (b *bench) runAlone(ctx context.Context, mutant int, tests []*test) (outcome, by string, err error) {
	start := time.Now()
	control, _, err := b.within(ctx, patience*b.limit(tests), noMutant, tests)
	if err != nil || control != survived {
		return unclear, "", err
	}
	outcome, by, err = b.within(ctx, b.grace+patience*time.Since(start), mutant, tests)
	if outcome == unclear {
		outcome = hangs
	}
	return outcome, by, err
}

// limit is how long tests may take.
func (b *bench) limit(tests []*test) time.Duration {
	limit := b.grace
	for _, t := range tests {
		limit += 6 * t.took
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
	c := exec.CommandContext(within, s.binary,
		"-test.failfast", "-test.timeout", limit.String(), "-test.run", s.pattern(tests))
	c.Dir, c.Env = s.dir, slices.Concat(os.Environ(), b.env(mutant), s.env)
	c.Env = append(c.Env, deadline+"="+strconv.Itoa(int(limit.Seconds())+6))
	c.WaitDelay = time.Second
	out := &head{}
	c.Stdout, c.Stderr = out, out
	err = c.Run()
	exit, exited := errors.AsType[*exec.ExitError](err)
	switch {
	case ctx.Err() != nil:
		return "", "", ctx.Err()
	case err == nil, errors.Is(err, exec.ErrWaitDelay): // only a child of theirs is left
		return survived, "", nil
	case within.Err() != nil, exited && exit.ExitCode() == late,
		bytes.Contains(out.kept, []byte("panic: test timed out")):
		return unclear, s.pkg, nil
	case !exited:
		return "", "", err
	}
	if match := failed.FindSubmatch(out.kept); match != nil {
		return killed, s.pkg + ": " + string(match[1]), nil
	}
	return killed, s.pkg, nil
}

// head keeps the beginning of what is written, and drops the rest.
type head struct{ kept []byte }

func (h *head) Write(p []byte) (int, error) {
	h.kept = append(h.kept, p[:min(len(p), 1<<20-len(h.kept))]...)
	return len(p), nil
}

// testsDigest is a digest of all files in the directories of tests, below testdata, too, and of the package's sources.
func (b *bench) testsDigest() (string, error) {
	sum := sha256.New()
	all := append([]string{b.dir}, exercisedBy[b.dir]...)
	if by, ok := builtBy[b.dir]; ok && b.built {
		all = append(all, by[0])
	}
	for _, tests := range all {
		dir, _, _ := strings.Cut(tests, " ")
		root := filepath.Join(b.tree, filepath.FromSlash(dir))
		err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && path != root && filepath.Dir(path) == root && d.Name() != "testdata":
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
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil))[:16], nil
}
