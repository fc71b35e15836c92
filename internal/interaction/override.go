package interaction

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/wildcard"
)

// Override is what a playbook says that a tool answers, whatever it would have answered.
type Override struct {
	Tool string
	// Args are members that the arguments must have, as normalised as those of an [Interaction]; nil: any will do.
	Args any
	// Nth is the call that is overridden, 1-based among those that match; 0: every one.
	Nth int
	// Output is the answer, as decoded JSON. With Error, the call fails instead.
	Output any
	Error  string
	// Position says for people where the override is written.
	Position string
}

// Overrides are those of one session, which count its calls. The methods may be called concurrently; nil is no
// overrides.
type Overrides struct {
	all []Override

	mu      sync.Mutex
	matched []int // calls, by override
	applied []bool
}

// NewOverrides returns overrides, of which the first that applies to a call counts. Arguments that cannot be JSON
// panic.
func NewOverrides(all []Override) *Overrides {
	o := &Overrides{all: slices.Clone(all), matched: make([]int, len(all)), applied: make([]bool, len(all))}
	for i := range o.all {
		o.all[i].Args = decoded(o.all[i].Args)
	}
	return o
}

// All returns the overrides.
func (o *Overrides) All() []Override {
	if o == nil {
		return nil
	}
	return slices.Clone(o.all)
}

// Apply counts a call and returns its answer, if an override gives one: an output, or an error if that is not empty.
func (o *Overrides) Apply(tool string, args any) (answer any, err string, ok bool) {
	if o == nil || len(o.all) == 0 {
		return nil, "", false
	}
	args = decoded(args)
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, over := range o.all {
		if !wildcard.Match(over.Tool, tool) || over.Args != nil && !contains(args, over.Args) {
			continue
		}
		o.matched[i]++
		if !ok && (over.Nth == 0 || over.Nth == o.matched[i]) {
			answer, err, ok = over.Output, over.Error, true
			o.applied[i] = true
		}
	}
	return answer, err, ok
}

// Unapplied returns the overrides that changed no answer: no call matched, or not that many, or an override before had
// its way.
func (o *Overrides) Unapplied() []Override {
	if o == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	var unapplied []Override
	for i, over := range o.all {
		if !o.applied[i] {
			unapplied = append(unapplied, over)
		}
	}
	return unapplied
}

// contains reports whether a value has all that part says: of an object the members that part names, of anything else
// the whole. An empty object says nothing.
func contains(v, part any) bool {
	want, ok := part.(map[string]any)
	if !ok {
		return jsonvalue.Equal(v, part)
	}
	got, _ := v.(map[string]any)
	for name, value := range want {
		other, ok := got[name]
		if !ok || !contains(other, value) {
			return false
		}
	}
	return true
}

// The tools that an agent asks its client for, by the names of the protocol's methods.
const (
	readFile       = "fs/read_text_file"
	writeFile      = "fs/write_text_file"
	askPermission  = "session/request_permission"
	createTerminal = "terminal/create"
)

// ClientTools are the names of what an agent can ask of its client, sorted.
var ClientTools = []string{readFile, writeFile, askPermission, createTerminal}

// Cancelled is the decision that chooses no option.
const Cancelled = "cancelled"

var decisions = []string{"allow_once", "allow_always", "reject_once", "reject_always", Cancelled}

// CheckOutput returns why a tool cannot have an output, nil if it can. A tool that is none of [ClientTools] can have
// any:
//
//   - fs/read_text_file: the text
//   - fs/write_text_file: an empty text; nothing is written
//   - terminal/create: what is printed, by a command that exits with 0, or {output, exit_code}
//   - session/request_permission: allow_once, allow_always, reject_once, reject_always or cancelled
func CheckOutput(tool string, output any) error {
	var err error
	switch tool {
	case readFile:
		_, err = FileText(output)
	case writeFile:
		if output != "" {
			err = fmt.Errorf(`must be "", as nothing is written, not %s`, shownOutput(output))
		}
	case createTerminal:
		_, err = TerminalResult(output)
	case askPermission:
		_, err = PermissionDecision(output)
	}
	return err
}

// FileText returns a file's text.
func FileText(output any) (string, error) {
	text, ok := output.(string)
	if !ok {
		return "", fmt.Errorf("must be the file's text, not %s", shownOutput(output))
	}
	return text, nil
}

// Printed is the result of a command in a terminal.
type Printed struct {
	Output   string `json:"output"`
	ExitCode int    `json:"exit_code"`
}

// TerminalResult returns the result of a command.
func TerminalResult(output any) (Printed, error) {
	if text, ok := output.(string); ok {
		return Printed{Output: text}, nil
	}
	var p Printed
	data, err := json.Marshal(output)
	if err == nil {
		err = jsonvalue.DecodeStrict(data, &p, 0)
	}
	if _, object := output.(map[string]any); !object || err != nil {
		return Printed{}, fmt.Errorf("must be what is printed, or {output, exit_code}, not %s", shownOutput(output))
	}
	return p, nil
}

// PermissionDecision returns the kind of the option that is chosen, or [Cancelled].
func PermissionDecision(output any) (string, error) {
	decision, ok := output.(string)
	if !ok || !slices.Contains(decisions, decision) {
		return "", fmt.Errorf("must be one of %s, not %s", strings.Join(decisions, ", "), shownOutput(output))
	}
	return decision, nil
}

// shownOutput shows a value of the wrong type.
func shownOutput(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("a %T", v)
	}
	return string(data)
}
