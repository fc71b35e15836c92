// Command agentvsuites converts the suites of AgentV below a directory, runs those that load with a scripted agent and
// a scripted model that judges, and prints what became of each. It tells whether suites run to a verdict, not how good
// an agent is. With a command that runs AgentV itself it says which verdicts are the same.
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

func main() {
	command := pflag.String("sdd-eval", "sdd-eval", "the command")
	run := pflag.Bool("run", false, "run the suites that load")
	original := pflag.String("agentv", "", "run AgentV, too, by this command, and compare the verdicts")
	pflag.Parse()
	if pflag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "agentvsuites: name the directory of the suites")
		os.Exit(2)
	}
	if err := report(*command, pflag.Arg(0), *run, strings.Fields(*original)); err != nil {
		fmt.Fprintln(os.Stderr, "agentvsuites:", err)
		os.Exit(1)
	}
}

var isSuite = regexp.MustCompile(`(?m)^(tests|evalcases):`)

// suites returns the suites below a directory.
func suites(dir string) (all []string, err error) {
	err = filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{"node_modules", ".git", written}, d.Name()):
			return filepath.SkipDir
		case filepath.Ext(file) != ".yaml" || !d.Type().IsRegular():
			return nil
		}
		data, err := os.ReadFile(file)
		if isSuite.Match(data) {
			all = append(all, file)
		}
		return err
	})
	return all, err
}

// written is the directory, below that of the suites, of the eval files.
const written = ".sdd-eval-suites"

func report(command, dir string, run bool, agentv []string) error {
	command, err := filepath.Abs(command)
	if err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	all, err := suites(dir)
	if err != nil {
		return err
	}
	model := httptest.NewServer(http.HandlerFunc(agree))
	defer model.Close()
	r := runner{command: command, dir: dir, env: append(os.Environ(),
		"OPENAI_API_KEY=none", "OPENAI_BASE_URL="+model.URL+"/v1", "EVAL_LLM_JUDGE=1", "EVALTEST_SANDBOX=none",
		// what the README of features/env-interpolation has one set
		"EVAL_ASSERTION=Responds with a friendly greeting", "EXPECTED_GREETING=Hello",
		"CUSTOM_SYSTEM_PROMPT=You greet warmly.",
	)}
	out := filepath.Join(dir, written)
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, "agent.json"), []byte(script), 0o600); err != nil {
		return err
	}
	o, err := newOriginal(agentv, model.URL, out, r.env)
	if err != nil {
		return err
	}
	loaded, ran, judged, agreed := 0, 0, 0, 0
	for i, file := range all {
		name, _ := filepath.Rel(dir, file)
		own := filepath.Join(out, fmt.Sprintf("suite-%d", i+1))
		theirs, reason := o.run(file)
		if len(theirs) > 0 {
			judged++
		}
		switch why := r.convert(file, own); {
		case why != "":
			fmt.Printf("| %s | no | | %s | %s | %s |\n", name, why, counts(theirs), reason)
		case !run:
			loaded++
			fmt.Printf("| %s | yes | | | | |\n", name)
		default:
			loaded++
			ours, why := r.run(own)
			if why == "" {
				ran++
			}
			joined, more := join(ours, theirs)
			if len(theirs) > 0 && maps.Equal(theirs, joined) {
				agreed++
				reason = fmt.Sprintf("the same; passed over there: %d", more)
			} else if len(theirs) > 0 {
				reason = differences(theirs, joined)
			}
			fmt.Printf("| %s | yes | %s | %s | %s | %s |\n", name, counts(ours), why, counts(theirs), reason)
		}
	}
	fmt.Printf("\n%d of %d load", loaded, len(all))
	if run {
		fmt.Printf(", %d run to verdicts", ran)
	}
	if len(agentv) > 0 {
		fmt.Printf(". AgentV runs %d to verdicts, %d of them with the same ones here", judged, agreed)
	}
	fmt.Println()
	return nil
}

// script is the agent's: it reads and writes a file, says something, and reports what that took.
const script = `{"repeat": true, "turns": [{"actions": [
	{"say": {"text": "I look first."}},
	{"tool": {"name": "Read", "kind": "read", "title": "Read README.md", "input": {"path": "README.md"},
		"do": [{"read": {"path": "README.md", "optional": true}}]}},
	{"tool": {"name": "Write", "kind": "edit", "title": "Write hello.txt", "input": {"path": "hello.txt"},
		"do": [{"write": {"path": "hello.txt", "text": "Hello."}}]}},
	{"usage": {"used": 100, "size": 1000, "cost_usd": 0.01}},
	{"say": {"text": "Hello, here is what you asked for: 4."}}
], "tokens": {"input": 120, "output": 30, "total": 150}}]}
`

type runner struct {
	command, dir string
	env          []string
}

func (r runner) do(args ...string) (string, error) {
	cmd := exec.Command(r.command, args...)
	cmd.Dir, cmd.Env = r.dir, r.env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// convert returns why a suite does not load; empty: it does.
func (r runner) convert(file, out string) string {
	text, err := r.do("convert", "--from", "agentv", file, "--agent", "fake-acp", "--out", out)
	if err == nil {
		return ""
	}
	var why []string
	name, _ := filepath.Rel(r.dir, file)
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if problem := problemLine.MatchString(line); problem && !strings.HasPrefix(line, "note: ") {
			why = append(why, cell(strings.TrimPrefix(line, filepath.Dir(name)+"/")))
		}
	}
	return cmp.Or(strings.Join(slices.Compact(why), "; "), cell(text))
}

var problemLine = regexp.MustCompile(`\.(?:yaml|csv|jsonl|json):\d+`)

var (
	outcome = regexp.MustCompile(`(?m)^(pass|fail|error|skip) (\S+)`)
	reason  = regexp.MustCompile(`(?m)^error .*\n((?:  .*\n)*)`)
	place   = regexp.MustCompile(`^\S+:\d+: `)
)

// run returns how the units of a suite ended, by the case, and why some have no verdict.
func (r runner) run(dir string) (ended map[string]string, why string) {
	files, _ := filepath.Glob(filepath.Join(dir, "*.eval.yaml"))
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err.Error()
		}
		text := strings.Replace(string(data), "kind: fake-acp\n", "kind: fake-acp\n      args: [../agent.json]\n", 1)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return nil, err.Error()
		}
	}
	text, _ := r.do(append([]string{"run", "--mode", "live"}, files...)...)
	ended = make(map[string]string)
	for _, m := range outcome.FindAllStringSubmatch(text, -1) {
		worst(ended, strings.Split(m[2], "/")[1], m[1])
	}
	reasons := make(map[string]bool)
	for _, m := range reason.FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(m[1]) {
			reasons[cell(place.ReplaceAllString(strings.TrimSpace(line), ""))] = true
		}
	}
	unknown := slices.ContainsFunc(slices.Collect(maps.Values(ended)), func(o string) bool {
		return o == "error" || o == "skip"
	})
	if len(ended) == 0 || unknown && len(reasons) == 0 {
		reasons[cell(text)] = true
	}
	return ended, strings.Join(slices.Sorted(maps.Keys(reasons)), "; ")
}

// worst notes how a case ended: the worst of its trials counts.
func worst(ended map[string]string, id, outcome string) {
	order := []string{"", "pass", "skip", "fail", "error"}
	id = strings.ToLower(unusual.ReplaceAllString(id, "-"))
	if slices.Index(order, outcome) > slices.Index(order, ended[id]) {
		ended[id] = outcome
	}
}

var unusual = regexp.MustCompile(`[^a-zA-Z0-9]+`)

// counts says how many cases ended how.
func counts(ended map[string]string) string {
	seen := make(map[string]int)
	for _, o := range ended {
		seen[o]++
	}
	var shown []string
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		shown = append(shown, fmt.Sprintf("%d %s", seen[name], name))
	}
	return strings.Join(shown, ", ")
}

// cell returns a text as a table has it.
func cell(text string) string {
	text = strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", "/")
	return text[:min(len(text), 300)]
}

// agree answers a question of a judge with the best that its schema allows.
func agree(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Model  string
		Stream bool
		Format struct {
			Schema struct {
				Schema map[string]any `json:"schema"`
			} `json:"json_schema"`
		} `json:"response_format"`
	}
	data, err := io.ReadAll(io.LimitReader(r.Body, 16<<20))
	if err == nil {
		err = json.Unmarshal(data, &q)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	said := inWords(string(data)) // no schema: a script asks, or AgentV
	if q.Format.Schema.Schema != nil {
		text, err := json.Marshal(best(q.Format.Schema.Schema))
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		said = string(text)
	}
	if q.Stream {
		stream(w, q.Model, said)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{
		"id": "chatcmpl-1", "object": "chat.completion", "model": q.Model,
		"choices": []any{map[string]any{
			"index": 0, "finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": said},
		}},
		"usage": map[string]int{"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
	})
}

// best returns a value of a schema.
func best(schema map[string]any) any {
	if list, ok := schema["enum"].([]any); ok && len(list) > 0 {
		return list[len(list)-1]
	}
	switch schema["type"] {
	case "object":
		all := make(map[string]any)
		properties, _ := schema["properties"].(map[string]any)
		for name, of := range properties {
			if of, ok := of.(map[string]any); ok {
				all[name] = best(of)
			}
		}
		return all
	case "array":
		items, _ := schema["items"].(map[string]any)
		return each(items)
	case "boolean":
		return true
	case "number", "integer":
		return cmp.Or(schema["maximum"], any(1))
	default:
		return "scripted"
	}
}

// each returns an element of a list for each id that the schema of its elements names.
func each(items map[string]any) []any {
	all := []any{}
	kinds, _ := items["anyOf"].([]any)
	for _, kind := range append(kinds, items) {
		kind, _ := kind.(map[string]any)
		properties, _ := kind["properties"].(map[string]any)
		id, _ := properties["id"].(map[string]any)
		names, _ := id["enum"].([]any)
		for _, name := range names {
			if element, ok := best(kind).(map[string]any); ok {
				element["id"] = name
				all = append(all, element)
			}
		}
	}
	return all
}
