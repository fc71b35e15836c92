package plan_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/sdd-eval/sdd-eval/internal/plan"
)

func TestNameAtHead(t *testing.T) {
	for _, tt := range []struct {
		what, text, name string
		line             int    // of what is wrong; 0: nothing is
		reason           string // its beginning
	}{
		{what: "plain", text: "---\nname: pdf\ndescription: Reads PDFs.\n---\n", name: "pdf"},
		{what: "of another system", text: "\uFEFF---\r\nname: pdf\r\n---\r\n", name: "pdf"},
		{what: "a quoted key and a folded name are YAML", text: "---\n\"name\": >-\n  pdf\n---\n", name: "pdf"},
		{
			what: "what is no YAML is read by lines",
			text: "---\nname: 'pdf' # once\ndescription: Do: it\n---\n", name: "pdf",
			line: 3, reason: "the front matter is not what every agent reads: ",
		},
		{what: "no name", text: "---\ndescription: x\n---\n", line: 1, reason: "the front matter has no name"},
		{what: "not closed", text: "---\nname: pdf\n", line: 1, reason: "there is no front matter"},
		{what: "no head", text: "# PDF\n", line: 1, reason: "there is no front matter"},
		{what: "empty", line: 1, reason: "there is no front matter"},
	} {
		name, problem := plan.NameAtHead("SKILL.md", []byte(tt.text))
		assert.Equal(t, tt.name, name, tt.what)
		if tt.line == 0 {
			assert.Nil(t, problem, tt.what)
			continue
		}
		if assert.NotNil(t, problem, tt.what) {
			assert.Equal(t, tt.line, problem.Line, tt.what)
			assert.Regexp(t, "^"+tt.reason, problem.Reason, tt.what)
		}
	}
}
