// Package modelserver stands in for a language model in tests of real coding agents: an HTTP server on loopback that
// speaks Anthropic Messages, OpenAI Responses, OpenAI Chat Completions and Gemini's generateContent, and says what a
// script tells it to say. Model judges ask it too, by Chat Completions.
//
// It is a test double for the model, never for the agent: the agent's own loop, tools, permission questions and
// protocol are the real ones, which is what a cassette should record. The server never guesses. A request that no
// script answers is refused with a 4xx status that says why, and is kept for [Server.Err], so that a session that left
// its script cannot pass for a good one. Scripted agents are in acp/scripted, not here.
package modelserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/pelletier/go-toml/v2"
)

// maxRequest bounds the body of a request, in bytes. Agents send the whole conversation each time.
const maxRequest = 32 << 20

// maxErrors bounds how many errors are kept for [Server.Err].
const maxErrors = 20

// Server answers coding agents as its scripts say. It is an [http.Handler]; [Server.Start] makes it listen.
type Server struct {
	// Latency is how long the model thinks before it answers from a script. It must not be changed while requests are
	// served. Agents expect models to take a while: Codex reports the end of a command only some 150 ms after it has
	// asked the model what to do next, and never if the turn is over by then.
	Latency time.Duration
	// Pause is the time between two parts of a streamed answer, such as a text and a tool call. It must not be changed
	// while requests are served. If a text and the call after it arrive together, Claude's adapter reports them in
	// either order.
	Pause time.Duration

	model  Model
	mux    *http.ServeMux
	http   *http.Server
	served chan struct{} // closed when http has stopped

	mu      sync.Mutex
	errs    []error
	dropped int // errors beyond maxErrors
}

// New returns a server for the model. The error has everything in the model that is invalid.
func New(m Model) (*Server, error) {
	var errs []error
	for i, s := range m.Scripts {
		if s.Prompt == nil || s.Offers == "" || len(s.Turns) == 0 {
			errs = append(errs, fmt.Errorf("script %q: prompt, offers and turns are required", s.Name))
		}
		if slices.ContainsFunc(m.Scripts[:i], func(o Script) bool { return o.Name == s.Name }) {
			errs = append(errs, fmt.Errorf("duplicate script %q", s.Name))
		}
		s.check(func(path, format string, args ...any) {
			errs = append(errs, fmt.Errorf("script %q: %s: "+format, append([]any{s.Name, path}, args...)...))
		})
	}
	for i, j := range m.Judges {
		if j.Prompt == nil || j.Model == "" || j.Saw == nil || j.Say == nil {
			errs = append(errs, fmt.Errorf("judge %q: prompt, model, saw and say are required", j.Name))
		}
		if slices.ContainsFunc(m.Judges[:i], func(o Judge) bool { return o.Name == j.Name }) {
			errs = append(errs, fmt.Errorf("duplicate judge %q", j.Name))
		}
		j.check(func(path, format string, args ...any) {
			errs = append(errs, fmt.Errorf("judge %q: %s: "+format, append([]any{j.Name, path}, args...)...))
		})
	}
	if m.empty() {
		errs = append(errs, errors.New("no scripts"))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	s := &Server{model: m, mux: http.NewServeMux()}
	s.mux.HandleFunc("POST /v1/messages", s.serveMessages)
	s.mux.HandleFunc("POST /v1/messages/count_tokens", s.serveCountTokens)
	s.mux.HandleFunc("POST /v1/responses", s.serveResponses)
	s.mux.HandleFunc("POST /v1beta/models/{call}", s.serveGemini)
	s.mux.HandleFunc("POST /v1/chat/completions", s.serveChat)
	// Agents ask for lists of models and whether the server is up; they do not need an answer.
	s.mux.HandleFunc("GET /", http.NotFound)
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, r, http.StatusNotFound, errors.New("unknown address"))
	})
	return s, nil
}

// Start makes s listen on a free port of the loopback interface and returns its address, e.g.
// "http://127.0.0.1:41234". [Server.Close] must follow.
func (s *Server) Start() (address string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("start model server: %w", err)
	}
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 1 << 20}
	s.served = make(chan struct{})
	go func() {
		defer close(s.served)
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.keep(fmt.Errorf("serve: %w", err))
		}
	}()
	return "http://" + l.Addr().String(), nil
}

// Close stops a server that was started, and closes its connections.
func (s *Server) Close() error {
	err := s.http.Close()
	<-s.served
	return err
}

// Err returns what went wrong so far, nil if every request was answered from a script or was harmless.
func (s *Server) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := errors.Join(s.errs...)
	if s.dropped > 0 {
		err = errors.Join(err, fmt.Errorf("and %d more errors", s.dropped))
	}
	return err
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// decode reads the body of r into v, or refuses r and returns false.
func (s *Server) decode(w http.ResponseWriter, r *http.Request, v any) bool {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		status := http.StatusBadRequest
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			status = http.StatusRequestEntityTooLarge
		}
		s.refuse(w, r, status, fmt.Errorf("read the request: %w", err))
		return false
	}
	if err := json.Unmarshal(data, v); err != nil {
		s.refuse(w, r, http.StatusBadRequest, fmt.Errorf("decode the request: %w", err))
		return false
	}
	return true
}

// answerOrRefuse returns the answer to r, which q is the neutral form of, or refuses r and returns false.
func (s *Server) answerOrRefuse(w http.ResponseWriter, r *http.Request, q request) (answer, bool) {
	a, err := s.answer(r.Context(), q)
	switch {
	case r.Context().Err() != nil: // the agent has given up on it
		return answer{}, false
	case err != nil:
		s.refuse(w, r, http.StatusBadRequest, err)
		return answer{}, false
	}
	return a, true
}

// refuse answers r with an error that both APIs' clients understand and do not retry, and keeps it.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, status int, err error) {
	s.keep(fmt.Errorf("%s %s: %w", r.Method, r.URL.Path, err))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	s.delivered(r, json.NewEncoder(w).Encode(map[string]any{
		"type":  "error",
		"error": map[string]any{"type": "invalid_request_error", "message": "scripted model: " + err.Error()},
	}))
}

// reply answers r with v as JSON.
func (s *Server) reply(w http.ResponseWriter, r *http.Request, v any) {
	w.Header().Set("Content-Type", "application/json")
	s.delivered(r, json.NewEncoder(w).Encode(v))
}

// delivered keeps err, if it is not nil, as the reason why r did not get its answer. It is not an error if the agent
// has given up on r: agents abort requests when they are cancelled.
func (s *Server) delivered(r *http.Request, err error) {
	if err != nil && r.Context().Err() == nil {
		s.keep(fmt.Errorf("%s %s: answer: %w", r.Method, r.URL.Path, err))
	}
}

func (s *Server) keep(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.errs) == maxErrors {
		s.dropped++
		return
	}
	s.errs = append(s.errs, err)
}

// preset is the name of the presets that point at the model server.
const preset = "loopback"

// key is the key of the presets: the server does not check it, but agents refuse to start without one. It is written in
// two parts so that no scanner takes it for a real one.
const key = "sk-test-" + "not-a-key"

// Environ returns the variables that point model judges at the server at address.
func Environ(address string) []string {
	return []string{"OPENAI_BASE_URL=" + address + "/v1", "OPENAI_API_KEY=" + key}
}

// WritePresets writes into dir the files with a preset called "loopback" for each kind of agent that has presets; it
// points the agent at the model server at address.
func WritePresets(dir, address string) error {
	claude := map[string]string{
		"endpoint":           "scripted",
		"ANTHROPIC_BASE_URL": address,
		"ANTHROPIC_API_KEY":  key,

		// For gemini, where a skill has Claude run it.
		"GOOGLE_GEMINI_BASE_URL": address,
		"GEMINI_API_KEY":         key,

		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
		"CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION":     "false",
		"DISABLE_AUTOUPDATER":                      "1",
		"DISABLE_ERROR_REPORTING":                  "1",
		"DISABLE_TELEMETRY":                        "1",
	}
	if os.Geteuid() == 0 {
		// Without it Claude refuses the mode bypassPermissions to root.
		claude["IS_SANDBOX"] = "1"
	}
	const loopbackKey = "LOOPBACK_API_KEY"
	codex := map[string]any{
		"endpoint": "scripted",
		"name":     preset,
		"base_url": address + "/v1",
		"wire_api": "responses",
		"env_key":  loopbackKey,
		"env":      map[string]string{loopbackKey: key},
	}
	gemini := map[string]string{"endpoint": "scripted", "GOOGLE_GEMINI_BASE_URL": address, "GEMINI_API_KEY": key}
	openCode := map[string]any{
		"endpoint": "scripted",
		"name":     preset,
		"base_url": address + "/v1",
		"models":   []string{"scripted"},
		"env_key":  loopbackKey,
		"env": map[string]string{
			loopbackKey: key, "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
		},
	}
	copilot := map[string]string{
		"endpoint": "scripted", "COPILOT_PROVIDER_BASE_URL": address + "/v1", "COPILOT_PROVIDER_API_KEY": key,
		"COPILOT_MODEL": "scripted", "COPILOT_OFFLINE": "true",
	}
	qwen := map[string]string{
		"endpoint": "scripted", "OPENAI_BASE_URL": address + "/v1", "OPENAI_API_KEY": key, "OPENAI_MODEL": "scripted",
	}
	for file, content := range map[string]any{
		"copilot.toml":     map[string]any{"groups": map[string]any{preset: copilot}},
		"qwen.toml":        map[string]any{"groups": map[string]any{preset: qwen}},
		"claude-code.toml": map[string]any{"groups": map[string]any{preset: claude}},
		"gemini.toml":      map[string]any{"groups": map[string]any{preset: gemini}},
		"opencode.toml":    map[string]any{"model_providers": map[string]any{preset: openCode}},
		"codex.toml":       map[string]any{"model_providers": map[string]any{preset: codex}},
	} {
		data, err := toml.Marshal(content)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, file), data, 0o600)
		}
		if err != nil {
			return fmt.Errorf("write preset: %w", err)
		}
	}
	return nil
}
