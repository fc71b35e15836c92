package playbook

import (
	"slices"

	"github.com/sdd-eval/sdd-eval/internal/doc"
)

// builtinStyles are the workflow styles whose templates are part of this program.
var builtinStyles = []string{"sdd", "sdd-legacy"}

// StyleSource is a workflow style of the playbook's own: a directory of templates.
type StyleSource struct {
	// Name is what variants call the style. The built-in styles sdd and sdd-legacy keep theirs.
	Name string `yaml:",key" pattern:"^[a-zA-Z][a-zA-Z0-9_-]*$"`

	// Dir has the style's files, relative to the playbook's directory. Whether it exists is only checked by the run.
	Dir string `yaml:"dir,required" doc:"Directory with the style's files, relative to the playbook's directory."`

	// Position is where the style's name stands.
	Position Position `yaml:",position"`
}

// styleNames returns the styles that variants may have.
func (p *Playbook) styleNames() []string {
	names := slices.Clone(builtinStyles)
	for _, s := range p.Styles {
		names = append(names, s.Name)
	}
	return names
}

// styles checks the playbook's own styles, and that variants have a style that there is.
func (c checker) styles() {
	for _, s := range c.p.Styles {
		if slices.Contains(builtinStyles, s.Name) {
			c.root.Get("styles").Get(s.Name).Errorf("", "%q is a built-in style, choose another name", s.Name)
		}
	}
	names := c.p.styleNames()
	for _, v := range c.p.Variants {
		if v.Style != "" && !slices.Contains(names, v.Style) {
			c.root.Get("variants").Get(v.ID).Errorf("style", "unknown style %q%s: it is sdd, sdd-legacy or a name under `styles`",
				v.Style, doc.DidYouMean(v.Style, names))
		}
	}
}
