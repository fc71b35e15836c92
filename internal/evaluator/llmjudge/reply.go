package llmjudge

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/llm"
)

// opinion is what one reply says.
type opinion struct {
	score        float64 // in 0..1
	reason       string
	hits, misses []string
	checks       []check // one for each rubric, in their order
}

// check is what a reply says about a rubric.
type check struct {
	score  float64 // in 0..maxScore
	reason string
}

// parse reads a reply. Whatever is not exactly as it was asked for is an error: an unknown key, a value of another type, a
// score outside its range, a rubric that is missing, unknown or there twice.
func parse(reply string, rubrics []rubric) (opinion, error) {
	object, err := llm.ParseObject(reply)
	if err != nil {
		return opinion{}, err
	}
	f, err := fieldsOf(object)
	if err != nil {
		return opinion{}, fmt.Errorf("the reply: %w", err)
	}
	var o opinion
	if len(rubrics) == 0 {
		o, err = parseScore(f)
	} else {
		o, err = parseChecks(f, rubrics)
	}
	if err != nil {
		return opinion{}, fmt.Errorf("the reply: %w", err)
	}
	return o, nil
}

func parseScore(f fields) (opinion, error) {
	var o opinion
	if _, ok := f["pass"]; ok {
		return o, errors.New("it has a `pass` beside or instead of the score: the threshold decides what passes")
	}
	err := errors.Join(
		f.only("score", "reason", "reasoning", "hits", "misses"), f.number("score", 1, &o.score), f.reason(&o.reason),
		f.texts("hits", &o.hits), f.texts("misses", &o.misses),
	)
	return o, first(err)
}

func parseChecks(f fields, rubrics []rubric) (opinion, error) {
	var o opinion
	var list []json.RawMessage
	if err := first(errors.Join(f.only("checks", "reason", "reasoning"), f.decode("checks", "a list", &list), f.reason(&o.reason))); err != nil {
		return o, err
	}
	found := make(map[string]check)
	for i, raw := range list {
		id, c, err := parseCheck(raw, rubrics)
		if err != nil {
			return o, fmt.Errorf("checks[%d]: %w", i, err)
		}
		if _, twice := found[id]; twice {
			return o, fmt.Errorf("checks[%d]: rubric %s is there twice", i, id)
		}
		found[id] = c
	}
	for _, r := range rubrics {
		c, ok := found[r.id]
		if !ok {
			return o, fmt.Errorf("rubric %s is missing", r.id)
		}
		o.checks = append(o.checks, c)
	}
	o.score = mean(rubrics, o.checks)
	return o, nil
}

// mean returns the mean of the checks' scores by weight, in 0..1: full only if all are.
func mean(rubrics []rubric, checks []check) float64 {
	var sum, weight float64
	full := true
	for i, c := range checks {
		sum += c.score * rubrics[i].weight
		weight += maxScore * rubrics[i].weight
		full = full && c.score == maxScore
	}
	if full {
		return 1
	}
	return rounded(min(sum/weight, math.Nextafter(1, 0)))
}

func parseCheck(raw json.RawMessage, rubrics []rubric) (id string, c check, err error) {
	f, err := fieldsOf(raw)
	if err != nil {
		return "", c, err
	}
	if err := f.decode("id", "a string", &id); err != nil {
		return "", c, err
	}
	i := slices.IndexFunc(rubrics, func(r rubric) bool { return r.id == id })
	if i < 0 {
		return "", c, fmt.Errorf("there is no rubric %q", id)
	}
	if rubrics[i].graded() {
		err = errors.Join(f.only("id", "score", "reason", "reasoning"), f.number("score", maxScore, &c.score), f.reason(&c.reason))
		if err == nil && c.score != math.Trunc(c.score) {
			err = fmt.Errorf("the score %v of rubric %s is not an integer", c.score, id)
		}
		return id, c, first(err)
	}
	var holds bool
	err = errors.Join(f.only("id", "pass", "reason", "reasoning"), f.decode("pass", "true or false", &holds), f.reason(&c.reason))
	if holds {
		c.score = maxScore
	}
	return id, c, first(err)
}

// first returns the first of joined errors: a reply is refused for one reason.
func first(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()[0]
	}
	return err
}

// fields are the fields of an object by their exact names.
type fields map[string]json.RawMessage

func fieldsOf(object json.RawMessage) (fields, error) {
	var f fields
	if err := json.Unmarshal(object, &f); err != nil || f == nil {
		return nil, fmt.Errorf("%.40q is not an object", object)
	}
	return f, nil
}

// only reports keys besides these.
func (f fields) only(keys ...string) error {
	for _, key := range slices.Sorted(maps.Keys(f)) {
		if !slices.Contains(keys, key) {
			return fmt.Errorf("unknown key %q", key)
		}
	}
	return nil
}

// decode stores the value of a key that must be there.
func (f fields) decode(key, kind string, to any) error {
	raw, ok := f[key]
	if !ok {
		return fmt.Errorf("it has no %q", key)
	}
	if err := json.Unmarshal(raw, to); err != nil || string(raw) == "null" { // null leaves a Go value as it is
		return fmt.Errorf("%q is not %s", key, kind)
	}
	return nil
}

// number stores a number from 0 to most.
func (f fields) number(key string, most float64, to *float64) error {
	if err := f.decode(key, "a number", to); err != nil {
		if raw := f[key]; len(raw) > 0 && strings.ContainsAny(string(raw[:1]), "-0123456789") { // one, but for no float64
			return fmt.Errorf("the %s %.40s is outside 0..%v", key, raw, most)
		}
		return err
	}
	if !(*to >= 0 && *to <= most) {
		return fmt.Errorf("the %s %v is outside 0..%v", key, *to, most)
	}
	*to = math.Abs(*to) // -0
	return nil
}

// reason stores the reason, which goes by two names and may be absent.
func (f fields) reason(to *string) error {
	_, short := f["reason"]
	_, long := f["reasoning"]
	switch {
	case short && long:
		return errors.New("it has a reason and a reasoning")
	case short:
		return f.decode("reason", "a string", to)
	case long:
		return f.decode("reasoning", "a string", to)
	}
	return nil
}

// texts stores a list of texts that may be absent; blank ones are left out.
func (f fields) texts(key string, to *[]string) error {
	if _, ok := f[key]; !ok {
		return nil
	}
	var list []*string
	if err := f.decode(key, "a list of strings", &list); err != nil {
		return err
	}
	for _, text := range list {
		if text == nil {
			return fmt.Errorf("%q is not a list of strings", key)
		}
		if strings.TrimSpace(*text) != "" {
			*to = append(*to, *text)
		}
	}
	return nil
}
