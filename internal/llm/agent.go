package llm

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// Agent is an agent that judges.
type Agent struct {
	// Kind, Preset, Command and Args are as in a playbook's agents.
	Kind    string   `json:"kind"`
	Preset  string   `json:"preset,omitempty"`
	Command string   `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`
	// Timeout is how long it may take to answer; 0: [AgentTimeout]. It makes the question no other one.
	Timeout time.Duration `json:"-"`
}

// AgentTimeout is how long an agent may take to answer where nobody says otherwise.
const AgentTimeout = 5 * time.Minute

// Check is one thing that an agent judges.
type Check struct {
	// ID is unique in the request. Equal checks of other ids are the same question.
	ID string `json:"id"`
	// Text is what must hold.
	Text string `json:"check"`
}

// Verdict is what an agent says of a check.
type Verdict struct {
	Passed   bool   `json:"passed"`
	Evidence string `json:"evidence"`
	// Program is the agent by the name and the version that it gives itself, Model the model that answered, as far as
	// it tells.
	Program string `json:"-"`
	Model   string `json:"-"`
}

// Judge names who is asked.
func (r Request) Judge() string {
	if r.Agent == nil {
		return r.Model
	}
	name := r.Agent.Kind
	if r.Agent.Preset != "" {
		name += "/" + r.Agent.Preset
	}
	if r.Model != "" {
		name += " (" + r.Model + ")"
	}
	return name
}

// AgentForm says in the task of an agent what it may do, and what its reply is.
const AgentForm = "Use no tools, read no files and ask nothing: all that there is to see is in this message.\n\n" +
	"Judge each of the checks below on its own: it passes if what it says holds, and fails if it does not, or if " +
	"nothing shows that it does. Answer with one JSON list and nothing else, with exactly one object for each " +
	"check:\n" +
	`[{"id": "the check's id", "passed": true or false, "evidence": "one or two sentences that quote what decides"}, ` +
	`...]`

// Prompt is what an agent is told: the task, the checks, and what it judges.
func (r Request) Prompt() string {
	checks, err := jsonvalue.MarshalIndent(r.Checks, "", "  ")
	if err != nil {
		panic("llm: checks of our own: " + err.Error())
	}
	return r.System + "\n\n# Checks\n" + string(checks) + "\n\n" + r.User
}

// ParseVerdicts reads an agent's reply about checks. One that does not have exactly one verdict on each of them is an
// error, and so is whatever [ParseObject] would not take around an object.
func ParseVerdicts(text string, checks []Check) ([]Verdict, error) {
	raw, err := parseOne(text, list)
	if err != nil {
		return nil, err
	}
	var entries []jsonvalue.Object
	if err := json.Unmarshal(raw, &entries); err != nil {
		return nil, errors.New("the reply is not a list of objects")
	}
	verdicts, found := make([]Verdict, len(checks)), make([]bool, len(checks))
	for i, entry := range entries {
		id, v, err := parseVerdict(entry)
		at := slices.IndexFunc(checks, func(c Check) bool { return c.ID == id })
		switch {
		case err != nil:
			return nil, fmt.Errorf("the reply: [%d]: %w", i, err)
		case at < 0:
			return nil, fmt.Errorf("the reply: [%d]: unknown check %s", i, excerpt.Quote(id, maxName))
		case found[at]:
			return nil, fmt.Errorf("the reply: [%d]: duplicate check %q", i, id)
		}
		verdicts[at], found[at] = v, true
	}
	if i := slices.Index(found, false); i >= 0 {
		return nil, fmt.Errorf("the reply: check %s is missing", checks[i].ID)
	}
	return verdicts, nil
}

func parseVerdict(o jsonvalue.Object) (id string, v Verdict, err error) {
	err = cmp.Or(
		o.Only("id", "passed", "evidence"), o.Decode("id", "a string", &id),
		o.Decode("passed", "true or false", &v.Passed), o.Decode("evidence", "a string", &v.Evidence),
	)
	if err == nil && strings.TrimSpace(v.Evidence) == "" {
		err = errors.New("evidence is empty")
	}
	return id, v, err
}

// AnotherOfAgent says that another model answered than the one that an agent was told to use, by the agent's word; else
// it is empty. Agents take short names of models, and "default", and name them in full.
func AnotherOfAgent(asked, answered string) string {
	name, _, _ := strings.Cut(strings.ToLower(asked), "[") // what follows is an option of the model
	between := func(r rune) bool { return strings.ContainsRune("-/@:[]", r) }
	words := strings.FieldsFunc(strings.ToLower(answered), between)
	if asked == "" || name == "default" || slices.Contains(words, name) || !isAnother(asked, answered) {
		return ""
	}
	return anotherOf("agent", asked, answered)
}
