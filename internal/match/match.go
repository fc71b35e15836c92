// Package match compares trajectories given as chat messages, in the form of AgentEvals' test cases: by the matchers of
// package trajectory, or with exactly the answers of npm's agentevals 0.0.7.
package match

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxLine bounds a case.
const maxLine = 64 << 20

// Options say how cases are judged.
type Options struct {
	// Compat judges as npm's agentevals 0.0.7 does: first fit, some matchers called with their sides swapped, unknown
	// modes taken for ignore.
	Compat bool
}

// Summary counts the cases by their answers.
type Summary struct {
	True, False int
	// Errors are about cases that cannot be judged, and about lines that are not cases.
	Errors int
}

// Result is the answer to a case.
type Result struct {
	Name string `json:"name"`
	// Score is nil if there is no answer because of Error.
	Score *bool `json:"score"`
	// Value is in 0..1, and 1 if and only if Score is true. With Compat it is 0 or 1.
	Value *float64 `json:"value,omitempty"`
	// Missing are the reference calls without an actual call of their own, Extra the actual calls without a reference
	// call. Which of the two matter depends on the mode.
	Missing []Call `json:"missing,omitempty"`
	Extra   []Call `json:"extra,omitempty"`
	// Error says why there is no answer, with the line of the case.
	Error string `json:"error,omitempty"`
}

// Call is a tool call of a case.
type Call struct {
	Name string `json:"name"`
	Args any    `json:"args"`
}

// Run reads cases, a JSON object on each line, and writes a [Result] for each, a line each. A case that cannot be judged
// has an error as its result, and those after it are judged. The error is that of reading or writing.
func Run(r io.Reader, w io.Writer, opts Options) (Summary, error) {
	var s Summary
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	n := 0
	for lines.Scan() {
		n++
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		res := judge(lines.Bytes(), opts)
		switch {
		case res.Score == nil:
			s.Errors++
			res.Error = fmt.Sprintf("line %d: %s", n, res.Error)
		case *res.Score:
			s.True++
		default:
			s.False++
		}
		if err := enc.Encode(res); err != nil {
			return s, fmt.Errorf("write the result of line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return s, errors.Join(fmt.Errorf("read line %d: %w", n+1, err), out.Flush())
	}
	if err := out.Flush(); err != nil {
		return s, fmt.Errorf("write results: %w", err)
	}
	return s, nil
}

func judge(line []byte, opts Options) Result {
	c, err := parseCase(line)
	if err != nil {
		return Result{Name: c.Name, Error: err.Error()}
	}
	res, err := c.Judge(opts)
	if err != nil {
		return Result{Name: c.Name, Error: err.Error()}
	}
	return res
}

// answered returns the answer to a case.
func answered(score bool, value float64) Result { return Result{Score: &score, Value: &value} }
