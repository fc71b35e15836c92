package plan

import (
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/doc"
)

// A playbook may say of a variant only how it differs from others. What follows makes whole variants of these before
// the file is decoded: nothing behind it knows of differences.

// added are the lists of variants whose elements are added to those of a base. What else a variant states takes the
// place of what its base says.
var added = []string{"workspace.add", "skills", "plugins", "mcp", "env.pass"}

// notInherited are the keys of a base that hold for it alone.
var notInherited = []string{"base", "reference"}

// expand returns a playbook or an eval file in which each variant has the keys of its base, and which are bases.
func expand(root *doc.Node) (*doc.Node, map[string]bool) {
	variants := root.Get("variants")
	if variants.Kind() != doc.Map {
		return root, nil // reported
	}
	bases := make(map[string]bool)
	e := expansion{variants: variants, whole: make(map[string]*doc.Node)}
	for _, v := range variants.Entries() {
		variants = variants.With(v.Key, e.variant(v.Key, nil))
		bases[v.Value.Get("base").Text()] = true
	}
	return root.With("variants", variants), bases
}

type expansion struct {
	variants *doc.Node            // as the file has them
	whole    map[string]*doc.Node // those that have what their bases say
}

// variant returns a variant with what its base says. Path are the variants that have it as a base.
func (e *expansion) variant(id string, path []string) *doc.Node {
	if whole, ok := e.whole[id]; ok {
		return whole
	}
	own := e.variants.Get(id)
	base, path := own.Get("base"), append(path, id)
	switch name := base.Text(); {
	case base.Kind() != doc.String || name == "": // there is none, or it is reported
	case slices.Contains(path, name):
		base.Errorf("", "each of these variants is the base of the one before: %s",
			strings.Join(append(path[slices.Index(path, name):], name), ", "))
	case e.variants.Get(name) == nil:
		base.Errorf("", "no variant is called %q%s", name, doc.DidYouMean(name, keysOf(e.variants)))
	default:
		from := e.variant(name, path)
		if from.Kind() == doc.Map && own.Kind() == doc.Map {
			own = merge(from.Without(notInherited...), own)
		}
	}
	e.whole[id] = own
	return own
}

// merge returns a variant with what another states. An agent of another kind has nothing of the one before.
func merge(from, own *doc.Node) *doc.Node {
	if own.Get("agent").Get("kind") != nil {
		from = from.Without("agent")
	}
	return from.Merge(own, added...)
}

func keysOf(n *doc.Node) []string {
	var keys []string
	for _, e := range n.Entries() {
		keys = append(keys, e.Key)
	}
	return keys
}
