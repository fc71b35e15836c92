package plan_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	allkinds "github.com/sdd-eval/sdd-eval/internal/evaluator/kinds"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// TestUntrusted holds what is refused in each file to its comments, as [TestInvalid] does. Without the mode the same
// files are read, so that nothing else can be what is refused.
func TestUntrusted(t *testing.T) {
	for _, file := range glob(t, "testdata/untrusted/*.yaml") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			want := wants(t, string(data))
			source := plan.Source{Path: file}
			if strings.Contains(string(data), "\nmcp:") { // which the agents of live runs alone start
				source.StartsAgents = true
			}
			if filepath.Base(file) != "command.yaml" { // a kind of its own
				_, err = plan.Read(source, allkinds.All())
				require.NoError(t, err)
			}
			source.Untrusted = true
			_, err = plan.Read(source, allkinds.All())
			var errs doc.Problems
			require.ErrorAs(t, err, &errs)
			assert.Contains(t, fault.Advice(err), "without --untrusted and EVALTEST_UNTRUSTED")
			for _, e := range errs {
				_, text, _ := strings.Cut(e.Error(), strconv.Itoa(e.Position.Column)+": ")
				if !take(want, e.Position.Line, text) {
					t.Errorf("unwanted error: %v", e)
				}
			}
			for line, patterns := range want {
				for _, p := range patterns {
					t.Errorf("%s:%d: no error matches %q", file, line, p)
				}
			}
		})
	}
}

// TestUntrustedReads: what widens nothing is read, and real agents if they are not started.
func TestUntrustedReads(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	write("golden.txt", "a")
	write("work/a.txt", "a")
	write("evals/judge.js", "")
	write("evals/p.yaml", `
sandbox: {kind: bwrap, network: none, require: [files read]}
workspace: {from: ../work, include: ['dist/**', node_modules, 'dist/main.js']}
task: {prompt: hello}
mcp: [{name: s, command: [server]}]
variants: {a: {agent: {kind: claude-code-acp, preset: p, args: [/etc/hostname]}}, f: {agent: {kind: fake-acp}}}
workflow: {jobs: {eval: {strategy: {matrix: {variant: [a, f]}}, steps: [
  {uses: builtin:sdd-eval/workspace.prepare}, {uses: builtin:sdd-eval/acp.prompt}, {run: go test ./...}]}}}
evaluators:
  - {type: code_judge, script: [node, judge.js, --deep], cwd: ..}
  - {type: files, expect: [{path: a, golden: ../golden.txt}]}
  - type: composite
    all: [{type: llm_judge, agent: {kind: claude-code-acp, preset: p, args: [/etc/hostname]}}]
`)
	source := plan.Source{Path: filepath.Join(dir, "evals/p.yaml"), Root: dir, Untrusted: true}
	_, err := plan.Read(source, allkinds.All())
	require.NoError(t, err)
	source.StartsAgents = true
	_, err = plan.Read(source, allkinds.All())
	require.ErrorContains(t, err, "p.yaml:6:30: variants.a.agent.kind: refused in untrusted mode: starts an agent")
	require.ErrorContains(t, err, "evaluators[2].all[0].agent.kind: refused in untrusted mode: starts an agent")
	source.StartsAgents, source.AsksJudges = false, true
	_, err = plan.Read(source, allkinds.All())
	require.ErrorContains(t, err, "p.yaml:13:43: evaluators[2].all[0].agent.kind: refused in untrusted mode: "+
		"starts an agent, with your account")
	require.ErrorContains(t, err, "evaluators[2].all[0].agent.args[0]: refused in untrusted mode")
	require.NotContains(t, err.Error(), "variants.a.agent.kind")

	for _, elsewhere := range []string{"/etc/hostname", ".git/config", ".env"} { // by a link in the project
		write(".git/config", "x")
		write(".env", "x")
		require.NoError(t, os.Remove(filepath.Join(dir, "golden.txt")))
		if !filepath.IsAbs(elsewhere) {
			elsewhere = filepath.Join(dir, elsewhere)
		}
		require.NoError(t, os.Symlink(elsewhere, filepath.Join(dir, "golden.txt")))
		_, err = plan.Read(plan.Source{Path: source.Path, Root: dir, Untrusted: true}, allkinds.All())
		require.ErrorContains(t, err, "refused in untrusted mode: ../golden.txt names", elsewhere)
	}
}

// harmless are keys with which a playbook widens nothing.
var harmless = map[string]string{
	"Sandbox": "require", "Env": "", "Addition": "to",
	"Overlay":    "workspace env files prompt_prefix prompt_suffix", // the first two by their keys
	"Limits":     "timeout max_tool_calls max_tokens max_cost_usd exceeded until run",
	"Workspace":  "exclude repository empty",
	"Agent":      "model mode preset command", // those of agents that are not started
	"code_judge": "config timeout compat", "command": "exit_code stdout stderr timeout cwd",
	"llm_judge": "model judges agent samples rubrics config timeout compat prompt", // agent by its keys
}

// TestUntrustedKnowsAll: each key that has to do with the sandbox is in the table, or is known to be harmless.
func TestUntrustedKnowsAll(t *testing.T) {
	text, err := os.ReadFile("untrusted.go")
	require.NoError(t, err)
	known := func(name string, keys reflect.Type, prefixes ...string) {
		for f := range keys.Fields() {
			key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			if key == "" || strings.Contains(" "+harmless[name]+" ", " "+key+" ") {
				continue
			}
			found := false
			for _, prefix := range prefixes {
				found = found || strings.Contains(string(text), `{"`+prefix+key+`"`) ||
					strings.Contains(string(text), `{"`+prefix+key+`.*"`)
			}
			assert.True(t, found, "%s: is %s harmless in an untrusted playbook?", name, key)
		}
	}
	known("Sandbox", reflect.TypeFor[playbook.Sandbox](), "sandbox.")
	known("Limits", reflect.TypeFor[playbook.Limits](), "limits.")
	known("Limits", reflect.TypeFor[plan.Limits](), "limits.")
	known("Env", reflect.TypeFor[playbook.Env](), "env.")
	known("Env", reflect.TypeFor[playbook.Env](), "variants.*.env.")
	known("Overlay", reflect.TypeFor[playbook.Overlay](), "variants.*.")
	known("Addition", reflect.TypeFor[playbook.Addition](), "variants.*.workspace.add.*.")
	known("Workspace", reflect.TypeFor[plan.Workspace](), "workspace.")
	known("Agent", reflect.TypeFor[playbook.Agent](), "variants.*.agent.")
	known("Agent", reflect.TypeFor[playbook.Agent](), "agent.")
	for _, kind := range []string{"code_judge", "command", "llm_judge"} {
		known(kind, reflect.TypeOf(allkinds.All()[kind].Keys), "")
	}
}
