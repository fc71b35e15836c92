package playbook

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/doc"
)

// Variant is one agent in one configuration.
type Variant struct {
	ID string `yaml:",key" pattern:"^[a-zA-Z][a-zA-Z0-9_-]*$"`

	// Style is the workflow style: sdd, sdd-legacy or one of [Playbook.Styles]; empty: none, which [ActionStyle] refuses.
	Style string `yaml:"style" min:"1" doc:"The workflow style: sdd, sdd-legacy or a name under styles."`
	Agent Agent  `yaml:"agent,required" doc:"The agent and how it is started."`

	// Position is where the variant's id stands.
	Position Position `yaml:",position"`
}

// Agent says which agent to start and how.
type Agent struct {
	// Kind is a product's, such as claude-code-acp, or acp (any agent that speaks the protocol) or fake-acp (the built-in
	// script). docs/playbook.md has a table of all.
	Kind string `yaml:"kind,required" doc:"The kind of agent."`

	// Preset names an account in the user's configuration. It is never a secret itself. Some kinds need one.
	Preset string `yaml:"preset" min:"1" doc:"Name of an account preset, never a secret."`

	// Command is the program to start; empty: the kind's own. Kind acp needs one.
	Command string `yaml:"command" min:"1" doc:"The program to start; default by kind."`

	// Args are the program's arguments; nil: the kind's own, which they otherwise replace. For fake-acp: the path of a
	// script, else the built-in one runs.
	Args []string `yaml:"args" doc:"Arguments of the program; default by kind."`

	Model string `yaml:"model" min:"1" doc:"The model to select; default: the agent's."`
	Mode  string `yaml:"mode" min:"1" doc:"The session mode to select, e.g. acceptEdits; default: the agent's."`
}

func (a *Agent) decode(n *doc.Node) {
	if !n.Decode(a) {
		return
	}
	for _, e := range a.problems() {
		n.Errorf(e.Path, "%s", e.Reason)
	}
}

// Check returns what is wrong with an agent that was not read from a playbook.
func (a Agent) Check() error {
	var errs []error
	for _, e := range a.problems() {
		errs = append(errs, errors.New(strings.TrimPrefix(e.Path+": "+e.Reason, ": ")))
	}
	return errors.Join(errs...)
}

func (a Agent) problems() Errors {
	profile, ok := agent.Lookup(a.Kind)
	kinds := agent.Kinds()
	if !ok {
		reason := fmt.Sprintf("must be one of %s, not %q%s", strings.Join(kinds, ", "), a.Kind, doc.DidYouMean(a.Kind, kinds))
		return Errors{{Path: "kind", Reason: reason}}
	}
	var es Errors
	if profile.NeedsPreset && a.Preset == "" {
		es = append(es, Error{Reason: fmt.Sprintf("agents of kind %s need a `preset`", a.Kind)})
	}
	if profile.Command == "" && a.Command == "" {
		es = append(es, Error{Reason: fmt.Sprintf("agents of kind %s need a `command`", a.Kind)})
	}
	return es
}
