package codejudge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/sdd-eval/sdd-eval/evaltest/judge"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// agentV5 reads the reply of a judge that was written for AgentV 5. Its checks have an evidence, and need neither pass
// nor a score beside them: then the score is their mean, and the threshold decides.
func agentV5(reply []byte) (judge.Result, error) {
	ours, err := fromAgentV5(bytes.TrimPrefix(reply, []byte("\ufeff")))
	if err != nil {
		return judge.Result{}, fmt.Errorf("the reply is not a verdict of AgentV 5: %w; it was %s", err,
			excerpt.Quote(strings.TrimSpace(string(reply)), maxQuoted))
	}
	return judge.ParseResult(ours)
}

// maxQuoted is how many characters of a reply an error shows.
const maxQuoted = 500

// fromAgentV5 returns the reply in the form that [judge.ParseResult] reads.
func fromAgentV5(reply []byte) ([]byte, error) {
	var o jsonvalue.Object
	if err := jsonvalue.DecodeStrict(reply, &o, 0); err != nil {
		return nil, err
	}
	for old, name := range map[string]string{"passed": "pass", "reasoning": "reason"} {
		if v := o[old]; v != nil && o[name] == nil { // what the judges of its examples write, though it reads the score
			o[name] = v
			delete(o, old)
		}
	}
	if err := assertions(o); err != nil {
		return nil, err
	}
	checks := []jsonvalue.Object{}
	if list, ok := o["checks"]; ok && string(list) != "null" {
		if err := json.Unmarshal(list, &checks); err != nil {
			return nil, errors.New("checks must be a list of objects")
		}
	}
	var sum float64
	var hits, misses []string
	for i, c := range checks {
		var pass bool
		var text, reason, evidence string
		if err := errors.Join(
			c.Decode("pass", "true or false", &pass), c.Decode("text", "a string", &text),
			c.Decode("reason", "a string", &reason),
		); err != nil {
			return nil, fmt.Errorf("checks[%d]: %w", i, err)
		}
		if _, ok := c["evidence"]; ok {
			if err := c.Decode("evidence", "a string", &evidence); err != nil {
				return nil, fmt.Errorf("checks[%d]: %w", i, err)
			}
			delete(c, "evidence")
		}
		if evidence != "" {
			reason = strings.TrimPrefix(reason+"; evidence: "+evidence, "; ")
			c["reason"], _ = json.Marshal(reason) // a string
		}
		score := 0.0
		if pass {
			score, hits = 1, append(hits, text)
		} else {
			misses = append(misses, strings.TrimSuffix(text+": "+reason, ": "))
		}
		if _, ok := c["score"]; ok {
			if err := c.Number("score", 1, &score); err != nil {
				return nil, fmt.Errorf("checks[%d]: %w", i, err)
			}
		}
		sum += score
	}
	if _, ok := o["score"]; !ok && len(checks) > 0 {
		o["score"], _ = json.Marshal(sum / float64(len(checks)))
	}
	var err error
	if _, ok := o["pass"]; ok || len(checks) == 0 && o["reason"] == nil {
		if len(checks) > 0 {
			o["checks"], err = json.Marshal(checks)
		}
		return encoded(o, err)
	}
	if _, ok := o["score"]; !ok {
		return nil, errors.New("it has none of pass, score and checks")
	}
	// Without pass the threshold decides, which is what the other form of verdicts says.
	delete(o, "checks")
	if reason, ok := o["reason"]; ok {
		o["reasoning"] = reason
		delete(o, "reason")
	}
	o["hits"], err = json.Marshal(append([]string{}, hits...))
	if err == nil {
		o["misses"], err = json.Marshal(append([]string{}, misses...))
	}
	return encoded(o, err)
}

// assertions makes checks of the assertions that judges of AgentV wrote before it had checks. They decide nothing: its
// versions 5 read the score beside them.
func assertions(o jsonvalue.Object) error {
	text, ok := o["assertions"]
	if !ok || string(text) == "null" {
		delete(o, "assertions")
		return nil
	}
	if o["checks"] != nil {
		return errors.New("it has both checks and assertions")
	}
	if o["pass"] == nil && o["score"] == nil {
		return errors.New("it has none of pass, score and checks: assertions alone decide nothing")
	}
	var list []jsonvalue.Object
	if err := json.Unmarshal(text, &list); err != nil {
		return errors.New("assertions must be a list of objects")
	}
	for i, a := range list {
		var passed bool
		if err := a.Decode("passed", "true or false", &passed); err != nil {
			return fmt.Errorf("assertions[%d]: %w", i, err)
		}
		a["pass"] = a["passed"]
		delete(a, "passed")
		if string(a["evidence"]) == "null" {
			delete(a, "evidence")
		}
		if a["reason"] == nil {
			a["reason"] = json.RawMessage(`""`)
		}
	}
	delete(o, "assertions")
	if len(list) == 0 {
		return nil
	}
	var err error
	o["checks"], err = json.Marshal(list)
	return err
}

func encoded(o jsonvalue.Object, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return json.Marshal(o)
}
