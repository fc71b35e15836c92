package llmjudge_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/llmjudge"
	"github.com/sdd-eval/sdd-eval/internal/llm"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/script"
)

// server is an OpenAI-compatible server on loopback.
type server struct {
	*llm.Client
	mu    sync.Mutex
	asked []question
}

// question is what the server was asked.
type question struct {
	Model    string
	Messages []struct{ Role, Content string }
	Format   json.RawMessage `json:"response_format"`
}

func (q question) system() string { return q.Messages[0].Content }
func (q question) user() string   { return q.Messages[1].Content }

// newServer returns a server that gives the replies in order for each model, the last one again and again.
func newServer(t *testing.T, replies map[string][]string) *server {
	t.Helper()
	s := new(server)
	given := make(map[string]int)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q question
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Error(err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.asked = append(s.asked, q)
		all := replies[q.Model]
		n := min(given[q.Model], len(all)-1)
		given[q.Model]++
		_ = json.NewEncoder(w).Encode(map[string]any{
			"model": q.Model,
			"choices": []any{
				map[string]any{
					"finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": all[n]},
				},
			},
		})
	}))
	t.Cleanup(h.Close)
	s.Client = llm.New(llm.Config{BaseURL: h.URL + "/v1"})
	return s
}

// saying returns a server whose model "judge" always gives this reply.
func saying(t *testing.T, reply string) *server {
	t.Helper()
	return newServer(t, map[string][]string{"judge": {reply}})
}

// unit is the unit of the case table.
func unit(s *server) evaluator.Input {
	call := func(turn int, at time.Duration, id, tool string, args map[string]any,
		took time.Duration,
	) []trajectory.Event {
		return []trajectory.Event{
			{Turn: turn, At: at, Body: trajectory.ToolStart{ID: id, Name: tool, Args: args}},
			{Turn: turn, At: at + took, Body: trajectory.ToolEnd{ID: id, Status: trajectory.Completed}},
		}
	}
	run := &trajectory.Run{Events: []trajectory.Event{{Turn: 1, Body: trajectory.Prompt{Text: "What is 2+2?"}}}}
	run.Events = append(run.Events,
		call(1, 0, "a", "search", map[string]any{"query": "weather Paris", "limit": 10}, 45*time.Millisecond)...)
	run.Events = append(run.Events, call(1, time.Second, "b", "get_weather",
		map[string]any{"location": "Paris", "unitSystem": "metric"}, 120*time.Millisecond)...)
	run.Events = append(run.Events, trajectory.Event{
		Turn: 1, At: 1500 * time.Millisecond, Body: trajectory.Message{Text: "The answer is 4"},
	})
	in := evaluator.Input{
		Unit: "p/c/v/1", Run: run,
		Changes: func(context.Context) (string, error) { return "", nil },
		Case: plan.Case{
			ID: "c", Prompt: "What is 2+2?", Prompts: []string{"What is 2+2?"}, ReferenceAnswer: "The sum is 4",
		},
	}
	if s != nil {
		in.Models = s
	}
	return in
}

// runner runs scripts of the project that dir is in, unconfined.
func runner(t *testing.T, root string) *script.Runner {
	t.Helper()
	sandbox, err := confine.New(confine.None, nil)
	require.NoError(t, err)
	return &script.Runner{Sandbox: sandbox, Environ: os.Environ(), Root: root, TempDir: t.TempDir()}
}

// project is a directory with files, in which evals/p.yaml is the playbook.
type project string

func newProject(t *testing.T, files map[string]string) project {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return project(root)
}

// load decodes an evaluator whose own keys are given, without indentation.
func (p project) load(keys string) (plan.Evaluator, error) {
	pb, err := p.playbook("type: llm_judge\n"+keys, plan.Kinds{"llm_judge": llmjudge.Kind()})
	if err != nil {
		return plan.Evaluator{}, err
	}
	return pb.Evaluators[0], nil
}

func (p project) playbook(evaluator string, kinds plan.Kinds) (*plan.Playbook, error) {
	text := `task: {title: t, prompt: p}
variants: {v: {style: sdd, agent: {kind: acp, command: agent}}}
workflow: {jobs: {j: {strategy: {matrix: {variant: [v]}}, steps: [{uses: builtin:sdd-eval/acp.prompt}]}}}
evaluators:
  - ` + strings.ReplaceAll(strings.TrimSpace(evaluator), "\n", "\n    ") + "\n"
	return plan.Read(plan.Source{
		Path: filepath.Join(string(p), "evals", "p.yaml"), Name: "p.yaml", Root: string(p), Data: []byte(text),
	}, kinds)
}

func (p project) mustLoad(t *testing.T, keys string) plan.Evaluator {
	t.Helper()
	e, err := p.load(keys)
	require.NoError(t, err)
	return e
}

// verdict judges the unit of the case table.
func (p project) verdict(t *testing.T, keys string, s *server) evaluator.Verdict {
	t.Helper()
	in := unit(s)
	in.Workspace, in.Scripts = t.TempDir(), runner(t, string(p))
	return evaluator.Judge(t.Context(), p.mustLoad(t, keys), in)
}
