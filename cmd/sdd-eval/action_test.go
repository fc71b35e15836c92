//go:build unix

package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/sdd-eval/sdd-eval/internal/engine"
)

// job is a job of GitHub Actions that uses our action.yml, with programs in place of those that reach the network.
type job struct {
	t              *testing.T
	dir, temporary string            // the workspace and RUNNER_TEMP
	values         map[string]string // of expressions
	path           string
	said           bytes.Buffer
}

// actionPlaybook passes if the scripted agent says yes.
const actionPlaybook = `name: shop
task: {prompt: Do it.}
variants: {a: {agent: {kind: fake-acp, args: [agent.json]}}}
workflow:
  jobs:
    eval:
      strategy: {matrix: {variant: [a]}}
      steps: [{uses: builtin:sdd-eval/acp.prompt}]
evaluators: [{name: says-yes, type: files, expect: [{path: answer.txt, contains: "yes"}]}]
`

// fakes note what they are told. gh lists the comments that the file "comments" has, and fails without it; go installs
// the command that was built.
var fakes = map[string]string{
	"gh": `[ -f comments ] || exit 1
case $* in *--paginate*) cat comments ;; *) last=${!#}; cp "${last#body=@}" body ;; esac`,
	"go":  `mkdir -p "$GOBIN" && ln -s "$BUILT/sdd-eval" "$GOBIN"`,
	"npm": ``,
}

// TestAction carries action.yml out as GitHub does: a run that did not pass is red, whatever is written about it, and
// the pull request has one comment.
func TestAction(t *testing.T) {
	t.Parallel()
	const run = "sdd-eval run p.yaml"
	const posted = "--method POST repos/o/r/issues/7/comments"
	tests := []struct {
		name, answer, run, comments string
		skill                       string // its directory
		changes                     bool   // since it was recorded
		values                      map[string]string
		green                       bool
		called, body, said, summary string
	}{
		{name: "green", answer: "yes", run: run, green: true, called: posted, body: "✅ passed at head (["},
		{
			name: "red again", answer: "no", run: run, comments: "12\n13\n",
			called: "--method PATCH repos/o/r/issues/comments/12", body: "❌ did not pass at head", said: "::error ",
		},
		{name: "hidden", answer: "no", run: run + " || :", called: posted, body: "❌ did not pass", said: "::error "},
		{name: "crash", answer: "yes", run: run + "; exit 5", called: posted, body: "❌ did not pass at head"},
		{name: "nothing", run: "true", called: posted, body: "No run was written.", said: "::error::sdd-eval: no run"},
		{
			name: "not installed", run: run, values: map[string]string{"inputs.install": "brew"}, called: posted,
			body: "❌ did not pass", said: "::error::sdd-eval: install is go, npm or none, not brew",
		},
		{
			name: "npm", run: "true", values: map[string]string{"inputs.install": "npm"},
			called: "npm install --global sdd-eval@" + engine.Version + "\n", body: "No run was written.",
		},
		{name: "fork", answer: "yes", run: run, comments: "-", green: true, said: "::warning::sdd-eval: the comment"},
		{
			name: "no pull request", answer: "yes", run: run, green: true, called: "go install ./cmd/sdd-eval\n",
			values: map[string]string{"inputs.comment == 'true' && github.event.pull_request.number || ''": ""},
		},
		{
			name: "skill", skill: "fixtures/skills/release-notes", green: true, called: posted,
			body: "✅ passed at head ([", summary: ": 18 checks as before\n```\n",
		},
		{
			name: "skill that fails as its baseline says", skill: "fixtures/skills/iso-dates", green: true,
			called: posted, body: "✅ passed at head ([", summary: ": 12 checks as before\n",
		},
		{
			name: "skill that a fork changed", skill: "fixtures/skills/release-notes", changes: true, comments: "-",
			said: "::warning::sdd-eval: the comment", summary: "are stale or missing: a maintainer records them\n" +
				"next: sdd-eval skill fixtures/skills/release-notes --case eval-1,eval-2,eval-3\n```\n",
		},
		{
			name: "long", run: "mkdir -p .llman/sdd-eval/runs/x; seq 20000 >.llman/sdd-eval/runs/x/report.md",
			called: posted, body: "\n\n1\n\nToo long for a comment",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			j := newJob(t, tt.answer)
			j.values["inputs.run"] = tt.run
			if tt.skill != "" {
				j.bring(tt.skill, tt.changes)
			}
			maps.Copy(j.values, tt.values)
			if tt.comments != "-" {
				require.NoError(t, os.WriteFile(filepath.Join(j.dir, "comments"), []byte(tt.comments), 0o644))
			}
			require.Equal(t, tt.green, j.use(), j.said.String())
			require.Contains(t, j.said.String(), tt.said)
			called, _ := os.ReadFile(filepath.Join(j.dir, "called"))
			require.Contains(t, string(called), tt.called)
			summary, _ := os.ReadFile(filepath.Join(j.temporary, "summary.md"))
			require.Contains(t, string(summary), tt.summary)
			if tt.body == "" {
				require.NoFileExists(t, filepath.Join(j.dir, "body"))
				return
			}
			body, err := os.ReadFile(filepath.Join(j.dir, "body"))
			require.NoError(t, err)
			require.True(t, bytes.HasPrefix(body, []byte("<!-- sdd-eval evals -->\n**evals** ")), "%s", body)
			require.Contains(t, string(body), tt.body)
		})
	}
}

func newJob(t *testing.T, answer string) *job {
	j := &job{t: t, dir: project(t, actionPlaybook), temporary: t.TempDir(), values: map[string]string{
		"inputs.skill == 'true' && inputs.skill-dir || ''": "",
		"inputs.install": "go", "inputs.name": "evals", "inputs.working-directory": ".", "github.token": "sk-test-1",
		"github.event.pull_request.head.repo.fork && '1' || '0'":             "0",
		"inputs.comment == 'true' && github.event.pull_request.number || ''": "7",
		"github.event.pull_request.head.sha":                                 "head",
	}}
	require.NoError(t, os.WriteFile(filepath.Join(j.dir, "agent.json"), fmt.Appendf(nil,
		`{"turns": [{"actions": [{"disk_write": {"path": "answer.txt", "text": %q}}]}]}`, answer), 0o644))
	programs := t.TempDir()
	for name, script := range fakes {
		script = fmt.Sprintf("#!/usr/bin/env bash\necho \"%s $*\" >>'%s/called'\n%s\n", name, j.dir, script)
		require.NoError(t, os.WriteFile(filepath.Join(programs, name), []byte(script), 0o755))
	}
	j.path = programs + string(os.PathListSeparator) + os.Getenv("PATH")
	return j
}

// bring puts a skill of ours into the workspace, which becomes a repository, and has the job replay its evals.
func (j *job) bring(skill string, changed bool) {
	to := filepath.Join(j.dir, skill)
	require.NoError(j.t, os.CopyFS(to, os.DirFS(filepath.Join(root, skill))))
	require.NoError(j.t, exec.Command("git", "init", "--quiet", j.dir).Run())
	if changed {
		text := "---\nname: " + filepath.Base(skill) + "\ndescription: d\n---\n"
		require.NoError(j.t, os.WriteFile(filepath.Join(to, "SKILL.md"), []byte(text), 0o600))
	}
	j.values["inputs.skill == 'true' && inputs.skill-dir || ''"] = skill
}

// use carries the action's steps out, and reports whether the job is green.
func (j *job) use() bool {
	var action struct {
		Name, Description string
		Inputs            map[string]struct{ Description, Default string }
		Runs              struct {
			Using string
			Steps []struct {
				ID, If, Uses, Shell, Run string
				Dir                      string `yaml:"working-directory"`
				With, Env                map[string]string
			}
		}
	}
	text, err := os.ReadFile(filepath.Join(root, "action.yml"))
	require.NoError(j.t, err)
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	require.NoError(j.t, decoder.Decode(&action))
	for name := range action.Inputs {
		require.Contains(j.t, string(text), "inputs."+name, "an input that nothing reads")
	}
	j.values["steps.run.outcome"] = "skipped"
	green, uploaded := true, false
	for _, step := range action.Runs.Steps {
		if require.Contains(j.t, []string{"", "always()"}, step.If); !green && step.If == "" {
			continue
		}
		if step.Uses != "" {
			uploaded = strings.HasPrefix(step.Uses, "actions/upload-artifact@")
			continue
		}
		require.Equal(j.t, "bash", step.Shell)
		ok := j.step(step.Run, step.Env)
		if green = green && ok; step.ID != "" {
			j.values["steps."+step.ID+".outcome"] = map[bool]string{true: "success", false: "failure"}[ok]
		}
	}
	require.True(j.t, uploaded)
	return green
}

// step runs a line as GitHub's shell "bash" does, and reports whether it succeeded.
func (j *job) step(line string, env map[string]string) bool {
	action, err := filepath.Abs(root)
	require.NoError(j.t, err)
	added := filepath.Join(j.temporary, "path")
	c := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", line)
	c.Dir, c.Stdout, c.Stderr = j.dir, &j.said, &j.said
	c.Env = append(os.Environ(), "EVALTEST_SANDBOX=none", "CI=true", "BUILT="+bin, "PATH="+j.path, "RUNNER_OS=macOS",
		"RUNNER_TEMP="+j.temporary, "GITHUB_PATH="+added, "GITHUB_ACTION_PATH="+action, "GITHUB_WORKSPACE="+j.dir,
		"GITHUB_SERVER_URL=https://github.com", "GITHUB_REPOSITORY=o/r", "GITHUB_RUN_ID=1", "GITHUB_SHA=merge",
		"GITHUB_STEP_SUMMARY="+filepath.Join(j.temporary, "summary.md"), "CLAUDE_PROJECT_DIR="+j.dir)
	expression := regexp.MustCompile(`\$\{\{ (.*?) \}\}`)
	for name, value := range env {
		c.Env = append(c.Env, name+"="+expression.ReplaceAllStringFunc(value, func(e string) string {
			e = expression.FindStringSubmatch(e)[1]
			require.Contains(j.t, j.values, e)
			return j.values[e]
		}))
	}
	err = c.Run()
	if dir, _ := os.ReadFile(added); len(dir) > 0 {
		j.path = strings.TrimSpace(string(dir)) + string(os.PathListSeparator) + j.path
		require.NoError(j.t, os.Remove(added))
	}
	return err == nil
}
