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

// maxAnswer is how many bytes of an answer are read.
const maxAnswer = 4 << 20

// exchange sends the request of one attempt. It adds what the library lacks: a temperature of zero, a limit on the size
// of the answer, and the Retry-After header.
type exchange struct {
	client          *http.Client
	zeroTemperature bool

	status     int // 0 until an answer has been read
	retryAfter time.Duration
	answer     []byte
}

// errTooLong is the error for an answer of more than maxAnswer bytes.
var errTooLong = fmt.Errorf("the answer exceeds the %d MiB limit", maxAnswer>>20)

// Do sends the request and reads the whole answer, so that an error of the network is never mistaken for bad JSON.
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

// setTemperature writes a temperature of zero into the request. The library omits a zero, and servers then use a
// default that is far from zero. Some servers divide by the smallest float, which the library's authors suggest
// instead.
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

// fault returns the fault that the library's error means.
func (e *exchange) fault(ctx context.Context, err error) *fault {
	switch {
	case errors.Is(err, errTooLong):
		// This is not an error of the network: the next answer would be as long.
		return &fault{status: e.status, message: err.Error()}
	case e.status >= 200 && e.status < 300:
		return &fault{status: e.status, message: fmt.Sprintf("the answer is not JSON: %v: %s", err, e.answer)}
	case e.status >= 300 && e.status < 400:
		return &fault{status: e.status, message: "the server sends on to another address, which is not followed: " +
			"set OPENAI_BASE_URL to that"}
	case e.status != 0:
		f := asFault(err, e.status)
		f.retryAfter = e.retryAfter
		return f
	case ctx.Err() != nil:
		return &fault{message: context.Cause(ctx).Error()}
	}
	// The library's error contains the whole address, which may have a password.
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	return &fault{message: err.Error()}
}

const (
	firstPause    = 500 * time.Millisecond
	longestPause  = 30 * time.Second
	longestWanted = time.Minute // the longest Retry-After that is respected
)

// pause returns how long to wait after an attempt. Attempts are counted from 1. Half of the pause is random, so that
// clients that failed at the same time do not ask again at the same time.
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

// retryAfter returns the pause that a server asks for, or 0: that in retry-after-ms, or else in Retry-After, which has
// seconds or a date.
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

// number reads a number of units, limited to an hour so that it cannot overflow.
func number(value string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseFloat(value, 64)
	if err != nil || !(n >= 0) {
		return 0, false
	}
	return time.Duration(min(n*float64(unit), float64(time.Hour))), true
}

// Error means that a server's answer was not a reply, or that there was no answer.
type Error struct {
	Model, Host string
	// Status is the HTTP status, or 0 if there was no answer.
	Status int
	// Code is the server's own name for the error, if there is one.
	Code string
	// Message is the message of the server or the network: shortened, on one line, and without the key.
	Message string
	// Attempts is how often the request was sent.
	Attempts int
}

// Error returns the model, the server, the status, the server's message and what to do.
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

// OfRequest reports whether the server objected to this request only, so that another one may succeed.
func (e *Error) OfRequest() bool {
	switch e.Status {
	case http.StatusOK, http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// todo says what a person can do.
func (e *Error) todo() string {
	switch {
	case e.Code == "insufficient_quota":
		return "the account has no credit left; waiting does not help"
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

// maxMessage is how many characters of a server's message an error shows.
const maxMessage = 600
