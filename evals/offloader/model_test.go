package offloader

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// Keys of the model, by which it behaves. They are put together so that no scanner takes them for real ones.
const (
	goodKey  = "sk-test-" + "good"
	badKey   = "sk-test-" + "bad"
	hangsKey = "sk-test-" + "hangs"
)

// model is Google's API on loopback, as far as gemini needs it. It knows one answer.
type model struct {
	*httptest.Server
	asked   atomic.Int32 // how often it has answered
	waiting atomic.Int32 // how many clients wait for an answer that does not come
}

func startModel(t *testing.T) *model {
	t.Helper()
	m := new(model)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1beta/models/{call}", m.answer)
	m.Server = httptest.NewServer(mux)
	t.Cleanup(m.Close)
	return m
}

func (m *model) answer(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	switch key := r.Header.Get("X-Goog-Api-Key"); {
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
	case key == hangsKey:
		m.waiting.Add(1)
		<-r.Context().Done() // until the client has gone
		m.waiting.Add(-1)
	case key != goodKey:
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"error": {"code": 401, "message": "API key not valid", "status": "UNAUTHENTICATED"}}`)
	case !strings.HasSuffix(r.PathValue("call"), ":streamGenerateContent") || !strings.Contains(string(body), question):
		http.Error(w, "it was not asked what it knows", http.StatusBadRequest)
	default:
		m.asked.Add(1)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w,
			`data: {"candidates": [{"content": {"role": "model", "parts": [{"text": "Paris."}]}, `+
				`"finishReason": "STOP"}]}`, "\n\n")
	}
}
