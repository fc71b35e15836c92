package llm

import (
	"fmt"
	"net/http"
	"strings"
)

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
