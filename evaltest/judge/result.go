package judge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// Result is a judge's verdict. In JSON it has one of two forms: with Pass or Checks {pass, score, reason, checks,
// details}, else {score, hits, misses, reasoning, details}.
type Result struct {
	// Score is from 0 to 1. The playbook's threshold decides which scores pass.
	Score float64
	// Pass says whether the agent passed; nil: only the score decides. The score must not contradict it: see [Pass] and
	// [Fail].
	Pass *bool
	// Reason is the reason for the verdict.
	Reason string
	// Hits and Misses are what was right and what was wrong. They cannot be combined with Pass and Checks.
	Hits, Misses []string
	// Checks are what the judge checked. They need Pass, and if Pass is true, at least one must have passed. If only
	// some failed, the judge decides whether the agent passed.
	Checks []Check
	// Details are anything else worth keeping, as a JSON object; nil: nothing.
	Details json.RawMessage
}

// Check is one thing that a judge has checked.
type Check struct {
	// ID and Text say what was checked. One of them is enough.
	ID, Text string
	Pass     bool
	// Score is from 0 to 1; nil: there is none.
	Score *float64
	// Reason is the reason for Pass and Score.
	Reason string
}

// Pass returns the verdict that the agent passed, with a score of 1.
func Pass(reason string) Result { return Result{Pass: new(true), Score: 1, Reason: reason} }

// Fail returns the verdict that the agent failed, with a score of 0.
func Fail(reason string) Result { return Result{Pass: new(false), Reason: reason} }

// ParseResult reads a judge's reply: one JSON object in one of the two forms of [Result]. White space around it and a
// byte order mark before it are allowed. A score is a number from 0 to 1. With pass it may be left out, and is then 1
// or 0. Everything else is an error that quotes the reply: other keys, keys of both forms, a duplicate key, text before
// or after the object, and contradictions: a full score with "pass": false, or "pass": true with a score of 0 or only
// failed checks.
func ParseResult(reply []byte) (Result, error) {
	r, err := parseResult(bytes.TrimPrefix(reply, []byte("\ufeff")))
	if err != nil {
		return Result{}, fmt.Errorf("the reply %w; it was %s", err,
			excerpt.Quote(strings.TrimSpace(string(reply)), maxQuote))
	}
	return r, nil
}

// maxQuote is how many characters of a reply an error shows.
const maxQuote = 500

func parseResult(reply []byte) (Result, error) {
	o, err := parseObject(reply, "score", "hits", "misses", "reasoning", "details", "pass", "reason", "checks")
	if err != nil {
		return Result{}, err
	}
	r, err := resultOf(o)
	if err != nil {
		return Result{}, fmt.Errorf("is %w", invalid(err))
	}
	return r, nil
}

// resultOf reads the object of a judge's reply.
func resultOf(o object) (Result, error) {
	score, err := o.score()
	if err != nil {
		return Result{}, err
	}
	r := Result{}
	if o.has("details") {
		r.Details = o.Object["details"]
	}
	scored, passed := o.hasAny("hits", "misses", "reasoning"), o.hasAny("pass", "reason", "checks")
	switch {
	case scored && passed:
		return Result{}, errors.New("hits, misses and reasoning cannot be combined with pass, reason and checks")
	case passed:
		err = r.readPass(o, score)
	default:
		err = r.readScore(o, score)
	}
	if err == nil {
		err = r.check()
	}
	return r, err
}

// invalid returns the error for a JSON object that is not a verdict.
func invalid(err error) error { return fmt.Errorf("not a verdict: %w", err) }

func (o object) hasAny(keys ...string) bool {
	for _, key := range keys {
		if _, ok := o.Object[key]; ok {
			return true
		}
	}
	return false
}

// readScore reads the form with a score.
func (r *Result) readScore(o object, score *float64) (err error) {
	if score == nil {
		return errors.New("score is missing")
	}
	r.Score = *score
	if r.Hits, err = o.texts("hits"); err != nil {
		return err
	}
	if r.Misses, err = o.texts("misses"); err != nil {
		return err
	}
	return o.decode("reasoning", "a string", &r.Reason)
}

// readPass reads the form with pass.
func (r *Result) readPass(o object, score *float64) error {
	if err := o.decode("pass", "true or false", &r.Pass); err != nil {
		return err
	}
	switch {
	case r.Pass == nil:
		return errors.New("pass is missing")
	case score != nil:
		r.Score = *score
	case *r.Pass:
		r.Score = 1
	}
	var checks []json.RawMessage
	if err := o.decode("checks", "a list", &checks); err != nil {
		return err
	}
	for i, text := range checks {
		c, err := parseCheck(text)
		if err != nil {
			return fmt.Errorf("checks[%d]: %w", i, err)
		}
		r.Checks = append(r.Checks, c)
	}
	return o.decode("reason", "a string", &r.Reason)
}

func parseCheck(text []byte) (c Check, err error) {
	o, err := parseObject(text, "id", "text", "pass", "score", "reason")
	if err != nil {
		return Check{}, fmt.Errorf("it %w", err)
	}
	if c.Score, err = o.score(); err != nil {
		return Check{}, err
	}
	if !o.has("pass") {
		return Check{}, errors.New("pass is missing")
	}
	err = errors.Join(
		o.decode("pass", "true or false", &c.Pass), o.decode("id", "a string", &c.ID),
		o.decode("text", "a string", &c.Text), o.decode("reason", "a string", &c.Reason),
	)
	return c, err
}

// check returns an error if the verdict is invalid.
func (r *Result) check() error {
	switch {
	case math.IsNaN(r.Score) || r.Score < 0 || r.Score > 1:
		return fmt.Errorf("score %v is out of range: want 0 to 1", r.Score)
	case r.Pass != nil && *r.Pass && r.Score == 0:
		return errors.New("it contradicts itself: pass is true, but the score is 0")
	case r.Pass != nil && !*r.Pass && r.Score == 1:
		return errors.New("it contradicts itself: pass is false, but the score is 1")
	case r.Pass != nil && *r.Pass && len(r.Checks) > 0 && allFailed(r.Checks):
		return errors.New("it contradicts itself: pass is true, but all checks failed")
	case r.Pass == nil && len(r.Checks) > 0:
		return errors.New("checks require pass")
	case r.Pass != nil && (len(r.Hits) > 0 || len(r.Misses) > 0):
		return errors.New("hits and misses cannot be combined with pass")
	}
	for i, c := range r.Checks {
		switch {
		case c.ID == "" && c.Text == "":
			return fmt.Errorf("checks[%d]: id or text is required", i)
		case c.Score != nil && !(*c.Score >= 0 && *c.Score <= 1):
			return fmt.Errorf("checks[%d]: score %v is out of range: want 0 to 1", i, *c.Score)
		}
	}
	if r.Details != nil {
		var details map[string]json.RawMessage
		if err := json.Unmarshal(r.Details, &details); err != nil || details == nil {
			return errors.New("details must be an object")
		}
	}
	return nil
}

func allFailed(checks []Check) bool {
	return !slices.ContainsFunc(checks, func(c Check) bool { return c.Pass })
}

// MarshalJSON writes the verdict in the form that [ParseResult] reads. An invalid verdict is an error.
func (r Result) MarshalJSON() ([]byte, error) {
	if err := r.check(); err != nil {
		return nil, invalid(err)
	}
	if r.Pass == nil {
		return json.Marshal(struct {
			Score     float64         `json:"score"`
			Hits      []string        `json:"hits,omitempty"`
			Misses    []string        `json:"misses,omitempty"`
			Reasoning string          `json:"reasoning,omitempty"`
			Details   json.RawMessage `json:"details,omitempty"`
		}{r.Score, r.Hits, r.Misses, r.Reason, r.Details})
	}
	type check struct {
		ID     string   `json:"id,omitempty"`
		Text   string   `json:"text,omitempty"`
		Pass   bool     `json:"pass"`
		Score  *float64 `json:"score,omitempty"`
		Reason string   `json:"reason,omitempty"`
	}
	checks := make([]check, len(r.Checks))
	for i, c := range r.Checks {
		checks[i] = check(c)
	}
	return json.Marshal(struct {
		Pass    bool            `json:"pass"`
		Score   float64         `json:"score"`
		Reason  string          `json:"reason,omitempty"`
		Checks  []check         `json:"checks,omitempty"`
		Details json.RawMessage `json:"details,omitempty"`
	}{*r.Pass, r.Score, r.Reason, checks, r.Details})
}

// object is a JSON object whose values are not decoded yet.
type object struct{ jsonvalue.Object }

// parseObject reads a text that must be one JSON object with only these keys, without duplicate keys at any depth. The
// text of an error is a predicate to which the caller adds a subject: "is not a JSON object".
func parseObject(text []byte, keys ...string) (object, error) {
	var o jsonvalue.Object
	err := jsonvalue.DecodeStrict(text, &o, 0)
	_, other := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case other, err == nil && o == nil:
		return object{}, errors.New("is not a JSON object")
	case errors.Is(err, jsonvalue.ErrTrailing):
		return object{}, errors.New("has text after its JSON object")
	case errors.Is(err, jsonvalue.ErrDuplicateKey):
		return object{}, fmt.Errorf("has a %w", err)
	case err != nil:
		return object{}, fmt.Errorf("is not JSON: %w", err)
	}
	if err := o.Only(keys...); err != nil {
		return object{}, fmt.Errorf("has an %w", err)
	}
	return object{o}, nil
}

// has reports whether the key has a value other than null.
func (o object) has(key string) bool {
	value, ok := o.Object[key]
	return ok && string(value) != "null"
}

// decode stores the value of a key, if there is one, in the value that v points to.
func (o object) decode(key, want string, v any) error {
	if !o.has(key) {
		return nil
	}
	return o.Decode(key, want, v)
}

// texts returns a list of strings, if there is one.
func (o object) texts(key string) (texts []string, err error) {
	if o.has(key) {
		err = o.Texts(key, &texts)
	}
	return texts, err
}

// score returns a number in 0..1, nil if there is none.
func (o object) score() (*float64, error) {
	if !o.has("score") {
		return nil, nil
	}
	var score float64
	err := o.Number("score", 1, &score)
	return &score, err
}
