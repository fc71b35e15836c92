package aijudge

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/llm"
)

// maxReason is how long a reason may be, in bytes.
const maxReason = 10_000

// parse reads a reply: an object with a score from 0 to 10 and a reason, and nothing else. What differs in any way is an
// error, never a score.
func parse(reply string) (score float64, reason string, err error) {
	object, err := llm.ParseObject(reply)
	if err != nil {
		return 0, "", err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(object, &fields); err != nil {
		return 0, "", err
	}
	var unknown []string
	for key := range fields {
		if key != "score" && key != "reason" {
			unknown = append(unknown, strconv.Quote(key))
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		return 0, "", fmt.Errorf("unknown keys in the reply: %s", strings.Join(unknown, ", "))
	}
	if err := decodeField(fields, "score", "number", &score); err != nil {
		return 0, "", err
	}
	if err := decodeField(fields, "reason", "string", &reason); err != nil {
		return 0, "", err
	}
	if err := check(score, reason); err != nil {
		return 0, "", err
	}
	return score, reason, nil
}

func decodeField(fields map[string]json.RawMessage, key, kind string, to any) error {
	raw, ok := fields[key]
	if !ok {
		return fmt.Errorf("the reply has no %s", key)
	}
	if err := json.Unmarshal(raw, to); err != nil || string(raw) == "null" { // null leaves a Go value as it is
		return fmt.Errorf("the reply's %s is not a %s", key, kind)
	}
	return nil
}

// check holds a score and its reason to their ranges.
func check(score float64, reason string) error {
	switch {
	case !(score >= 0 && score <= 10):
		return fmt.Errorf("the score %v is outside 0..10", score)
	case strings.TrimSpace(reason) == "":
		return errors.New("the score has no reason")
	case len(reason) > maxReason:
		return fmt.Errorf("the reason has more than %d bytes", maxReason)
	}
	return nil
}

// maxQuoted is how many characters of a reply an error shows.
const maxQuoted = 2_000
