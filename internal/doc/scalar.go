package doc

import (
	"gopkg.in/yaml.v3"

	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
)

var (
	jsonNumber = lazyregexp.New(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)
	// otherNumber is what YAML 1.1 or 1.2 reads as a number and JSON does not: 0x1F, 0o17, 0b1, 017, 1_000, +1, .5
	// and 1.
	otherNumber = lazyregexp.New(`^[-+]?(0x[0-9a-fA-F_]+|0o[0-7_]+|0b[01_]+|` +
		`(\.[0-9][0-9_]*|[0-9][0-9_]*(\.[0-9_]*)?)([eE][-+]?[0-9]+)?)$`)
	notFinite = lazyregexp.New(`^([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$`)
)

// scalar fills n with the scalar y. Only plain scalars can be anything but strings.
func (b *builder) scalar(n *Node, y *yaml.Node) *Node {
	n.kind, n.text = String, y.Value
	switch {
	case y.Kind != yaml.ScalarNode:
		return b.invalid(n, "a key must be a string")
	case y.Style&yaml.TaggedStyle != 0:
		return b.invalid(n, "YAML tags are not supported, remove "+y.Tag)
	case y.Style != 0:
		return n
	}
	switch y.Value {
	case "", "~", "null", "Null", "NULL":
		n.kind = Null
		return n
	case "true", "True", "TRUE":
		n.kind, n.text = Bool, "true"
		return n
	case "false", "False", "FALSE":
		n.kind, n.text = Bool, "false"
		return n
	}
	switch {
	case jsonNumber.MatchString(y.Value):
		n.kind = Number
	case notFinite.MatchString(y.Value):
		return b.invalid(n, "numbers must be finite")
	case otherNumber.MatchString(y.Value):
		return b.invalid(n, "write the number "+y.Value+" in plain decimal, or quote it to make it a string")
	}
	return n
}
