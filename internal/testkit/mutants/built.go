package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// subtest finds the name of a subtest that passed, and of one that failed.
var subtest = regexp.MustCompile(`(?m)^ +--- (PASS|FAIL): [^/\s]+/(\S+)`)

// builder compiles a test that builds what has the mutants, and finds out which lines its subtests have that run, and
// how long they take. Those that fail without a mutant are left out; it returns their names.
func (b *bench) builder(ctx context.Context, overlay, of, name string) (s *suite, failing []string, err error) {
	s = &suite{
		dir: filepath.Join(b.tree, filepath.FromSlash(of)), pkg: of, builds: name,
		binary: filepath.Join(b.out, strings.ReplaceAll(of, "/", "-")+".builds"),
		env:    []string{"GOFLAGS=-overlay=" + overlay},
	}
	if _, err := command(ctx, b.tree, nil, "go", "test", "-c", "-vet=off", "-o", s.binary, "./"+of); err != nil {
		return nil, nil, err
	}
	all, err := command(ctx, s.dir, append(b.env(noMutant), s.env...), s.binary, "-test.v", "-test.run", "^"+name+"$")
	if ctx.Err() != nil || len(all) == 0 {
		return nil, nil, err
	}
	for _, found := range subtest.FindAllSubmatch(all, -1) {
		t := &test{suite: s, name: string(found[2])}
		if string(found[1]) == "FAIL" {
			failing = append(failing, s.pkg+": "+name+"/"+t.name)
			continue
		}
		if err := b.traceBuilt(ctx, t); err != nil {
			return nil, nil, err
		}
		s.tests = append(s.tests, t)
	}
	return s, failing, nil
}

// traceBuilt finds out which lines a subtest has run in what was built, and how long that takes.
func (b *bench) traceBuilt(ctx context.Context, t *test) error {
	dir := t.suite.binary + ".cover"
	if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o755)); err != nil {
		return err
	}
	env := append(b.env(noMutant), "GOFLAGS=-cover -coverpkg="+b.pkg.ImportPath, "GOCOVERDIR="+dir)
	start := time.Now()
	_, _ = command(ctx, t.suite.dir, env, t.suite.binary, "-test.run", t.suite.pattern([]*test{t}))
	t.took = time.Since(start) // that it fails with coverage says nothing
	profile := dir + ".out"
	if _, err := command(ctx, b.tree, nil, "go", "tool", "covdata", "textfmt", "-i", dir, "-o", profile); err != nil {
		return err
	}
	text, err := os.ReadFile(profile)
	t.runs = blocks(string(text), b.pkg.ImportPath+"/")
	return err
}
