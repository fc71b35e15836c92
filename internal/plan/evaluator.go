package plan

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/sdd-eval/sdd-eval/internal/doc"
)

// Evaluator is an expectation that each unit must meet.
type Evaluator struct {
	// Name is unique in a unit and names the evaluator's subtest; default: its type.
	Name string
	// Type is the name under which its [Kind] is known.
	Type string
	// Threshold is the lowest score that passes, above 0 and up to 1; default 1.
	Threshold float64
	// Weight is the evaluator's weight in the reported mean score, which decides nothing; default 1.
	Weight float64
	// Advisory is set by `required: false`: the score is reported and decides nothing. An error is still an error.
	Advisory bool
	// MinAgreement is the least kappa, above 0 and up to 1, with which people must agree with the evaluator; 0: any.
	// Where that is not known the evaluator ends in error.
	MinAgreement float64
	// AfterSteps is set by `after: steps`: the evaluator looks at the workspace as the steps after the agent left it,
	// and at what steps before the agent made. Otherwise it looks at it as the agent left it.
	AfterSteps bool
	// Config is what the [Kind] made of the other keys.
	Config any
	// Digest is of the entry's text, so that what two playbooks expect can be compared; empty if it is not in a
	// playbook.
	Digest string
	// Position is where the evaluator's entry begins.
	Position doc.Position
}

// Kind is a type of evaluators.
type Kind struct {
	// Decode decodes an evaluator's own keys, those besides name, type, threshold, weight and required, to its
	// configuration, which becomes [Evaluator.Config]. It reports errors on the node; its result then does not matter.
	Decode func(n *doc.Node) any
	// Keys is a value of the struct that Decode has [Node.Decode] store the keys in, for [Schema]; nil: the schema
	// takes any keys.
	Keys any
	// NoFiles tells that evaluators of the kind never look at the workspace.
	NoFiles bool
	// Descriptions are those of keys that are too long for a tag, by key.
	Descriptions map[string]string
}

// Kinds are the types of evaluators that a playbook may use, by name.
type Kinds map[string]Kind

// evaluatorKeys are the keys that all evaluators have.
type evaluatorKeys struct {
	Name      string       `yaml:"name" pattern:"id" doc:"Name of the subtest; default: the type."`
	Type      string       `yaml:"type,required" doc:"The kind of evaluator."`
	Threshold float64      `yaml:"threshold" default:"1" above:"0" max:"1"`
	Weight    float64      `yaml:"weight" default:"1" min:"0" doc:"Part in the reported mean score; decides nothing."`
	Required  *bool        `yaml:"required"`
	Agreement float64      `yaml:"min_agreement" above:"0" max:"1"`
	After     string       `yaml:"after" enum:"agent,steps" default:"agent"`
	Position  doc.Position `yaml:",position"`
	Rest      *doc.Node    `yaml:",rest"`
}

// decode decodes an entry of a list of evaluators.
func (ks Kinds) decode(e *Evaluator, n *doc.Node) {
	var keys evaluatorKeys
	n.Decode(&keys)
	*e = Evaluator{
		Name: keys.Name, Type: keys.Type, Threshold: keys.Threshold, Weight: keys.Weight,
		Advisory: keys.Required != nil && !*keys.Required, AfterSteps: keys.After == "steps", Position: keys.Position,
		MinAgreement: keys.Agreement,
	}
	if e.Advisory && keys.Agreement > 0 {
		n.Errorf("min_agreement", "with `required: false` the evaluator decides nothing: remove one of both")
	}
	if e.Type == "" {
		return // reported
	}
	value := n.Value()
	if keys, ok := value.(map[string]any); ok { // it does not say how the evaluator judges
		delete(keys, "min_agreement")
	}
	if text, err := json.Marshal(value); err == nil { // always, of what was read as YAML
		e.Digest = fmt.Sprintf("%x", sha256.Sum256(text))
	}
	if n.Get("name") == nil {
		e.Name = e.Type
	}
	kind, ok := ks[e.Type]
	if !ok {
		n.Errorf("type", "unknown type %q%s", e.Type, doc.DidYouMean(e.Type, slices.Sorted(maps.Keys(ks))))
		return
	}
	e.Config = kind.Decode(keys.Rest)
	if n.Get("after") != nil && kind.NoFiles {
		n.Errorf("after", "an evaluator of type %s looks at no files", e.Type)
	}
}
