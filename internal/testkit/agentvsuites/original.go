package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// original runs suites with AgentV: the answers are those of the scripted agent, and the model that judges is the same.
type original struct {
	command []string
	out     string
	env     []string
}

// answer is what the scripted agent says and does, as AgentV's provider of commands reads it.
const answer = `{"output": [{"role": "assistant", "content": "I look first.", "tool_calls": [
	{"tool": "Read", "input": {"path": "README.md"}}, {"tool": "Write", "input": {"path": "hello.txt"}}]},
	{"role": "assistant", "content": "Hello, here is what you asked for: 4."}],
	"token_usage": {"input": 120, "output": 30}, "cost_usd": 0.01}
`

func newOriginal(command []string, model, out string, env []string) (original, error) {
	o := original{command, filepath.Join(out, "agentv"), append(env, "AGENTV_NO_UPDATE_CHECK=1", "CI=true")}
	if len(command) == 0 {
		return o, nil
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return o, err
	}
	said := filepath.Join(o.out, "answer.json")
	if err := os.WriteFile(said, []byte(answer), 0o600); err != nil {
		return o, err
	}
	providers, err := json.Marshal(map[string]any{"providers": []any{
		map[string]any{
			"id": "cli", "label": "scripted", "grader_target": "grader",
			"command": "printf Hello. >hello.txt; cp '" + said + "' {OUTPUT_FILE}",
		},
		map[string]any{
			"id": "openai:scripted", "label": "grader", "base_url": model + "/v1", "api_format": "chat",
			"api_key": "{{ env.OPENAI_API_KEY }}",
		},
	}})
	if err != nil {
		return o, err
	}
	return o, os.WriteFile(filepath.Join(o.out, "providers.yaml"), providers, 0o600)
}

// run returns how the tests of a suite ended by AgentV, by the test. A test passes if each of its graders does: AgentV
// itself goes by their mean. If one ends in an error, there are no verdicts but the reason.
func (o original) run(suite string) (ended map[string]string, why string) {
	if len(o.command) == 0 {
		return nil, ""
	}
	run := filepath.Join(o.out, "run")
	if err := os.RemoveAll(run); err != nil {
		return nil, err.Error()
	}
	made := filepath.Join(filepath.Dir(suite), "hello.txt")
	if _, err := os.Lstat(made); err != nil {
		defer os.Remove(made)
	}
	cmd := exec.Command(o.command[0], append(o.command[1:], "eval", "run", suite, "--provider", "scripted",
		"--providers", filepath.Join(o.out, "providers.yaml"), "--grader-provider", "grader", "--output", run,
		"--no-cache", "--no-results-push", "--max-retries", "0")...)
	var text bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = filepath.Dir(o.out), o.env, &text, &text
	ran := cmd.Run()
	data, err := os.ReadFile(filepath.Join(run, ".internal", "index.jsonl"))
	if err != nil {
		return nil, cell(text.String())
	}
	if ended, why, err = verdicts(data); err != nil {
		return nil, cell(err.Error())
	}
	if len(ended) == 0 && why == "" {
		why = cell(fmt.Sprint(ran, " ", text.String()))
	}
	return ended, why
}

// verdicts reads the results of AgentV.
func verdicts(index []byte) (ended map[string]string, why string, err error) {
	ended = make(map[string]string)
	lines := bufio.NewScanner(bytes.NewReader(index))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var row struct {
			ID     string `json:"test_id"`
			Status string `json:"execution_status"`
			Error  string
			Scores []struct {
				Name   string
				Pass   bool
				Reason string
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			return nil, "", err
		}
		outcome := "pass"
		for _, score := range row.Scores {
			if !score.Pass {
				outcome = "fail"
			}
			// AgentV counts what broke as the agent's failure.
			if broke.MatchString(score.Reason) {
				row.Error = score.Name + ": " + score.Reason
			}
		}
		if row.Error != "" || row.Status == "execution_error" || len(row.Scores) == 0 {
			why = cell(row.ID + ": " + row.Error)
		}
		worst(ended, row.ID, outcome)
	}
	if why != "" {
		return nil, why, lines.Err()
	}
	return ended, "", lines.Err()
}

var broke = regexp.MustCompile(`^(Script evaluator failed|Provider error|Grader parse failure)\b`)

// join returns how the tests that AgentV judged ended here: those of several prompts have one name there. More are the
// cases that AgentV passes over.
func join(ours, theirs map[string]string) (joined map[string]string, more int) {
	joined = make(map[string]string)
	for id, outcome := range ours {
		of := id
		for name := range theirs {
			if _, own := theirs[id]; !own && strings.HasPrefix(id, name+"-") && (of == id || len(name) > len(of)) {
				of = name
			}
		}
		if theirs[of] == "" {
			more++
			continue
		}
		worst(joined, of, outcome)
	}
	return joined, more
}

// differences says which cases ended otherwise.
func differences(theirs, ours map[string]string) string {
	var shown []string
	for _, id := range slices.Sorted(maps.Keys(theirs)) {
		if theirs[id] != ours[id] {
			shown = append(shown, fmt.Sprintf("%s: %q, here %q", id, theirs[id], ours[id]))
		}
	}
	return cell(strings.Join(shown, "; "))
}

// rubricID matches the id of a rubric in a question of AgentV's, as JSON has the text.
var rubricID = regexp.MustCompile(`(?:- \[|### Criterion: )([^\]\s\\]+)`)

// inWords returns the best answer to a question that says in words which JSON it wants, as AgentV's do.
func inWords(question string) string {
	checks := []any{}
	seen := make(map[string]bool)
	for _, m := range rubricID.FindAllStringSubmatch(question, -1) {
		if check := map[string]any{"id": m[1], "reasoning": "scripted"}; !seen[m[1]] {
			seen[m[1]] = true
			switch {
			case strings.Contains(question, "score ranges"):
				check["score"] = 10
			case strings.Contains(question, `satisfied\"`):
				check["satisfied"] = true
			default:
				check["pass"], check["reason"] = true, "scripted"
			}
			checks = append(checks, check)
		}
	}
	text, _ := json.Marshal(map[string]any{
		"pass": true, "score": 1, "reason": "scripted", "reasoning": "scripted", "overall_reasoning": "scripted",
		"checks": checks,
	})
	return string(text)
}

// stream answers in the one event that the answer fits into.
func stream(w http.ResponseWriter, model, said string) {
	w.Header().Set("Content-Type", "text/event-stream")
	event := func(delta map[string]any, finish any) {
		data, _ := json.Marshal(map[string]any{
			"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": model,
			"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}},
		})
		fmt.Fprintf(w, "data: %s\n\n", data)
	}
	event(map[string]any{"role": "assistant", "content": said}, nil)
	event(map[string]any{}, "stop")
	fmt.Fprint(w, "data: [DONE]\n\n")
}
