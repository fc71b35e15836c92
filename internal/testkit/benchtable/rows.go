//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

func eval(b *bench) error {
	modules, err := b.run(b.root, nil, "go", "env", "GOMODCACHE")
	if err != nil {
		return err
	}
	fresh := func(name string, args ...string) ([2]usage, error) {
		home, err := b.dir("home-" + name)
		if err != nil {
			return [2]usage{}, err
		}
		// make and bash pass these on.
		env := append([]string{
			"-u", "GOCACHE", "-u", "XDG_CACHE_HOME", "-u", "GOFLAGS", "-u", "EVALTEST_SANDBOX", "HOME=" + home,
			"GOMODCACHE=" + strings.TrimSpace(modules.out), name,
		}, args...)
		var both [2]usage
		for i := range both {
			if both[i], err = b.run(b.root, nil, "env", env...); err != nil {
				return both, err
			}
		}
		return both, os.RemoveAll(home)
	}
	vet, err := fresh("go", "vet", "./evals/...")
	if err != nil {
		return err
	}
	made, err := fresh("make", "eval")
	if err != nil {
		return err
	}
	for i, what := range []string{"the first time, wall", "the second time, wall"} {
		show("make eval, "+what, seconds(made[i].wall), times(made[i].wall, vet[i].wall, "go vet"),
			[]string{"≤ 45 s", "≤ 8 s"}[i])
		show("  CPU", seconds(made[i].cpu), times(made[i].cpu, vet[i].cpu, "go vet"), "")
	}
	return nil
}

func step(b *bench) error {
	files := map[string]string{
		"script.json": `{"turns":[{"actions":[` +
			`{"tool":{"name":"Read","kind":"read","title":"Read","input":{"path":"go.mod"}}},` +
			`{"tool":{"name":"Write","kind":"edit","title":"Write","input":{"path":"p0/a.go"},` +
			`"do":[{"write":{"path":"p0/a.go","text":"package p0\n\nfunc F() int { return 1 }\n"}}]}}]}]}`,
		"src/go.mod": "module example.com/shop\n\ngo 1.26\n",
	}
	for i := range 5 {
		p := fmt.Sprint("p", i)
		files["src/"+p+"/a.go"] = "package " + p + "\n\nfunc F() int { return 0 }\n"
		files["src/"+p+"/a_test.go"] = "package " + p + "\n\nimport (\n\t\"strconv\"\n\t\"testing\"\n)\n\n" +
			"func TestF(t *testing.T) { t.Log(strconv.Itoa(F())) }\n"
	}
	with, err := b.dir("step")
	if err != nil {
		return err
	}
	without, err := b.dir("step-less")
	if err != nil {
		return err
	}
	var runs [2]usage
	for i, dir := range []string{without, with} {
		s := scale{1, 1, 1, []string{"", ", {run: go test ./...}"}[i]}
		if err := errors.Join(write(dir, files), b.record(dir, s)); err != nil {
			return err
		}
		if runs[i], err = b.replayed(dir); err != nil {
			return err
		}
	}
	plain, err := b.best(2, nil, filepath.Join(with, "src"), "go", "test", "-count=1", "./...")
	if err != nil {
		return err
	}
	show("five packages, one changed: the step, CPU", seconds(runs[1].cpu-runs[0].cpu),
		times(runs[1].cpu-runs[0].cpu, plain.cpu, "go test -count=1 of them"), "≤ 0.9 s")
	show("  wall", seconds(runs[1].wall-runs[0].wall),
		times(runs[1].wall-runs[0].wall, plain.wall, "go test -count=1 of them"), "")
	return nil
}

func reports(b *bench) error {
	dir, err := b.many(10000)
	if err != nil {
		return err
	}
	if _, err := b.replayed(dir); err != nil {
		return err
	}
	plain, err := b.best(2, nil, dir, b.self, "-decode", ".llman/sdd-eval/runs/2*/results.jsonl")
	if err != nil {
		return err
	}
	for _, format := range []string{"md", "json", "junit", "html"} {
		u, err := b.best(2, nil, dir, b.command, "report", "--run", "latest", "--format", format)
		if err != nil {
			return err
		}
		wanted := "≤ 1.5 s"
		if format == "html" {
			wanted = "≤ 3 s"
		}
		show("report --format "+format+", CPU", seconds(u.cpu), times(u.cpu, plain.cpu, "decoding the results"), wanted)
	}
	u, err := b.best(2, nil, dir, b.command, "list")
	if err == nil {
		show("list of that run, wall", seconds(u.wall), times(u.wall, plain.wall, "decoding the results"), "≤ 0.1 s")
	}
	return err
}

func page(b *bench) error {
	u, err := b.run(b.root, nil, "go", "test", "./internal/report", "-run", "^TestPageOpensAtOnce$", "-count=1", "-v")
	if err != nil {
		return err
	}
	wanted := map[string]string{"shown": "< 1000 ms", "filter": "< 100 ms"}
	for _, m := range regexp.MustCompile(`(\d+ MiB), (\w+): (\d+ ms)`).FindAllStringSubmatch(u.out, -1) {
		show("page of "+m[1]+": "+m[2], m[3], "", wanted[m[2]])
	}
	return nil
}

func trees(b *bench) error {
	for _, n := range []int{10_000, 100_000} {
		dir, err := b.tree(n)
		if err != nil {
			return err
		}
		plain, err := b.best(2, func() error { return b.aside(dir, "copy") }, dir, "cp", "-a", "src", "copy")
		if err != nil {
			return err
		}
		var cpu [4]time.Duration
		for i, s := range []scale{{1, 2, 1, ""}, {1, 22, 1, ""}, {1, 1, 1, ""}, {1, 1, 1, ", {run: go version}"}} {
			if err := b.record(dir, s); err != nil {
				return err
			}
			u, err := b.replayed(dir)
			if err != nil {
				return err
			}
			cpu[i] = u.cpu
		}
		row := func(name string, cpu time.Duration, wanted string) {
			show(fmt.Sprintf("%d files: %s, CPU", n, name), fmt.Sprintf("%.3f s", cpu.Seconds()),
				fmt.Sprintf("%.2f × cp -a (%s)", cpu.Seconds()/plain.cpu.Seconds(), seconds(plain.cpu)), wanted)
		}
		row("two cases, which only read", cpu[0], "")
		row("each further case", (cpu[1]-cpu[0])/20, "≤ 0.2 ×")
		row("one case, whose workspace is kept", cpu[2], "≤ 1.5 ×")
		row("the same with a step", cpu[3], "≤ 1.5 ×")
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	return nil
}

// tree makes a project whose units have so many files of 1 KB.
func (b *bench) tree(files int) (string, error) {
	dir, err := b.dir(fmt.Sprint("tree-", files))
	if err != nil {
		return "", err
	}
	all := map[string]string{"script.json": script(1)}
	for i := range files {
		all[fmt.Sprintf("src/d%d/f%d.txt", i/100, i)] = strings.Repeat(fmt.Sprintf("line %d\n", i), 100)
	}
	for i := range 5 {
		all[fmt.Sprintf("src/file%d.txt", i)] = "a line\n"
	}
	return dir, write(dir, all)
}

func kept(b *bench) error {
	dir, err := b.tree(10_000)
	if err != nil {
		return err
	}
	if err := b.record(dir, scale{50, 20, 1, ""}); err != nil {
		return err
	}
	u, err := b.replayed(dir)
	if err != nil {
		return err
	}
	files, bytes, err := content(filepath.Join(dir, ".llman"))
	if err != nil {
		return err
	}
	_, source, err := content(filepath.Join(dir, "src"))
	if err != nil {
		return err
	}
	beside := fmt.Sprintf("%.4f × 1,000 workspaces (%s)", float64(bytes)/1000/float64(source), megabytes(1000*source))
	show("bytes of 1,000 units", megabytes(bytes), beside, "≤ 100 MB")
	show("  files", strconv.FormatInt(files, 10), "", "")
	show("  wall", seconds(u.wall), seconds(u.cpu)+" of CPU", "≤ 5 s")
	return os.RemoveAll(dir)
}

func describe(b *bench) error {
	dir, err := b.many(10000)
	if err != nil {
		return err
	}
	env, err := b.module(dir)
	if err != nil {
		return err
	}
	bin := filepath.Join(dir, "many.test")
	if _, err := b.run(dir, env, "go", "test", "-c", "-o", bin, "."); err != nil {
		return err
	}
	none, err := b.run(dir, nil, bin, "-test.run=^$")
	if err != nil {
		return err
	}
	u, err := b.run(dir, nil, bin)
	if err == nil {
		show("go test of 10,000 units, memory", megabytes(u.peak), megabytes(none.peak)+" without a test", "≤ 80 MB")
	}
	return err
}

func units(b *bench) error {
	dir, err := b.many(1000)
	if err != nil {
		return err
	}
	u, err := b.replayed(dir)
	if err != nil {
		return err
	}
	plain, err := b.best(2, nil, dir, b.self, "-decode", "cassettes/p/*/*.jsonl")
	if err != nil {
		return err
	}
	show("a unit, CPU", fmt.Sprintf("%.2f ms", u.cpu.Seconds()),
		times(u.cpu, plain.cpu, "decoding 1,000 cassettes"), "≤ 1 ms")
	files, _, err := content(filepath.Join(dir, ".llman"))
	show("  files", fmt.Sprintf("%.1f", float64(files)/1000), "", "≤ 4")
	return err
}

func list(b *bench) error {
	dir, err := b.many(10)
	if err != nil {
		return err
	}
	if _, err := b.replayed(dir); err != nil {
		return err
	}
	one, err := filepath.Glob(filepath.Join(dir, ".llman/sdd-eval/runs/2*"))
	if err != nil || len(one) != 1 {
		return errors.Join(err, fmt.Errorf("%d runs", len(one)))
	}
	for i := range 999 {
		id := fmt.Sprintf("20260101-000000-many-%08d", i) // as long as the id of the run
		copied := make(map[string]string)
		for _, name := range []string{"manifest.json", "playbook.yaml", "results.jsonl"} {
			data, err := os.ReadFile(filepath.Join(one[0], name))
			if err != nil {
				return err
			}
			copied[name] = strings.ReplaceAll(string(data), filepath.Base(one[0]), id)
		}
		if err := write(filepath.Join(filepath.Dir(one[0]), id), copied); err != nil {
			return err
		}
	}
	plain, err := b.best(2, nil, dir, b.self, "-decode", ".llman/sdd-eval/runs/*/manifest.json")
	if err != nil {
		return err
	}
	u, err := b.best(3, nil, dir, b.command, "list")
	if err == nil {
		show("list of 1,000 runs, wall", seconds(u.wall), times(u.wall, plain.wall, "decoding manifests"), "≤ 0.1 s")
	}
	return err
}
