//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// memory measures by how much a large session makes the command grow, beside a small one.
func memory(b *bench) error {
	dir, err := b.dir("memory")
	if err != nil {
		return err
	}
	const flood = `{"turns":[{"actions":[{"flood":{"updates":%d}}]}]}`
	live := func(updates int) (usage, error) {
		err := write(dir, map[string]string{
			"src/a.txt": "a\n", "script.json": fmt.Sprintf(flood, updates),
			"p.yaml": strings.Replace(scale{1, 1, 1, ""}.playbook(), "evaluators:\n"+
				"  - {type: tool_trajectory, expected: [{tool: Read}, {tool: Write}]}\n", "", 1),
		})
		if err != nil {
			return usage{}, err
		}
		return b.run(dir, nil, b.command, "run", "--playbook", "p.yaml", "--mode", "live")
	}
	small, err := live(1)
	if err != nil {
		return err
	}
	large, err := live(1_000_000)
	if err != nil {
		return err
	}
	grown := func(what string, large, small usage) {
		show(what+", growth", megabytes(large.peak-small.peak), megabytes(small.peak)+" with a small one", "≤ 64 MB")
	}
	grown("live, 1,000,000 updates", large, small)
	return b.replays(grown)
}

func (b *bench) replays(grown func(what string, large, small usage)) error {
	var replay, diff [2]usage
	for i, rounds := range []int{1, 1000} {
		dir, err := b.dir(fmt.Sprint("session-", rounds))
		if err != nil {
			return err
		}
		files := map[string]string{"script.json": script(rounds)}
		for i := range 5 {
			files[fmt.Sprintf("src/file%d.txt", i)] = strings.Repeat("a line of a file\n", 60)
		}
		if err := errors.Join(write(dir, files), b.record(dir, scale{1, 1, 2, ""})); err != nil {
			return err
		}
		both, err := filepath.Glob(filepath.Join(dir, "cassettes/p/c0/v0.?.jsonl*")) // large ones are compressed
		if err != nil || len(both) != 2 {
			return errors.Join(err, fmt.Errorf("%d cassettes", len(both)))
		}
		if i == 1 {
			_, size, err := content(filepath.Join(dir, "cassettes"))
			if err != nil {
				return err
			}
			show("session of 20,000 calls, on disk", megabytes(size/2), "", "")
		}
		if replay[i], err = b.replayed(dir, "--parallel", "1"); err != nil {
			return err
		}
		diff[i], err = b.run(dir, nil, b.command, "cassette", "diff", both[0], both[1])
		if !strings.HasSuffix(diff[i].out, "cassette diff: 1 difference\n") { // their units
			return errors.Join(err, errors.New(diff[i].out))
		}
	}
	grown("replay of it", replay[1], replay[0])
	grown("two of them compared", diff[1], diff[0])
	return nil
}

// suite measures what go test compiles for a suite, with a build cache that has the standard library only.
func suite(b *bench) error {
	dir, err := b.dir("suite")
	if err != nil {
		return err
	}
	env, err := b.module(dir)
	if err != nil {
		return err
	}
	const format = `{{if .Standard}}std {{.ImportPath}}{{else if .Module}}{{.Module.Path}}{{end}}`
	deps, err := b.run(dir, env, "go", "list", "-deps", "-test", "-f", format, ".")
	if err != nil {
		return err
	}
	others, std := 0, []string{"build"}
	for line := range strings.Lines(deps.out) {
		line = strings.TrimSpace(line)
		if path, ok := strings.CutPrefix(line, "std "); ok {
			std = append(std, path)
		} else if line != "" && line != "github.com/sdd-eval/sdd-eval" && line != "example.com/many" {
			others++
		}
	}
	env = append(env, "GOCACHE="+filepath.Join(dir, "cache"))
	if _, err := b.run(dir, env, "go", std...); err != nil {
		return err
	}
	plain, err := b.dir("suite-less")
	if err != nil {
		return err
	}
	err = write(plain, map[string]string{
		"go.mod":    "module example.com/less\n\ngo 1.26\n",
		"a_test.go": "package a\n\nimport \"testing\"\n\nfunc Test(*testing.T) {}\n",
	})
	if err != nil {
		return err
	}
	floor, err := b.run(plain, env, "go", "test", "-mod=mod", "-c", "-o", "a.test", ".")
	if err != nil {
		return err
	}
	bin := filepath.Join(dir, "many.test")
	u, err := b.run(dir, env, "go", "test", "-c", "-o", bin, ".")
	if err != nil {
		return err
	}
	info, err := os.Stat(bin)
	if err != nil {
		return err
	}
	less, err := os.Stat(filepath.Join(plain, "a.test"))
	if err != nil {
		return err
	}
	show("go test -c, CPU", seconds(u.cpu), times(u.cpu, floor.cpu, "an empty test"), "≤ 10 s")
	show("  the binary", megabytes(info.Size()), megabytes(less.Size())+" for an empty test", "≤ 14 MB")
	show("  packages of others", fmt.Sprint(others), "", "≤ 15")
	return nil
}
