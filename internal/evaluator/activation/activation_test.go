package activation_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/activation"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// book is a playbook with one variant of each kind of agent that is judged, which has the skills pdf and xls, and with
// one that has nothing.
const book = `
cases: [{id: one, prompt: p, KEYS}]
mcp: [{name: shop, command: [shop]}]
variants:
  bare: {agent: {kind: claude-cli, preset: p}}
  claude: {agent: {kind: claude-code-acp, preset: p}, skills: [pdf, xls]}
  codex: {agent: {kind: codex-acp, preset: p}, skills: [pdf, xls]}
  copilot: {agent: {kind: copilot-acp}, skills: [pdf, xls]}
  gemini: {agent: {kind: gemini-acp}, skills: [pdf, xls]}
  opencode: {agent: {kind: opencode-acp}, skills: [pdf, xls]}
  qwen: {agent: {kind: qwen-acp}, skills: [pdf, xls]}
  fake: {agent: {kind: fake-acp}, skills: [pdf, xls]}
  goose: {agent: {kind: goose-acp}, skills: [pdf, xls]}
  own: {agent: {kind: acp, command: agent}}
workflow:
  jobs:
    j:
      strategy: {matrix: {variant: [bare, claude, codex, copilot, gemini, opencode, qwen, fake, goose, own]}}
      steps: [{uses: "builtin:sdd-eval/workspace.prepare"}, {uses: "builtin:sdd-eval/acp.prompt"}]
`

// load returns the playbook, whose only case has these keys.
func load(t *testing.T, keys string) *plan.Playbook {
	t.Helper()
	dir := t.TempDir()
	for _, skill := range []string{"pdf", "xls"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, skill), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, skill, plan.SkillFile),
			[]byte("---\nname: "+skill+"\n---\nDo.\n"), 0o644))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "agent"), []byte("#!/bin/sh\n"), 0o755))
	pb, err := plan.Read(plan.Source{
		Path: filepath.Join(dir, "p.yaml"), Data: []byte(strings.Replace(book, "KEYS", keys, 1)),
	}, plan.Kinds{"activation": activation.Kind()})
	require.NoError(t, err)
	return pb
}

// judge judges a session of a variant.
func judge(t *testing.T, pb *plan.Playbook, variant string, bodies ...trajectory.Body) evaluator.Verdict {
	t.Helper()
	kind := ""
	for _, v := range pb.Variants {
		if v.ID == variant {
			kind = v.Agent.Kind
		}
	}
	run := &trajectory.Run{Agent: trajectory.Agent{Kind: kind}}
	for _, b := range bodies {
		run.Events = append(run.Events, trajectory.Event{Turn: 1, Body: b})
	}
	e := pb.Cases[0].Evaluators[0]
	return evaluator.Judge(t.Context(), e, evaluator.Input{Variant: variant, Run: run})
}

type args = map[string]any

// TestSignals has each kind of agent use the skill pdf, in the ways in which they were seen to: by the tool that loads
// skills, and by reading its file.
func TestSignals(t *testing.T) {
	pb := load(t, "fires: [pdf], silent: [xls]")
	read := func(path string) trajectory.ToolStart {
		return trajectory.ToolStart{
			Name: "Read", Kind: "read", Title: "Read it", Locations: []trajectory.Location{{Path: path}},
		}
	}
	shell := func(line string) trajectory.ToolStart {
		return trajectory.ToolStart{Name: "Bash", Kind: "execute", Args: args{"command": line}}
	}
	for _, tt := range []struct {
		name, variant string
		call          trajectory.ToolStart
		fired         string
	}{
		{"claude's tool", "claude", trajectory.ToolStart{Name: "Skill", Args: args{"skill": "pdf"}}, "pdf"},
		{"of a plugin", "claude", trajectory.ToolStart{Name: "Skill", Args: args{"skill": "office:pdf"}}, "pdf"},
		{"another", "claude", trajectory.ToolStart{Name: "Skill", Args: args{"skill": "xls"}}, "xls"},
		{"claude reads", "claude", read("$WORKSPACE/.claude/skills/pdf/SKILL.md"), "pdf"},
		{"by a shell", "claude", shell("cat .claude/skills/pdf/SKILL.md"), "pdf"},
		{"lists", "claude", shell("ls .claude/skills/pdf/SKILL.md"), ""},
		{"searches", "claude", shell("grep -r form .claude/skills/pdf/SKILL.md"), ""},
		{"another's file", "claude", shell("cat .claude/skills/pdf/README.md && cat docs/SKILL.md"), ""},
		{"a longer name", "claude", shell("cat .claude/skills/pdf-2/SKILL.md"), ""},
		{"another place", "claude", shell("cat skills/pdf/SKILL.md"), ""},
		{"all of them", "fake", shell("cat .agents/skills/*/SKILL.md"), "pdf xls"},
		{"all that is in it", "claude", shell("cat .claude/skills/pdf/*"), "pdf"},
		{"all texts", "fake", shell("head -50 .agents/skills/pdf/*.md"), "pdf"},
		{"its other texts", "fake", shell("cat .agents/skills/pdf/references/*.md"), ""},
		{"codex", "codex", trajectory.ToolStart{
			Name: "Read SKILL.md", Kind: "read", Title: "Read SKILL.md",
			Args: args{"command": []any{"bash", "-c", "cd .agents/skills/pdf && cat SKILL.md"}, "cwd": "$WORKSPACE"},
		}, "pdf"},
		{"codex 2", "codex", trajectory.ToolStart{
			Name: "exec_command", Kind: "read", Title: "Read file '$WORKSPACE/.agents/skills/pdf/SKILL.md'",
		}, "pdf"},
		{"in its directory", "codex", trajectory.ToolStart{
			Kind: "execute", Args: args{"cmd": "sed -n 1,9p SKILL.md", "workdir": ".agents/skills/pdf"},
		}, "pdf"},
		{"copilot", "copilot", trajectory.ToolStart{Name: "skill", Args: args{"skill": "pdf"}}, "pdf"},
		{"gemini", "gemini", trajectory.ToolStart{Name: "activate_skill", Title: `"pdf": Fills forms.`}, "pdf"},
		{"gemini, a record", "gemini", trajectory.ToolStart{Name: "activate_skill", Args: args{"name": "pdf"}}, "pdf"},
		{"opencode", "opencode", trajectory.ToolStart{Name: "skill", Args: args{"name": "pdf"}}, "pdf"},
		{"qwen", "qwen", trajectory.ToolStart{Name: "skill", Kind: "read", Args: args{"skill": "pdf"}}, "pdf"},
		{"fake", "fake", read(".agents/skills/pdf/SKILL.md"), "pdf"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := judge(t, pb, tt.variant, tt.call)
			fired := ""
			for _, a := range v.Activations {
				require.NotNil(t, a.Fired, v.Reason)
				if *a.Fired && fired != "" {
					fired += " "
				}
				if *a.Fired {
					fired += a.Name
				}
			}
			assert.Equal(t, tt.fired, fired)
			want := result.Fail
			if tt.fired == "pdf" {
				want = result.Pass
			}
			assert.Equal(t, want, v.Outcome, v.Reason)
		})
	}
}

func TestVerdicts(t *testing.T) {
	for _, tt := range []struct {
		name, keys, variant string
		bodies              []trajectory.Body
		outcome             result.Outcome
		reason              string
		activations         []result.Activation
	}{
		{
			name: "it does not fire", keys: "fires: [pdf]", variant: "claude", outcome: result.Fail,
			reason:      "skill pdf fires: the agent did not use it",
			activations: []result.Activation{{Name: "pdf", Wanted: true, Fired: new(false)}},
		},
		{
			name: "it is not silent", keys: "silent: [mcp__shop__*]", variant: "claude", outcome: result.Fail,
			bodies: []trajectory.Body{trajectory.ToolStart{Name: "mcp__shop__count"}},
			reason: "tool mcp__shop__* is silent: the agent used it",
			activations: []result.Activation{
				{Name: "mcp__shop__*", Fired: new(true)},
			},
		},
		{
			name: "the variant has none of it", keys: "fires: [pdf], silent: [xls]", variant: "bare",
			outcome: result.Skip,
			reason:  "variant bare does not have pdf, xls",
		},
		{
			name: "the variant has one of them", keys: "fires: [pdf, WebSearch]", variant: "bare", outcome: result.Pass,
			bodies:      []trajectory.Body{trajectory.ToolStart{Name: "WebSearch"}},
			activations: []result.Activation{{Name: "WebSearch", Wanted: true, Fired: new(true)}},
		},
		{
			name: "an agent that shows nothing", keys: "silent: [pdf]", variant: "goose", outcome: result.Error,
			reason: "whether skill pdf is silent: cannot measure: " +
				"it is not known how agents of kind goose-acp show which skills they use",
			activations: []result.Activation{{Name: "pdf"}},
		},
		{
			name: "an agent of one's own", keys: "fires: [pdf]", variant: "own", outcome: result.Error,
			reason: "whether skill pdf fires: cannot measure: " +
				"it is not known how agents of kind acp show which skills they use",
			activations: []result.Activation{{Name: "pdf", Wanted: true}},
		},
		{
			name: "an agent of one's own that shows it", keys: "fires: [mcp__shop__count]", variant: "own",
			bodies: []trajectory.Body{trajectory.ToolStart{Name: "mcp__shop__count"}}, outcome: result.Pass,
			activations: []result.Activation{{Name: "mcp__shop__count", Wanted: true, Fired: new(true)}},
		},
		{
			name: "a server that is seen", keys: "silent: [mcp__shop__count]", variant: "own", outcome: result.Pass,
			bodies:      []trajectory.Body{trajectory.MCPCall{Server: "shop", Method: "tools/list"}},
			activations: []result.Activation{{Name: "mcp__shop__count", Fired: new(false)}},
		},
		{
			name: "a server that is called", keys: "silent: [mcp__shop__count]", variant: "own", outcome: result.Fail,
			bodies:      []trajectory.Body{trajectory.MCPCall{Server: "shop", Method: "tools/call", Tool: "count"}},
			reason:      "tool mcp__shop__count is silent: the agent used it",
			activations: []result.Activation{{Name: "mcp__shop__count", Fired: new(true)}},
		},
		{
			name: "which skill is not said", keys: "silent: [pdf]", variant: "gemini", outcome: result.Error,
			bodies: []trajectory.Body{trajectory.ToolStart{Name: "activate_skill", Title: "Skill"}},
			reason: "whether skill pdf is silent: cannot measure: " +
				"call 1 of the session, activate_skill, does not say which skill it loads",
			activations: []result.Activation{{Name: "pdf"}},
		},
		{
			name: "tools are not shown", keys: "silent: [pdf]", variant: "fake", outcome: result.Error,
			bodies: []trajectory.Body{trajectory.FileWrite{Path: "a.txt"}},
			reason: "whether skill pdf is silent: cannot measure: " +
				"the session shows no tool call, although the agent had its client write a.txt",
			activations: []result.Activation{{Name: "pdf"}},
		},
		{
			name: "a call by its title alone", keys: "silent: [web_search]", variant: "codex", outcome: result.Error,
			bodies: []trajectory.Body{trajectory.ToolStart{Name: "Looks around"}},
			reason: "whether tool web_search is silent: cannot measure: " +
				"call 1 of the session, \"Looks around\", may be of any tool",
			activations: []result.Activation{{Name: "web_search"}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := judge(t, load(t, tt.keys), tt.variant, tt.bodies...)
			assert.Equal(t, tt.outcome, v.Outcome)
			assert.Equal(t, tt.reason, v.Reason)
			assert.Equal(t, tt.activations, v.Activations)
		})
	}
}

// TestSure has verdicts that are sure before the session has ended, by the same rule as those at its end, and what is
// said of sessions that end then.
func TestSure(t *testing.T) {
	skill := func(name string) trajectory.Body {
		return trajectory.ToolStart{Name: "Skill", Args: args{"skill": name}}
	}
	unsaid := trajectory.ToolStart{Name: "Skill"}
	for _, tt := range []struct {
		name, keys string
		bodies     []trajectory.Body
		sure       int // with which of them, from 1; 0: with none
		outcome    result.Outcome
		reason     string
		fired      []any // nil: nobody knows
	}{
		{
			"it fires", "fires: [pdf]",
			[]trajectory.Body{skill("xls"), unsaid, skill("pdf")},
			3, result.Pass, "",
			[]any{true},
		},
		{
			"in a shell", "fires: [pdf]",
			[]trajectory.Body{trajectory.ToolStart{
				Name: "Bash", Kind: "execute", Args: args{"command": "cat .claude/skills/pdf/SKILL.md"},
			}},
			1, result.Pass, "",
			[]any{true},
		},
		{
			"all fire", "fires: [pdf, xls]",
			[]trajectory.Body{skill("pdf"), skill("xls")},
			2, result.Pass, "",
			[]any{true, true},
		},
		{
			"it is not silent", "silent: [pdf, xls]",
			[]trajectory.Body{skill("pdf")},
			1, result.Fail,
			"skill pdf is silent: the agent used it",
			[]any{true, nil},
		},
		{
			"one fires, and the other may", "fires: [pdf], silent: [xls]",
			[]trajectory.Body{skill("pdf")},
			0,
			result.Error, "the session ended once something else was sure (limits.until): record it anew",
			[]any{true, nil},
		},
		{
			"the other fires", "fires: [pdf], silent: [xls]",
			[]trajectory.Body{skill("xls")},
			1, result.Fail,
			"skill xls is silent: the agent used it",
			[]any{nil, true},
		},
		{
			"it does not fire", "fires: [pdf]",
			[]trajectory.Body{skill("xls"), unsaid},
			0, result.Error,
			"the session ended once something else was sure (limits.until): record it anew",
			[]any{nil},
		},
		{
			"a server's tool", "fires: [mcp__shop__count]",
			[]trajectory.Body{trajectory.MCPCall{Server: "shop", Method: "tools/call", Tool: "count"}},
			1, result.Pass,
			"",
			[]any{true},
		},
		{
			"one of two is enough", "evaluators: [{type: activation, fires: [pdf, xls], threshold: 0.5}]",
			[]trajectory.Body{skill("xls")},
			1, result.Pass,
			"",
			[]any{nil, true},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pb := load(t, tt.keys)
			pb.Limits.Until = plan.UntilDecided
			planned, err := pb.Plan()
			require.NoError(t, err)
			ofClaude := func(u plan.Unit) bool { return u.Variant.ID == "claude" }
			unit := planned.Units[slices.IndexFunc(planned.Units, ofClaude)]
			require.NotEmpty(t, unit.Awaits())
			sure, watch := 0, unit.Watch()
			for i, b := range tt.bodies {
				if watch(b) && sure == 0 {
					sure = i + 1
				}
			}
			require.Equal(t, tt.sure, sure)
			v := judge(t, pb, "claude", append(tt.bodies, trajectory.Stop{Reason: result.StopDecided})...)
			require.Equal(t, tt.outcome, v.Outcome)
			require.Equal(t, tt.reason, v.Reason)
			var fired []any
			for _, a := range v.Activations {
				if a.Fired == nil {
					fired = append(fired, nil)
				} else {
					fired = append(fired, *a.Fired)
				}
			}
			require.Equal(t, tt.fired, fired)
		})
	}
	lines := load(t, "fires: [pdf], evaluators: [{type: activation, name: b, silent: [xls], threshold: 0.5}]")
	planned, err := lines.Plan()
	require.NoError(t, err)
	require.Equal(t, []string{"skill xls is silent (threshold 0.5)", "skill pdf fires"}, planned.Units[0].Awaits())
}

// TestAsked has a case that asks nothing else not run where nothing could be used.
func TestAsked(t *testing.T) {
	asked := func(keys string) int {
		p, err := load(t, keys).Plan()
		require.NoError(t, err)
		return len(p.Units)
	}
	assert.Equal(t, 9, asked("fires: [pdf]"), "all but bare; of own nobody knows")
	assert.Equal(t, 10, asked("fires: [mcp__shop__count]"))
}

// TestAskedArms has references run beside what they are compared with, and arms where they have what is asked for.
func TestAskedArms(t *testing.T) {
	for keys, want := range map[string][]string{
		"":                      {"a", "b"}, // b alone could fail nothing
		"ablate: prompt_prefix": {"a", "a-without-prompt_prefix", "b"},
		"mcp: [{name: shop, command: [shop]}]\nablate: all": {"a", "a-without-prompt_prefix", "b"},
	} {
		tool := "mcp__own__count"
		if strings.HasPrefix(keys, "mcp") {
			tool = "mcp__shop__count"
		}
		p, err := plan.Parse("p.yaml", []byte(keys+`
cases: [{id: one, prompt: p, fires: [`+tool+`]}]
variants:
  a: {agent: {kind: fake-acp}, prompt_prefix: Well}
  b: {reference: true, agent: {kind: fake-acp}, mcp: [{name: own, command: [own]}]}
workflow:
  jobs:
    j:
      strategy: {matrix: {variant: [a, b]}}
      steps: [{uses: "builtin:sdd-eval/workspace.prepare"}, {uses: "builtin:sdd-eval/acp.prompt"}]
`), plan.Kinds{"activation": activation.Kind()})
		require.NoError(t, err)
		planned, err := p.Plan()
		require.NoError(t, err)
		var ids []string
		for _, u := range planned.Units {
			ids = append(ids, u.Variant.ID)
		}
		assert.Equal(t, want, ids, keys)
	}
}
