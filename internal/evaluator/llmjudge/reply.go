package llmjudge

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/llm"
)

// opinion is what one reply says.
type opinion struct {
	by           string  // the model, as the server names it; empty: it does not
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

// parse reads a reply. A reply that is not exactly what was asked for is an error: an unknown key, a value of another
// type, a score out of range, a rubric that is missing, unknown or duplicate.
func parse(reply string, rubrics []rubric) (opinion, error) {
	object, err := llm.ParseObject(reply)
	if err != nil {
		return opinion{}, err
	}
	var fields jsonvalue.Object
	if err := json.Unmarshal(object, &fields); err != nil {
		return opinion{}, err
	}
	var o opinion
	if len(rubrics) == 0 {
		o, err = parseScore(fields)
	} else {
		o, err = parseChecks(fields, rubrics)
	}
	if err != nil {
		return opinion{}, fmt.Errorf("the reply: %w", err)
	}
	return o, nil
}

func parseScore(f jsonvalue.Object) (opinion, error) {
	var o opinion
	if _, ok := f["pass"]; ok {
		return o, errors.New("it has `pass`, but the threshold decides what passes")
	}
	err := errors.Join(
		f.Only("score", "reason", "reasoning", "hits", "misses"), f.Number("score", 1, &o.score), reason(f, &o.reason),
		texts(f, "hits", &o.hits), texts(f, "misses", &o.misses),
	)
	if err == nil && o.score == 1 && len(o.misses) > 0 && len(o.hits) == 0 {
		err = fmt.Errorf("it gives the full score, and says only what was missed: %s",
			excerpt.Line(o.misses[0], maxText))
	}
	return o, first(err)
}

func parseChecks(f jsonvalue.Object, rubrics []rubric) (opinion, error) {
	var o opinion
	var list []jsonvalue.Object
	if err := first(errors.Join(
		f.Only("checks", "reason", "reasoning"), f.Decode("checks", "a list of objects", &list), reason(f, &o.reason),
	)); err != nil {
		return o, err
	}
	found := make(map[string]check)
	for i, f := range list {
		id, c, err := parseCheck(f, rubrics)
		if err != nil {
			return o, fmt.Errorf("checks[%d]: %w", i, err)
		}
		if _, twice := found[id]; twice {
			return o, fmt.Errorf("checks[%d]: duplicate rubric %q", i, id)
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

func parseCheck(f jsonvalue.Object, rubrics []rubric) (id string, c check, err error) {
	if err := f.Decode("id", "a string", &id); err != nil {
		return "", c, err
	}
	i := slices.IndexFunc(rubrics, func(r rubric) bool { return r.id == id })
	if i < 0 {
		return "", c, fmt.Errorf("unknown rubric %q", id)
	}
	if rubrics[i].graded() {
		err = errors.Join(f.Only("id", "score", "reason", "reasoning"), f.Number("score", maxScore, &c.score),
			reason(f, &c.reason))
		if err == nil && c.score != math.Trunc(c.score) {
			err = fmt.Errorf("the score %v of rubric %s is not an integer", c.score, id)
		}
		return id, c, first(err)
	}
	var holds bool
	err = errors.Join(f.Only("id", "pass", "reason", "reasoning"), f.Decode("pass", "true or false", &holds),
		reason(f, &c.reason))
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

// reason stores the reason, which goes by two names and may be absent.
func reason(f jsonvalue.Object, to *string) error {
	_, short := f["reason"]
	_, long := f["reasoning"]
	switch {
	case short && long:
		return errors.New("it has both `reason` and `reasoning`")
	case short:
		return f.Decode("reason", "a string", to)
	case long:
		return f.Decode("reasoning", "a string", to)
	}
	return nil
}

// texts stores a list of texts that may be absent; blank ones are left out.
func texts(o jsonvalue.Object, key string, to *[]string) error {
	if _, ok := o[key]; !ok {
		return nil
	}
	err := o.Texts(key, to)
	*to = slices.DeleteFunc(*to, func(text string) bool { return strings.TrimSpace(text) == "" })
	return err
}
