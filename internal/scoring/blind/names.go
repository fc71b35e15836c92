package blind

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
)

// Hidden replaces a name in a text.
const Hidden = "[hidden]"

// Names are the names that would give away which variant did a piece of work.
type Names struct {
	words *regexp.Regexp // nil: there are none
	paths *regexp.Regexp
	lower []string // the names that words matches, in lower case
}

// runtimes are commands that run many agents. They give nothing away, and hiding them would spoil what is judged.
var runtimes = []string{
	"bash", "bun", "cargo", "deno", "docker", "env", "go", "java", "make", "node", "npm", "npx", "pnpm", "python",
	"python3", "sh", "uv", "uvx", "yarn",
}

// NamesOf collects the names of all variants of a run, so that the texts of all are treated alike: the agents' kinds,
// products, commands and models, the styles, and ids and presets, unless these are plain words that a program may well
// contain. A name that occurs in a task gives nothing away and is not hidden.
func NamesOf(m rundir.Manifest) *Names {
	var tasks strings.Builder
	for _, c := range m.Cases {
		for _, text := range append([]string{c.Title, c.ExpectedOutcome, c.ReferenceAnswer}, c.Prompts...) {
			tasks.WriteString(strings.ToLower(text) + "\n")
		}
	}
	var anywhere, words, ids []string
	add := func(list *[]string, name string) {
		name = strings.ToLower(name)
		if len(name) >= 3 && !slices.Contains(*list, name) && !strings.Contains(tasks.String(), name) {
			*list = append(*list, name)
		}
	}
	for _, v := range m.Variants {
		if v.Kind != "acp" { // the protocol's name
			add(&words, v.Kind)
		}
		command := strings.TrimSuffix(path.Base(strings.ReplaceAll(v.Command, `\`, "/")), ".exe")
		for _, name := range products(v.Kind, command) {
			add(&anywhere, name)
		}
		if v.Command != "" && !slices.Contains(runtimes, command) {
			add(&words, command)
		}
		add(&words, v.Model)
		add(&words, v.Style)
		for _, name := range []string{v.ID, v.Preset} {
			if strings.ContainsAny(name, "-_0123456789") {
				add(&words, name)
			}
		}
		ids = append(ids, v.ID)
	}
	n := new(Names)
	var forms []string
	for _, name := range longestFirst(words) {
		forms = append(forms, bounded(name))
	}
	for _, name := range longestFirst(anywhere) {
		forms = append(forms, regexp.QuoteMeta(name))
	}
	n.lower = append(words, anywhere...)
	if len(forms) > 0 {
		n.words = regexp.MustCompile("(?i)" + strings.Join(forms, "|"))
	}
	if len(ids) > 0 {
		for i, id := range longestFirst(ids) {
			ids[i] = bounded(id)
		}
		n.paths = regexp.MustCompile(`(variants[/\\])(?:` + strings.Join(ids, "|") + ")")
	}
	return n
}

// products returns the product names of an agent's kind, and of the kinds that its command names.
func products(kind, command string) (names []string) {
	command = strings.ToLower(command)
	for _, p := range agent.Profiles() {
		named := func(name string) bool { return strings.Contains(command, name) }
		if p.Kind == kind || slices.ContainsFunc(p.Names, named) {
			names = append(names, p.Names...)
		}
	}
	return names
}

// Hide returns text without the names.
func (n *Names) Hide(text string) string {
	if n.paths != nil && strings.Contains(text, "variants") {
		text = n.paths.ReplaceAllString(text, "${1}"+Hidden)
	}
	if !n.mayBeIn(text) {
		return text
	}
	// Expressions that ignore case are slow, and most lines hold no name.
	var b strings.Builder
	for line := range strings.Lines(text) {
		if n.mayBeIn(line) {
			line = n.words.ReplaceAllString(line, Hidden)
		}
		b.WriteString(line)
	}
	return b.String()
}

// mayBeIn reports whether a name is in the text, as a word or not.
func (n *Names) mayBeIn(text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(n.lower, func(name string) bool { return strings.Contains(text, name) })
}

// bounded returns an expression that matches name as a word.
func bounded(name string) string {
	edge := func(c byte) string {
		if regexp.MustCompile(`\w`).Match([]byte{c}) {
			return `\b`
		}
		return ""
	}
	return edge(name[0]) + regexp.QuoteMeta(name) + edge(name[len(name)-1])
}

// longestFirst sorts names so that a name that begins with another one matches whole.
func longestFirst(names []string) []string {
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return names
}
