//go:build linux

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/disk"
)

// playbook has cases, trials, variants, keys at its top and steps after the agent's.
const playbook = `name: many
cases: [%s]
trials: {count: %d}
variants: {%s}
workspace: {from: src}
evaluators:
  - {type: tool_trajectory, expected: [{tool: Read}, {tool: Write}]}
workflow:
  jobs:
    eval:
      strategy: {matrix: {variant: [%s]}}
      steps: [{uses: builtin:sdd-eval/workspace.prepare}, {uses: builtin:sdd-eval/acp.prompt}%s]
`

// scale is how many units a playbook has, and the steps after the agent's, each with a comma before it.
type scale struct {
	variants, cases, trials int
	steps                   string
}

func (s scale) playbook() string {
	var cases, variants, names []string
	for i := range s.cases {
		cases = append(cases, fmt.Sprintf("{id: c%d, prompt: Do it.}", i))
	}
	for i := range s.variants {
		names = append(names, fmt.Sprintf("v%d", i))
		variants = append(variants, names[i]+": {agent: {kind: fake-acp, args: [script.json]}}")
	}
	return fmt.Sprintf(playbook, strings.Join(cases, ", "), s.trials, strings.Join(variants, ", "),
		strings.Join(names, ", "), s.steps)
}

// record makes p.yaml of a project whose files are there, with a recording of each unit. One unit is recorded with the
// scripted agent; the others are copies of it.
func (b *bench) record(dir string, s scale) error {
	first := scale{1, 1, 1, s.steps}
	if err := write(dir, map[string]string{"p.yaml": first.playbook()}); err != nil {
		return err
	}
	if _, err := b.run(dir, nil, b.command, "run", "--playbook", "p.yaml", "--mode", "record"); err != nil {
		return err
	}
	cassettes := filepath.Join(dir, "cassettes")
	c, err := cassette.Read(cassette.Path(cassettes, "p", "c0", "v0", 1))
	if err != nil {
		return err
	}
	for v := range s.variants {
		for i := range s.cases {
			for trial := 1; trial <= s.trials; trial++ {
				id, variant := fmt.Sprintf("c%d", i), fmt.Sprintf("v%d", v)
				c.Header.Unit = fmt.Sprintf("many/%s/%s/%d", id, variant, trial)
				path := cassette.Path(cassettes, "p", id, variant, trial)
				if err := cmp.Or(b.ctx.Err(), cassette.Write(disk.Tree(dir), path, c)); err != nil {
					return err
				}
			}
		}
	}
	return write(dir, map[string]string{"p.yaml": s.playbook()})
}

// replayed replays a project, which has nothing then of earlier runs.
func (b *bench) replayed(dir string, args ...string) (usage, error) {
	args = append([]string{"run", "--playbook", "p.yaml", "--mode", "replay"}, args...)
	return b.best(2, func() error { return b.aside(dir, ".llman") }, dir, b.command, args...)
}

// many makes a project of that many units of 20 calls, once.
func (b *bench) many(units int) (string, error) {
	name := fmt.Sprint("many-", units)
	if b.built[name] != "" {
		return b.built[name], nil
	}
	dir, err := b.dir(name)
	if err != nil {
		return "", err
	}
	files := map[string]string{"script.json": script(1)}
	for i := range 5 {
		files[fmt.Sprintf("src/file%d.txt", i)] = strings.Repeat("a line of a file\n", 60)
	}
	if err := write(dir, files); err != nil {
		return "", err
	}
	if err := b.record(dir, scale{1, 10, units / 10, ""}); err != nil {
		return "", err
	}
	b.built[name] = dir
	return dir, nil
}

// script is the script of a session of twenty calls, or that many times as many.
func script(rounds int) string {
	text := strings.Repeat("a line of what was written\n", 20)
	var actions []any
	for i := range 10 * rounds {
		path := fmt.Sprintf("file%d.txt", i%5)
		actions = append(actions,
			map[string]any{"tool": map[string]any{
				"name": "Read", "kind": "read", "title": "Read " + path, "input": map[string]any{"path": path},
				"do": []any{map[string]any{"read": map[string]any{"path": path}}},
			}},
			map[string]any{"tool": map[string]any{
				"name": "Write", "kind": "edit", "title": "Write out.txt",
				"input": map[string]any{"path": "out.txt", "content": text},
				"do":    []any{map[string]any{"write": map[string]any{"path": "out.txt", "text": text}}},
			}})
	}
	data, _ := json.Marshal(map[string]any{"turns": []any{map[string]any{"actions": actions}}}) // strings only
	return string(data)
}

// module makes a project a module with a suite, and returns the variables with which the go command builds it.
func (b *bench) module(dir string) (env []string, err error) {
	gomod, err := os.ReadFile(filepath.Join(b.root, "go.mod"))
	if err != nil {
		return nil, err
	}
	sums, err := os.ReadFile(filepath.Join(b.root, "go.sum"))
	if err != nil {
		return nil, err
	}
	_, requires, _ := strings.Cut(string(gomod), "\n")
	const ours = "github.com/sdd-eval/sdd-eval"
	return []string{"GOFLAGS=-mod=mod", "GOWORK=off"}, write(dir, map[string]string{
		"go.sum": string(sums),
		"go.mod": "module example.com/many\n" + requires + "\nrequire " + ours + " v0.0.0\n\nreplace " + ours + " => " +
			b.root + "\n",
		"many_test.go": "package many\n\nimport (\n\t\"testing\"\n\n\t\"" + ours + "/evaltest\"\n)\n\n" +
			"func TestMany(t *testing.T) { evaltest.Describe(t, \"p.yaml\") }\n",
	})
}
