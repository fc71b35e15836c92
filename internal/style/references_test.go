package style

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// placeholders are the files that an agent makes when it works by a style. They are documented in the style's
// llmanspec/changes/README.md or llmanspec/specs/README.md.
var placeholders = map[string][]string{
	"sdd": {
		"llmanspec/specs/<capability>/spec.md",
		"llmanspec/changes/<id>/proposal.md",
		"llmanspec/changes/<id>/specs/<capability>/spec.md",
		"llmanspec/changes/<id>/tasks.md",
		"llmanspec/changes/<id>/verification.md",
		"llmanspec/changes/archive/<id>/",
	},
	"sdd-legacy": {
		"llmanspec/specs/<capability>/spec.md",
		"llmanspec/changes/<id>/gates.md",
		"llmanspec/changes/<id>/requirements.md",
		"llmanspec/changes/<id>/design.md",
		"llmanspec/changes/<id>/decisions/DEC-<n>.md",
		"llmanspec/changes/<id>/plan.md",
		"llmanspec/changes/<id>/test-plan.md",
		"llmanspec/changes/<id>/review.md",
		"llmanspec/changes/<id>/release.md",
		"llmanspec/changes/archive/<id>/",
	},
}

var quoted = regexp.MustCompile("`([^`\n]+)`|\\]\\(([^)\n]+)\\)")

// references returns the paths that a text mentions in backticks or links to.
func references(text string) []string {
	var paths []string
	for _, m := range quoted.FindAllStringSubmatch(text, -1) {
		p := m[1] + m[2]
		if !strings.Contains(p, " ") && (strings.Contains(p, "/") || path.Ext(p) == ".md") {
			paths = append(paths, p)
		}
	}
	return paths
}

// within reports whether p is one of paths or a directory above one.
func within(p string, paths []string) bool {
	return slices.ContainsFunc(paths, func(other string) bool {
		return other == p || strings.HasSuffix(p, "/") && strings.HasPrefix(other, p)
	})
}

func TestNoReferenceDangles(t *testing.T) {
	for _, name := range builtIn {
		t.Run(name, func(t *testing.T) {
			files := embeddedStyle(t, name).Files()
			paths := append(slices.Collect(maps.Keys(files)), placeholders[name]...)
			for file, data := range files {
				refs := references(string(data))
				for _, ref := range refs {
					known := within(ref, paths) || within("llmanspec/changes/<id>/"+ref, paths)
					assert.True(t, known, "%s mentions %s, which is neither in the style nor a documented placeholder",
						file, ref)
				}
			}
		})
	}
}

func TestPlaceholdersAreDocumented(t *testing.T) {
	for _, name := range builtIn {
		t.Run(name, func(t *testing.T) {
			files := embeddedStyle(t, name).Files()
			documented := append(references(string(files["llmanspec/changes/README.md"])),
				references(string(files["llmanspec/specs/README.md"]))...)
			assert.Subset(t, documented, placeholders[name])
		})
	}
}

func TestEveryFileIsReferredTo(t *testing.T) {
	for _, name := range builtIn {
		t.Run(name, func(t *testing.T) {
			files := embeddedStyle(t, name).Files()
			for file := range files {
				referred := file == agentsFile // agents read it by themselves
				for other, data := range files {
					referred = referred || other != file && slices.Contains(references(string(data)), file)
				}
				assert.True(t, referred, "nothing leads an agent to %s", file)
			}
		})
	}
}

func TestEveryTracedIDIsInATemplate(t *testing.T) {
	files := embeddedStyle(t, "sdd-legacy").Files()
	var templates strings.Builder
	for p, data := range files {
		if strings.HasPrefix(p, "llmanspec/templates/") {
			templates.Write(data)
		}
	}
	for _, id := range []string{"REQ-", "AC-", "DES-", "DEC-", "TASK-", "TEST-", "FIND-"} {
		assert.Contains(t, templates.String(), id+"<")
		assert.Contains(t, string(files[agentsFile]), "`"+id+"<", "the table of ids")
	}
}

func TestEveryPhaseHasAGate(t *testing.T) {
	files := embeddedStyle(t, "sdd-legacy").Files()
	for i, phase := range []string{"requirements", "design", "plan", "implement", "review", "release"} {
		gate := "G" + string(rune('1'+i))
		assert.Contains(t, string(files["llmanspec/instructions/"+phase+".md"]), gate, phase)
		assert.Contains(t, string(files["llmanspec/templates/gates.md"]), "## "+gate+" ")
		assert.Contains(t, string(files["llmanspec/project.md"]), "| "+gate+" ")
	}
}

func TestTextIsPlain(t *testing.T) {
	for _, name := range builtIn {
		for p, data := range embeddedStyle(t, name).Files() {
			text := string(data)
			assert.True(t, strings.HasSuffix(text, "\n") && !strings.HasSuffix(text, "\n\n"),
				"%s/%s: ends in one newline", name, p)
			assert.NotRegexp(t, `(?m)[ \t]+$|\t|\r`, text, "%s/%s", name, p)
			assert.NotRegexp(t, `[^\x00-\x7F]`, text, "%s/%s: ASCII, so that every terminal and encoding shows it",
				name, p)
		}
	}
}
