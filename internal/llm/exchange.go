package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// maxAnswer is how much of an answer is read.
const maxAnswer = 4 << 20

// exchange carries the one request of one attempt. It adds what the library lacks: a temperature of zero, a bound on the
// answer's size, and the Retry-After header.
type exchange struct {
	client          *http.Client
	zeroTemperature bool

	status     int // 0 until an answer was read
	retryAfter time.Duration
	answer     []byte
}

// errTooLong is the error for an answer of more than maxAnswer bytes.
var errTooLong = fmt.Errorf("the answer has more than %d MiB", maxAnswer>>20)

// Do sends the request and reads the whole answer, so that a fault of the network is never taken for bad JSON.
func (e *exchange) Do(request *http.Request) (*http.Response, error) {
	if e.zeroTemperature {
		if err := setTemperature(request); err != nil {
			return nil, err
		}
	}
	response, err := e.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	e.answer, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return nil, err
	}
	e.status = response.StatusCode
	e.retryAfter = retryAfter(response.Header, time.Now())
	if len(e.answer) > maxAnswer {
		return nil, errTooLong
	}
	response.Body = io.NopCloser(bytes.NewReader(e.answer))
	return response, nil
}

// setTemperature writes a temperature of zero into the request. The library leaves a zero out, and a server's default is
// far from zero; the smallest float, which its authors suggest, makes some servers divide by it.
func setTemperature(request *http.Request) error {
	var body map[string]json.RawMessage
	if err := json.NewDecoder(request.Body).Decode(&body); err != nil {
		return fmt.Errorf("read our own request: %w", err)
	}
	body["temperature"] = json.RawMessage("0")
	data, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("write the request: %w", err)
	}
	request.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
	request.Body, _ = request.GetBody()
	request.ContentLength = int64(len(data))
	return nil
}

// fault says what err, the library's error, means.
func (e *exchange) fault(ctx context.Context, err error) *fault {
	switch {
	case errors.Is(err, errTooLong):
		// Not a fault of the network: the next answer would be as long.
		return &fault{status: e.status, message: err.Error()}
	case e.status >= 200 && e.status < 300:
		return &fault{status: e.status, message: fmt.Sprintf("the answer is not JSON: %v: %s", err, e.answer)}
	case e.status != 0:
		f := asFault(err, e.status)
		f.retryAfter = e.retryAfter
		return f
	case ctx.Err() != nil:
		return &fault{message: context.Cause(ctx).Error()}
	}
	// The library's error names the whole address, in which there may be a password.
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	return &fault{message: err.Error()}
}

const (
	firstPause    = 500 * time.Millisecond
	longestPause  = 30 * time.Second
	longestWanted = time.Minute // the most that a server's Retry-After is followed
)

// pause returns how long to wait after an attempt, counted from 1. Half of it is left to chance, so that many that failed
// together do not come back together.
func pause(attempt int, wanted time.Duration) time.Duration {
	if wanted > 0 {
		return min(wanted, longestWanted)
	}
	longest := longestPause
	if attempt <= 6 {
		longest = min(longestPause, firstPause<<(attempt-1))
	}
	return longest/2 + rand.N(longest/2)
}

// retryAfter reads the pause that a server asks for, 0 if it asks for none: retry-after-ms, else Retry-After in seconds or as a
// date.
func retryAfter(header http.Header, now time.Time) time.Duration {
	if d, ok := number(header.Get("Retry-After-Ms"), time.Millisecond); ok {
		return d
	}
	value := header.Get("Retry-After")
	if d, ok := number(value, time.Second); ok {
		return d
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// number reads a count of units, cut to an hour so that it cannot overflow.
func number(value string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseFloat(value, 64)
	if err != nil || !(n >= 0) {
		return 0, false
	}
	return time.Duration(min(n*float64(unit), float64(time.Hour))), true
}

// Error is the answer of a server that is no reply, or the lack of an answer.
type Error struct {
	Model, Host string
	// Status is the HTTP status, 0 if there was no answer.
	Status int
	// Code is the server's own name of the error, if it gives one.
	Code string
	// Message is what the server or the network says, cut, in one line, without the key.
	Message string
	// Attempts is how often the request was sent.
	Attempts int
}

// Error names the model, the server, the status, the server's message and what to do.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "ask %s at %s: ", e.Model, e.Host)
	if e.Status == 0 {
		b.WriteString("no answer")
	} else {
		fmt.Fprintf(&b, "status %d", e.Status)
	}
	if e.Attempts > 1 {
		fmt.Fprintf(&b, " after %d attempts", e.Attempts)
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	if todo := e.todo(); todo != "" {
		b.WriteString(" (" + todo + ")")
	}
	return b.String()
}

// OfRequest tells whether the server objected to this one request, so that another may succeed.
func (e *Error) OfRequest() bool {
	switch e.Status {
	case http.StatusOK, http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// todo says how a person gets on.
func (e *Error) todo() string {
	switch {
	case e.Code == "insufficient_quota":
		return "the account has no credit left; pausing does not help"
	case e.Status == 0:
		return "check the network and OPENAI_BASE_URL"
	case e.Status == http.StatusUnauthorized:
		return "check OPENAI_API_KEY"
	case e.Status == http.StatusForbidden:
		return "this key may not use this model or server"
	case e.Status == http.StatusNotFound:
		return "check the model's name and OPENAI_BASE_URL"
	case e.Status == http.StatusRequestEntityTooLarge:
		return "the request is too large for this server"
	case e.Status == http.StatusTooManyRequests:
		return "the server limits the rate; try again later"
	case e.Status >= 500:
		return "the server fails; try again later"
	}
	return ""
}

// maxMessage is how many characters of a server's words an error shows.
const maxMessage = 600
