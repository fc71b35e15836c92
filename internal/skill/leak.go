package skill

import (
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/text"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
)

const (
	maxSearched = 1 << 20 // bytes of one file
	// Letters and digits that a text must have so that nobody writes it twice by chance.
	leastAnswer = 40
	leastPrompt = 24
	leastCheck  = 16
)

// answers finds files that are installed with the skill and tell what is expected: what a case expects in words, or its
// prompt beside one of its checks. That the skill teaches what a check asks for is what it is for.
func (s *Suite) answers() {
	type wanted struct{ expected, prompt string }
	cases := make([]wanted, len(s.Cases))
	for i, c := range s.Cases {
		cases[i] = wanted{letters(c.Expected, leastAnswer), letters(c.Prompt, leastPrompt)}
	}
	for _, p := range slices.Sorted(maps.Keys(s.Installed.Files)) {
		data := s.Installed.Files[p].Data
		if len(data) > maxSearched {
			s.add(Note, "not-searched", doc.Position{File: s.File(path.Join(s.Dir, p)), Line: 1, Column: 1}, p,
				fmt.Sprintf("the file has more than %d bytes, and was not searched for what cases expect", maxSearched),
				"")
			continue
		}
		text := letters(string(data), leastPrompt)
		var tells []string
		at := doc.Position{}
		for i, c := range s.Cases {
			w := cases[i]
			found := w.expected != "" && strings.Contains(text, w.expected)
			if !found && w.prompt != "" && strings.Contains(text, w.prompt) {
				found = slices.ContainsFunc(c.Checks, func(k Check) bool {
					want := letters(k.Text, leastCheck)
					return want != "" && strings.Contains(text, want)
				})
			}
			if !found {
				continue
			}
			if tells = append(tells, c.ID); at.Line == 0 {
				at = doc.Position{File: s.File(path.Join(s.Dir, p)), Column: 1}
				at.Line = lineOf(string(data), c.Expected, c.Prompt)
			}
		}
		if len(tells) > 0 {
			what := "the agent gets " + path.Join(s.Dir, p) + " with the skill, and it tells what is expected"
			s.add(Warning, "answer-in-skill", at, listed(tells), what,
				"move the file to a directory that is not installed, such as "+path.Join(s.Dir, evalsDir))
		}
	}
}

// listed returns some names, and how many there are besides.
func listed(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

var escapes = strings.NewReplacer(`\n`, " ", `\t`, " ", `\r`, " ", `\\`, `\`, `\"`, `"`)

// letters returns the letters and digits of a text, small ones, so that neither line breaks nor quoting matter; empty
// if there are fewer than least.
func letters(text string, least int) string {
	only := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, escapes.Replace(text))
	if len(only) < least {
		return ""
	}
	return only
}

// lineOf returns the line on which one of the texts begins, 1 if that is not known.
func lineOf(data string, texts ...string) int {
	for _, text := range texts {
		begin := strings.TrimSpace(text)
		begin, _, _ = strings.Cut(begin[:min(len(begin), 40)], "\n")
		if i := strings.Index(data, begin); begin != "" && i >= 0 {
			return 1 + strings.Count(data[:i], "\n")
		}
	}
	return 1
}

// idle finds cases that an agent passes that says nothing and does nothing.
func (s *Suite) idle() {
	for _, c := range s.Cases {
		needsWork := func(k Check) bool { return !s.idlePasses(c, k) }
		if c.Broken || len(c.Checks) == 0 || slices.ContainsFunc(c.Checks, needsWork) {
			continue
		}
		s.add(Warning, "idle-passes", c.Position, c.ID, "an agent that says nothing and does nothing passes all checks",
			"add a check of what the agent is to do")
	}
}

// idlePasses reports whether a check is known to pass if nothing is done. Nobody knows what a model says, and no check
// of the answer passes an agent that gives none.
func (s *Suite) idlePasses(c Case, k Check) bool {
	if k.By != File {
		return false
	}
	for _, in := range c.Inputs {
		for _, f := range in.Files {
			if path.Join(in.To, f) == path.Clean(k.Rule.File) {
				data, err := disk.Tree(s.Root).ReadRegular(s.File(path.Join(in.From, f)), maxSearched)
				key, patterns := k.Rule.looks()
				return err == nil && text.Holds(key, patterns, k.Rule.Min, string(data))
			}
		}
	}
	return false
}

var (
	// fileName matches what looks like the name of a file, with what stands before it.
	fileName = lazyregexp.New(`(?i)([\w.~/\\:-]*[\w-]\.(csv|tsv|json|jsonl|ya?ml|xml|html?|md|txt|pdf|docx?|xlsx?|` +
		`pptx?|png|jpe?g|gif|svg|webp|mp3|mp4|wav|mov|zip|tar|gz|py|js|tsx?|jsx|go|rs|java|kt|swift|[ch]|[ch]pp|cs|` +
		`rb|php|sh|sql|vhdl?|sv|sysml|ipynb|log|toml|ini|cfg|conf|parquet|db|sqlite|proto|lock))(?:$|[^\w/-])`)
	// ownPlace matches a path on somebody's machine.
	ownPlace = lazyregexp.New(`(?:^|[\s"'(` + "`" + `])((?:~|/Users|/home|[A-Z]:)[/\\][^\s"'),;` + "`" + `]+)`)
	// libraries are names that look like files.
	libraries = lazyregexp.New(`(?i)^(node|next|vue|nuxt|react|express|three|d3|chart|p5|alpine|ember|socket|angular|` +
		`discord|solid|nest|deck|moment|day|ethers|web3|tensorflow)\.js$`)
	// makes matches the words before a file that is to be made.
	makes = lazyregexp.New(`(?i)\b(save|saved|write|writes|create|creates|output|outputs|export|generate|produce|` +
		`into|named|called|as|to|add|make)\b[^.!?\n]{0,24}$`)
)

// somePath matches a path of several elements.
var somePath = lazyregexp.New(`[\w.-]+(?:/[\w.-]+)+`)

// named finds files that a prompt speaks of and that the case does not have.
func (r *reader) named() {
	for _, c := range r.Cases {
		if c.Command || c.Broken {
			continue
		}
		var nowhere []string
		for _, m := range ownPlace.FindAllStringSubmatch(c.Prompt, maxNames) {
			nowhere = append(nowhere, strings.TrimRight(m[1], ".:"))
		}
		var there []string
		for _, name := range somePath.FindAllString(c.Prompt, maxNames) {
			name = strings.TrimRight(name, "./")
			if r.lies(name) && !c.has(name) && !slices.Contains(there, name) {
				there = append(there, name)
				what := "the prompt speaks of " + name + ", which is there and is none of the case's files"
				r.add(Note, "unlisted-file", c.Position, c.ID, what, "if the agent needs it, write it under files")
			}
		}
		for _, m := range fileName.FindAllStringSubmatch(c.Prompt, maxNames) {
			name := m[1]
			before, _, _ := strings.Cut(c.Prompt, name)
			_, installed := r.Installed.Files[name]
			isPart := func(other string) bool { return strings.HasSuffix(other, name) }
			switch {
			case installed, c.has(name), slices.ContainsFunc(nowhere, isPart), slices.ContainsFunc(there, isPart),
				strings.Contains(name, "://"), strings.HasSuffix(before, "/"), libraries.MatchString(name),
				makes.MatchString(before):
			default:
				nowhere = append(nowhere, name)
			}
		}
		if len(nowhere) > 0 {
			what := "the prompt speaks of " + listed(nowhere) + ", and the case has no such file"
			r.add(Note, "unshipped-file", c.Position, c.ID, what, "list under files what the agent needs")
		}
	}
}

// lies reports whether something is at a path that a prompt names, other than what is installed.
func (r *reader) lies(name string) bool {
	if _, ok := r.Installed.Files[name]; ok {
		return false
	}
	for _, base := range r.bases() {
		p := path.Join(base, name)
		if p == ".." || strings.HasPrefix(p, "../") {
			continue
		}
		if real, err := disk.Tree(r.Root).Follow(r.File(p)); err == nil {
			if _, err := os.Lstat(real); err == nil {
				return true
			}
		}
	}
	return false
}

// has reports whether a case has a file or a directory of that name.
func (c Case) has(name string) bool {
	name = path.Clean(strings.ReplaceAll(name, `\`, "/"))
	for _, in := range c.Inputs {
		for _, at := range []string{in.From, in.To} {
			if strings.HasPrefix(at+"/", name+"/") || strings.HasPrefix(name, at+"/") ||
				strings.HasSuffix(at, "/"+name) {
				return true
			}
		}
		for _, f := range in.Files {
			if path.Base(path.Join(in.To, f)) == path.Base(name) {
				return true
			}
		}
	}
	return false
}
