package aijudge

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
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
	var o jsonvalue.Object
	if err := json.Unmarshal(object, &o); err != nil {
		return 0, "", err
	}
	for _, err := range []error{
		o.Only("score", "reason"), o.Number("score", 10, &score), o.Decode("reason", "a string", &reason),
	} {
		if err != nil {
			return 0, "", fmt.Errorf("the reply: %w", err)
		}
	}
	if err := check(score, reason); err != nil {
		return 0, "", err
	}
	return score, reason, nil
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
