package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/testkit/mutated"
)

// ended finds the name of a test that ended, how, and how long it took, in what -test.v=test2json prints.
var ended = regexp.MustCompile("\x16--- (PASS|FAIL): (\\S+) \\(([0-9.]+)s\\)")

// builder compiles tests that build what has the mutants, and runs them once, several at a time: they leave the
// programs for all mutants, and each says which marks it reaches, and how long it takes. Those that fail without a
// mutant are left out; it returns their names.
func (b *bench) builder(ctx context.Context, overlay, of, names string) (s *suite, failing []string, err error) {
	if s, err = b.build(ctx, overlay, of); err != nil {
		return nil, nil, err
	}
	programs, reached := s.binary+".programs", s.binary+".marks"
	for _, dir := range []string{programs, reached} {
		// As another user, too.
		if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700), os.Chmod(dir, 0o777)); err != nil {
			return nil, nil, err
		}
	}
	s.builds = true
	s.env = []string{mutated.Programs + "=" + programs}
	env := slices.Concat(b.env(noMutant), s.env, []string{
		mutated.BuildFlags + "=-overlay=" + overlay, mutated.ReachedDir + "=" + reached,
	})
	words := append(b.guard(), s.binary, "-test.v=test2json", "-test.run", names)
	out, err := command(ctx, s.dir, env, words[0], words[1:]...)
	found := ended.FindAllSubmatch(out, -1)
	if ctx.Err() != nil || len(found) == 0 {
		return nil, nil, errors.Join(err, ctx.Err())
	}
	for _, match := range found {
		t := &test{suite: s, name: string(match[2])}
		of, _, sub := strings.Cut(t.name, "/")
		switch {
		case strings.Count(t.name, "/") > 1, !sub && bytes.Contains(out, []byte("\x16=== RUN   "+of+"/")):
			continue // a part of one, or all of them
		case string(match[1]) == "FAIL":
			failing = append(failing, s.pkg+": "+t.name)
			continue
		}
		if t.took, err = time.ParseDuration(string(match[3]) + "s"); err != nil {
			return nil, nil, err
		}
		// What its test does before it runs subtests is part of each.
		files := []string{filepath.Join(reached, mutated.FileName(of))}
		if below, err := filepath.Glob(filepath.Join(reached, mutated.FileName(t.name)+"*")); err == nil {
			files = append(files, below...)
		}
		if t.reached, err = readMarks(files...); err != nil {
			return nil, nil, err
		}
		s.tests = append(s.tests, t)
	}
	return s, failing, nil
}

// chunks returns groups of tests that run together, in the order given: subtests with those of the same test, others
// with others.
func chunks(tests []*test) [][]*test {
	var groups [][]*test
	open := make(map[string]int) // the group that is not full, by the test of subtests
	for _, t := range tests {
		of, _, sub := strings.Cut(t.name, "/")
		if !sub {
			of = ""
		}
		i, ok := open[of]
		if !ok || len(groups[i]) == atOnce {
			i = len(groups)
			open[of], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], t)
	}
	return groups
}

// firstFailure calls stop when -test.v=test2json says that a test has failed.
type firstFailure struct {
	stop func()
	rest []byte // a line that has not ended
	name string
}

func (f *firstFailure) Write(p []byte) (int, error) {
	f.rest = append(f.rest, p...)
	for _, match := range ended.FindAllSubmatch(f.rest, -1) {
		if string(match[1]) == "FAIL" && f.name == "" {
			f.name = string(match[2])
			f.stop()
		}
	}
	f.rest = f.rest[bytes.LastIndexByte(f.rest, '\n')+1:]
	return len(p), nil
}
