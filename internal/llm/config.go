// Package llm asks models on servers that speak OpenAI's chat completions. It is the only package that knows the library
// behind it, and the one place where requests are retried.
package llm

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// ErrNoKey is the error of [FromEnvironment] when OPENAI_API_KEY is absent or empty. Who asks says what needed the key.
var ErrNoKey = errors.New("OPENAI_API_KEY is empty")

const (
	defaultBaseURL  = "https://api.openai.com/v1"
	defaultAttempts = 5
	defaultTimeout  = 2 * time.Minute
	defaultMaxCalls = 1000
)

// maxCallsVariable raises or lowers the budget of calls.
const maxCallsVariable = "EVAL_LLM_MAX_CALLS"

// Config says which server is asked and how patiently.
type Config struct {
	// APIKey is sent as a bearer token. Empty sends none, as some local servers want it.
	APIKey string
	// BaseURL is the address up to and with /v1; empty is OpenAI's.
	BaseURL string
	// HTTPClient, if not nil, sends the requests.
	HTTPClient *http.Client
	// MaxAttempts, if not zero, is how often one question is sent at most; else 5.
	MaxAttempts int
	// Timeout, if not zero, is how long one attempt may take; else two minutes.
	Timeout time.Duration
	// MaxCalls, if not zero, is how many questions the client sends in its life, each counted once however often it is tried.
	// So all who ask in a run have to share one client, or one count of what was spent.
	MaxCalls int
	// Spent, if not nil, counts the questions of all clients that have it.
	Spent *atomic.Int64
}

// FromEnvironment returns the configuration that OPENAI_API_KEY and OPENAI_BASE_URL (else OPENAI_API_BASE) describe. An
// address that does not end in /v1 gets it appended. Without a key the error is [ErrNoKey]. The budget is
// EVAL_LLM_MAX_CALLS, else 1000 calls.
func FromEnvironment(getenv func(string) string) (Config, error) {
	c := Config{APIKey: strings.TrimSpace(getenv("OPENAI_API_KEY"))}
	if c.APIKey == "" {
		return Config{}, ErrNoKey
	}
	for _, name := range []string{"OPENAI_BASE_URL", "OPENAI_API_BASE"} {
		value := strings.TrimSpace(getenv(name))
		if value == "" {
			continue
		}
		base, err := baseURL(value)
		if err != nil {
			return Config{}, fmt.Errorf("%s: %w", name, err)
		}
		c.BaseURL = base
		break
	}
	var err error
	if c.MaxCalls, err = maxCalls(getenv(maxCallsVariable)); err != nil {
		return Config{}, err
	}
	return c, nil
}

func maxCalls(value string) (int, error) {
	if value == "" {
		return defaultMaxCalls, nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%s: %q is not a number of calls, 1 or more", maxCallsVariable, value)
	}
	return n, nil
}

// baseURL checks an address of a user. Its errors do not quote it: there may be a password in it.
func baseURL(value string) (string, error) {
	u, err := url.Parse(value)
	switch {
	case err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"):
		return "", errors.New("not an http or https address, such as https://api.openai.com/v1")
	case u.RawQuery != "" || u.Fragment != "":
		return "", errors.New("an address with a query or a fragment cannot be extended to /v1/chat/completions")
	}
	u = u.JoinPath() // cleans slashes
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), ""
	if !strings.HasSuffix(u.Path, "/v1") {
		u.Path += "/v1"
	}
	return u.String(), nil
}
