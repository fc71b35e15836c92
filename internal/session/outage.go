package session

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/claude/claudecli"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
	"github.com/sdd-eval/sdd-eval/internal/observe"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// outage says that the agent's model was not to be had: nothing is known about the agent.
type outage struct {
	error
	// again says that the model may be had later, and limited that it takes requests again when a limit is over.
	again, limited bool
}

func (o *outage) Unwrap() error { return o.error }

// newOutage returns an outage for this reason, which is what somebody else said.
func newOutage(said string, err error) *outage {
	err = fmt.Errorf("the agent's model could not be asked: %w", err)
	return &outage{error: err, again: overloaded.MatchString(said), limited: meetsLimit(said)}
}

// meetsLimit reports whether what an agent says is that its model takes no more requests for a while. Who has to pay
// first need not wait.
func meetsLimit(said string) bool {
	return rateLimit.MatchString(said) && !unpaid.MatchString(said)
}

var (
	rateLimit = lazyregexp.New(`(?i)\b429\b|too.many.requests|rate.?limit|usage.?limit|resource.?exhausted` +
		`|hit your [^.\n]{0,30}limit|limit reached`)
	unpaid = lazyregexp.New(`(?i)insufficient.?quota|credit balance`)
)

// overloaded matches what agents say when their model answers 429 or 5xx: the codes, and the names that providers give
// them.
var overloaded = lazyregexp.New(`(?i)\b(429|5\d\d)\b|rate.?limit|overloaded|resource.?exhausted|high demand` +
	`|(internal.)?server.(had an )?error`)

// ofModel matches what agents say when their model refused to answer, or could not be asked.
var ofModel = lazyregexp.New(`(?i)\b[45]\d\d\b|api.?error|codex_error_info|\bmodel\b|api key|authenticat`)

// refusedPrompt tells whether the agent's answer to a prompt, an error, is about its model.
func refusedPrompt(err error) error {
	answer, ok := errors.AsType[*acp.Error](err)
	if !ok {
		return err
	}
	said := answer.Message + " " + string(answer.Data)
	status := answer.Code >= 400 && answer.Code < 600 // Gemini's code is that of HTTP
	if status {
		said = fmt.Sprintf("%d %s", answer.Code, said)
	}
	if status || answer.Code == acp.CodeAuthRequired || overloaded.MatchString(said) || ofModel.MatchString(said) {
		return newOutage(said, err)
	}
	return err
}

// headlessOutage tells that an agent without the protocol could not ask its model.
func headlessOutage(err error) error {
	model, ok := errors.AsType[*claudecli.ModelError](err)
	if !ok {
		return err
	}
	again := model.Status == 429 || model.Status >= 500 || model.Status == 0 && overloaded.MatchString(model.Text)
	return &outage{err, again, model.Status == 429 || model.Status == 0 && meetsLimit(model.Text)}
}

// checkModel returns an error if a turn that ended does not show the agent's work but an outage of its model:
//
//   - the agent says so beside what it tells the user;
//   - all that it says is what its model's service, or its own program, says of an error, and it reports no tokens;
//   - the time was over while its model was to speak: nothing was heard since the session's first prompt or, since a
//     later prompt or the last call, for half of the time.
//
// The second rule goes by the text, since some agents never report tokens.
func checkModel(events []trajectory.Event, timeout time.Duration) error {
	var t turnText
	for _, e := range events {
		t.take(e)
	}
	switch {
	case t.failed:
		said := cmp.Or(t.failure, t.last, "it does not say why")
		return newOutage(said, errors.New(excerpt.Line(said, maxSaid)))
	case t.stop.Reason == result.StopTimeout && t.silent() && t.turn <= 1:
		const heard = "nothing was heard of it from the first prompt to the end of limits.timeout"
		return &outage{error: fmt.Errorf("%s: %s, %v", noAnswer, heard, timeout)}
	case t.stop.Reason == result.StopTimeout && t.awaits && t.open == 0 && t.ended-t.since >= timeout/2:
		return &outage{error: fmt.Errorf("%s: nothing was heard of it for the last %v of limits.timeout, %v",
			noAnswer, (t.ended - t.since).Round(time.Second), timeout)}
	case t.stop.Reason == result.StopEndTurn && t.stop.Usage == nil && t.tellsError():
		return newOutage(t.last, errors.New(excerpt.Line(t.last, maxSaid)))
	}
	return nil
}

// noAnswer is what silence means.
const noAnswer = "the agent's model did not answer, or the agent hangs"

// maxSaid is how many characters of what an agent said are shown as the reason of an outage.
const maxSaid = 400

// turnText is what a turn says about the agent's model.
type turnText struct {
	turn    int
	stop    trajectory.Stop
	ended   time.Duration // since the session's start
	awaits  bool          // the model is to speak: the last thing was the prompt, or the end of a call
	since   time.Duration // when it was
	open    int           // calls that did not end by themselves
	failed  bool          // the agent says that its model failed
	failure string        // and why
	last    string        // the message that the turn ended with, empty if it ended with something else
	worked  bool          // it did something else than to say one thing
}

func (t *turnText) take(e trajectory.Event) {
	switch b := e.Body.(type) {
	case trajectory.Prompt:
		t.turn, t.awaits, t.since = e.Turn, true, e.At
		return
	case trajectory.Message:
		t.worked = t.worked || t.last != ""
		t.last = strings.TrimSpace(strings.ReplaceAll(b.Text, copilotRetries, ""))
		t.awaits = false
		return
	case trajectory.Notice:
		if b.Name == observe.ModelFailed {
			t.failed = true
			t.failure, _ = b.Data.(string)
		}
		return
	case trajectory.State:
		return
	case trajectory.Stop:
		t.stop, t.ended = b, e.At
		return
	case trajectory.MCPCall:
		if b.IsDiscovery() { // servers are asked what they have before the model is asked anything
			return
		}
	case trajectory.ToolStart:
		t.open++
	}
	t.worked, t.last, t.awaits = true, "", false
	if end, ok := e.Body.(trajectory.ToolEnd); ok && end.Status != trajectory.Cancelled {
		t.open--
		t.awaits, t.since = true, e.At
	}
}

// silent reports whether the agent neither said nor did anything.
func (t *turnText) silent() bool { return !t.worked && t.last == "" }

// tellsError reports whether the turn ended with the error of a model.
func (t *turnText) tellsError() bool {
	return ofProgram.MatchString(t.last) || retried.MatchString(t.last) || !t.worked && ofService.MatchString(t.last)
}

// copilotRetries is what Copilot says each time before it asks its model again.
const copilotRetries = "Info: Request failed due to a transient API error. Retrying..."

// ofProgram and retried match the sentences with which agents' own programs end a turn whose model failed: Copilot 1.0
// and Codex 0.16x. They are told from an answer even after work. They are two, so that only the second is looked for in
// all of a long text.
var (
	ofProgram = lazyregexp.New(`^(?:Error: Authentication failed with provider at ` +
		`|exceeded retry limit, last status: \d{3}\b|unexpected status \d{3}\b|stream disconnected before completion` +
		`|We[’']re currently experiencing high demand, which may cause temporary errors)`)
	retried = lazyregexp.New(`Error: Failed to get response from the AI model; retried \d+ times`)
)

// ofService matches an answer that is nothing but what a model's service or its client says of an error: its status,
// its JSON, a connection that failed, an account that is used up. After work it could be what the agent was asked to
// find out.
var ofService = lazyregexp.New(`(?s)^(?:\[?(API )?Error:? (HTTP )?[45]\d\d\b|HTTP [45]\d\d\b` +
	`|\[?API Error\b|(Error: )?(Connection error|Request timed out|fetch failed|connect E[A-Z]+)` +
	`|(?i:(error: )?(you['’]ve hit your [^.\n]{0,30}limit|claude ai usage limit reached|credit balance is too low))` +
	`|\{\s*("type":\s*"error",\s*)?"error":\s*\{.*"(type|code|status)":.*\}\s*$)`)

// isDeed reports whether an event is something that the agent did: a call, or what it asked of the client or of a
// server.
func isDeed(body trajectory.Body) bool {
	switch e := body.(type) {
	case trajectory.ToolStart:
		return true
	case trajectory.FileWrite:
		return e.Error == ""
	case trajectory.Terminal:
		return e.Error == ""
	case trajectory.MCPCall:
		return !e.IsDiscovery()
	}
	return false
}

// mayPass marks an outage as one that another attempt may not meet, unless the agent has done something, and as one by
// a limit, whatever it has done: a run that is resumed would begin anew, too.
func (s *Session) mayPass(err error) error {
	o, ok := errors.AsType[*outage](err)
	if ok && o.limited {
		err = fault.RateLimit(err)
	}
	if !ok || !o.again {
		return err
	}
	for _, t := range s.turns {
		for _, e := range t.Events {
			if isDeed(e.Body) {
				return err
			}
		}
	}
	return fault.Transient(err)
}
