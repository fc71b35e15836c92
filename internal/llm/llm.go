// Package llm asks models on servers that speak OpenAI's chat completions. It is the only package that uses a library
// for that, and the only place where their requests are retried. What is asked, and what an answer means, is up to its
// callers. It also says what agents are asked that judge in the place of such a model, and reads what they say; package
// engine starts them.
package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
)

// DefaultModel judges where a playbook names no model.
const DefaultModel = "gpt-4.1"

// ErrNoKey is the error of [FromEnvironment] if OPENAI_API_KEY is missing or empty. The caller says what needs the key.
var ErrNoKey = errors.New("OPENAI_API_KEY is empty")

const (
	defaultBaseURL  = "https://api.openai.com/v1"
	defaultAttempts = 5
	defaultTimeout  = 2 * time.Minute
	defaultMaxCalls = 1000
)

// maxCallsVariable is the environment variable with the budget of calls.
const maxCallsVariable = "EVAL_LLM_MAX_CALLS"

// Config says which server to ask and how patiently.
type Config struct {
	// APIKey is sent as a bearer token. If it is empty, none is sent, as for some local servers.
	APIKey string
	// BaseURL is the address including /v1. If it is empty, it is OpenAI's.
	BaseURL string
	// HTTPClient, if not nil, sends the requests.
	HTTPClient *http.Client
	// MaxAttempts is how often a question is sent at most; 0 means 5.
	MaxAttempts int
	// Timeout is how long one attempt may take; 0 means two minutes.
	Timeout time.Duration
	// MaxCalls, if not zero, is how many questions the client may ask in total. A question counts once, however often
	// it is sent. All callers in a run must therefore share a client, or Spent.
	MaxCalls int
	// Spent, if not nil, counts the questions of all that share it.
	Spent *Spent
}

// Spent counts questions. Those who share one share a budget.
type Spent struct{ questions atomic.Int64 }

// Take counts a question to who, and returns an error if most are too few for it; 0: any number is enough.
func (s *Spent) Take(who string, most int) error {
	if n := s.questions.Add(1); most > 0 && n > int64(most) {
		return fmt.Errorf("ask %s: the run's budget of %d calls to models is used up: set %s to a larger number", who,
			most, maxCallsVariable)
	}
	return nil
}

// FromEnvironment returns the configuration from OPENAI_API_KEY and OPENAI_BASE_URL, or else OPENAI_API_BASE. It
// appends /v1 to an address that does not end in it. Without a key the error is [ErrNoKey]. The budget is
// EVAL_LLM_MAX_CALLS, or else 1000 calls.
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
	if c.MaxCalls, err = MaxCalls(getenv); err != nil {
		return Config{}, err
	}
	return c, nil
}

// MaxCalls returns how many questions a run may ask: EVAL_LLM_MAX_CALLS, or else 1000.
func MaxCalls(getenv func(string) string) (int, error) {
	value := getenv(maxCallsVariable)
	if value == "" {
		return defaultMaxCalls, nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%s: got %q, want a number of calls that is at least 1", maxCallsVariable, value)
	}
	return n, nil
}

// baseURL checks an address of a user. Its errors do not quote the address, which may contain a password.
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

// Asker answers requests. It is a [Client], what asks agents, or a recording.
type Asker interface {
	Complete(ctx context.Context, r Request) (Reply, error)
}

// Client asks one server. It is safe for concurrent use.
type Client struct {
	config Config
	host   string
	// refused has the features that the server does not support, as far as is known.
	refused atomic.Uint32
}

// New returns a client. It panics if BaseURL is not an address: [FromEnvironment] checks addresses of users.
func New(c Config) *Client {
	if c.BaseURL == "" {
		c.BaseURL = defaultBaseURL
	}
	client := http.Client{}
	if c.HTTPClient != nil {
		client = *c.HTTPClient
	}
	// another server's answer is none of the one that was chosen
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.HTTPClient = &client
	if c.MaxAttempts == 0 {
		c.MaxAttempts = defaultAttempts
	}
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	if c.Spent == nil {
		c.Spent = new(Spent)
	}
	u, err := url.Parse(c.BaseURL)
	if err != nil || u.Host == "" {
		panic("llm.New: Config.BaseURL is not an address; " +
			"use FromEnvironment, or an address such as http://127.0.0.1:8080/v1")
	}
	return &Client{config: c, host: u.Host}
}

// Request is a question to a model. It is asked at temperature 0.
type Request struct {
	Model string
	// System is the task of the model, and User is what it works on.
	System, User string
	// Schema, if not nil, is the JSON schema of the reply. A server may refuse or ignore it, so System must describe
	// the reply, too, and the reply must be read with [ParseObject].
	Schema json.RawMessage
	// SchemaName is the name of the schema, of letters, digits, _ and -.
	SchemaName string
	// MaxTokens, if not zero, is how many tokens the reply may have, including those for thinking.
	MaxTokens int
	// Sample distinguishes questions that are otherwise equal, so that a recording has an answer for each. It is not
	// sent.
	Sample int

	// Agent, if not nil, is who judges Checks, at least one, in the place of a model on a server. Model is then the one
	// that the agent is to use, empty: its own choice; and there is neither schema nor sample.
	Agent  *Agent
	Checks []Check
}

// Reply is a model's answer.
type Reply struct {
	// Text is never empty, but for that of an agent, which has Verdicts instead: one for each check, in their order.
	Text     string
	Verdicts []Verdict
	// Model is the model that answered, as the server names it.
	Model string
	// InputTokens and OutputTokens are zero if the server, or the agent, does not report them.
	InputTokens, OutputTokens int
	// CostUSD is what an agent says that its turn cost; nil: it does not say. It is known of some that gave no verdict.
	CostUSD *float64
}

// Complete asks the model. After a status 429 or 5xx or an error of the network it asks again, with growing pauses or
// after the time that the server asks for. An error of the server or the network is an [*Error]; if ctx has ended, the
// error wraps ctx's. A reply that was refused, truncated or empty is an error, and so is a question beyond the budget.
func (c *Client) Complete(ctx context.Context, r Request) (Reply, error) {
	if err := c.config.Spent.Take(r.Model, c.config.MaxCalls); err != nil {
		return Reply{}, err
	}
	for attempt := 1; ; {
		without := feature(c.refused.Load())
		reply, fault := c.ask(ctx, r, without)
		if fault == nil {
			return reply, nil
		}
		if err := ctx.Err(); err != nil {
			return Reply{}, fmt.Errorf("ask %s at %s: %w", r.Model, c.host, context.Cause(ctx))
		}
		if more := fault.refuses() &^ without; more != 0 {
			c.refused.Or(uint32(more))
			continue // asking the same question without a feature is not another attempt
		}
		if !fault.passing() || attempt >= c.config.MaxAttempts {
			return Reply{}, c.describe(r, fault, attempt)
		}
		if err := sleep(ctx, pause(attempt, fault.retryAfter)); err != nil {
			last := c.describe(r, fault, attempt)
			return Reply{}, fmt.Errorf("ask %s at %s: %w (last: %w)", r.Model, c.host, err, last)
		}
		attempt++
	}
}

// ask makes one attempt without the features that the server refused.
func (c *Client) ask(ctx context.Context, r Request, without feature) (Reply, *fault) {
	late := fmt.Errorf("no answer within %v", c.config.Timeout)
	ctx, cancel := context.WithTimeoutCause(ctx, c.config.Timeout, late)
	defer cancel()
	exchange := &exchange{client: c.config.HTTPClient, zeroTemperature: without&temperature == 0}
	config := openai.DefaultConfig(c.config.APIKey)
	config.BaseURL, config.HTTPClient = c.config.BaseURL, exchange

	request := openai.ChatCompletionRequest{
		Model: r.Model,
		Messages: []openai.ChatCompletionMessage{
			{Role: openai.ChatMessageRoleSystem, Content: r.System},
			{Role: openai.ChatMessageRoleUser, Content: r.User},
		},
		MaxCompletionTokens: r.MaxTokens,
	}
	if r.Schema != nil && without&schema == 0 {
		request.ResponseFormat = &openai.ChatCompletionResponseFormat{
			Type: openai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{
				Name: r.SchemaName, Schema: r.Schema, Strict: true,
			},
		}
	}
	response, err := openai.NewClientWithConfig(config).CreateChatCompletion(ctx, request)
	if err != nil {
		return Reply{}, exchange.fault(ctx, err)
	}
	if err := checkAnswer(exchange.status, exchange.answer); err != nil {
		return Reply{}, &fault{status: exchange.status, message: err.Error() + ": " + string(exchange.answer)}
	}
	return read(response)
}

// read returns the reply in a response.
func read(response openai.ChatCompletionResponse) (Reply, *fault) {
	broken := func(message string) (Reply, *fault) {
		return Reply{}, &fault{status: http.StatusOK, message: message}
	}
	if len(response.Choices) == 0 {
		return broken("the answer has no reply of the model")
	}
	choice := response.Choices[0]
	switch {
	case choice.Message.Refusal != "":
		return broken("the model refused: " + choice.Message.Refusal)
	case choice.FinishReason == openai.FinishReasonLength:
		return broken("the reply was cut off at the token limit: " + choice.Message.Content)
	case choice.FinishReason == openai.FinishReasonContentFilter:
		return broken("the server's content filter cut the reply off: " + choice.Message.Content)
	case strings.TrimSpace(choice.Message.Content) == "":
		return broken("the reply is empty")
	}
	return Reply{
		Text:         choice.Message.Content,
		Model:        response.Model,
		InputTokens:  response.Usage.PromptTokens,
		OutputTokens: response.Usage.CompletionTokens,
	}, nil
}

// describe returns a fault as an error for people. It masks the key, which the server may have repeated.
func (c *Client) describe(r Request, f *fault, attempts int) error {
	message := f.message
	if c.config.APIKey != "" {
		message = strings.ReplaceAll(message, c.config.APIKey, "[REDACTED:OPENAI_API_KEY]")
	}
	return &Error{
		Model: r.Model, Host: c.host, Status: f.status, Code: f.code,
		Message: excerpt.Line(message, maxMessage), Attempts: attempts,
	}
}

// sleep waits for d, or returns ctx's error.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// feature is a set of features of requests that not every server supports.
type feature uint32

const (
	schema      feature = 1 << iota // response_format of type json_schema
	temperature                     // a temperature other than the model's own
)

// fault is why an attempt failed.
type fault struct {
	status     int // 0 if there was no answer
	code       string
	param      string
	message    string
	retryAfter time.Duration // 0 if the server does not say
}

// passing reports whether the same request may succeed later.
func (f *fault) passing() bool {
	if f.code == "insufficient_quota" {
		return false // a 429 that does not pass
	}
	return f.status == 0 || f.status == http.StatusTooManyRequests || f.status >= 500
}

// refuses returns the features to which the server objects.
func (f *fault) refuses() feature {
	if f.status != http.StatusBadRequest && f.status != http.StatusUnprocessableEntity {
		return 0
	}
	text := strings.ToLower(f.param + " " + f.message)
	var refused feature
	for _, word := range []string{"response_format", "json_schema", "structured output"} {
		if strings.Contains(text, word) {
			refused |= schema
		}
	}
	if strings.Contains(text, "temperature") {
		refused |= temperature
	}
	return refused
}

// asFault returns the fault in the library's error for an answer that is not a reply.
func asFault(err error, status int) *fault {
	f := &fault{status: status, message: err.Error()}
	if api, ok := errors.AsType[*openai.APIError](err); ok {
		f.message = api.Message
		f.code, _ = api.Code.(string)
		if api.Param != nil {
			f.param = *api.Param
		}
	} else if request, ok := errors.AsType[*openai.RequestError](err); ok {
		f.message = string(request.Body)
	}
	return f
}
