package skill

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
)

const (
	maxCases  = 2000 // of a file, or queries
	maxChecks = 500  // of a case
	maxNames  = 100  // of files, that are looked for in a prompt
)

// reader reads the files of one place.
type reader struct {
	*Suite
	dir    string // the directory with the evals, below the root
	base   string // the one that has the directory evals
	nested bool   // dir is in the directory evals
	name   string // what the evals call the skill
	nameAt doc.Position
	seen   map[string]doc.Position // ids of cases and queries, in small letters
	among  []*doc.Node             // queries among the cases
	files  []*doc.Node             // what each case says of its files
	roots  []*doc.Node             // of the files with queries
	keys   map[[2]string]int       // where a key that means nothing is in Unknown
}

// load reads a file of JSON; nil: it cannot be read, which is found. It is not ok if there is anything wrong with it as
// JSON.
func (r *reader) load(file string) (root *doc.Node, ok bool) {
	data, err := disk.Tree(r.Root).ReadRegular(r.File(file), doc.MaxSize)
	if err != nil {
		r.add(Error, "file", doc.Position{File: r.File(file), Line: 1, Column: 1}, file, err.Error(), "")
		return nil, false
	}
	d := doc.ParseJSON(r.File(file), data)
	problems, _ := errors.AsType[doc.Problems](d.Err())
	for _, p := range problems {
		r.add(Error, "file", p.Position, file, strings.TrimPrefix(p.Path+": "+p.Reason, ": "), "")
	}
	return d.Root, len(problems) == 0
}

// there reports whether something is at a path in the directory with the evals.
func (r *reader) there(name string) bool {
	_, err := os.Lstat(r.File(path.Join(r.dir, name)))
	return err == nil
}

// unknown counts the keys of a mapping that mean nothing.
func (r *reader) unknown(in string, n *doc.Node, known ...string) {
	for _, e := range n.Entries() {
		if slices.Contains(known, e.Key) {
			continue
		}
		i, ok := r.keys[[2]string{in, e.Key}]
		if !ok {
			i = len(r.Unknown)
			r.keys[[2]string{in, e.Key}] = i
			r.Unknown = append(r.Unknown, Key{In: in, Name: e.Key, At: e.Position})
			if near := doc.DidYouMean(e.Key, known); near != "" {
				what := fmt.Sprintf("the key %q means nothing here%s", e.Key, near)
				r.add(Note, "unknown-key", e.Position, "", what, "")
			}
		}
		r.Unknown[i].Count++
	}
}

// bad adds that a node is not what it must be, and that the case or query that has it is broken.
func (r *reader) bad(n *doc.Node, where, what string, args ...any) {
	r.add(Error, "shape", n.Position(), where, n.Path()+": "+fmt.Sprintf(what, args...), "")
}

// evals reads the file with the cases.
func (r *reader) evals() {
	if !r.there(evalsFile) {
		return
	}
	r.Evals = path.Join(r.dir, evalsFile)
	root, ok := r.load(r.Evals)
	list := root
	if root.Kind() == doc.Map {
		r.skillName(root)
		r.unknown("file", root, "skill_name", "evals", "cases", "test_cases")
		list = r.only(root, r.Evals, "evals", "cases", "test_cases")
	}
	if list.Kind() != doc.List {
		if list != nil {
			r.bad(list, r.Evals, "must be a list of cases, not %s", list.Kind())
		}
		return
	}
	if len(list.Items()) == 0 {
		r.bad(list, r.Evals, "there are no cases")
	}
	for i, n := range list.Items() {
		if i == maxCases {
			r.bad(n, r.Evals, "there are more than %d cases", maxCases)
			break
		}
		switch {
		case n.Kind() == doc.Invalid: // it is found already
		case n.Kind() != doc.Map:
			r.bad(n, r.Evals, "a case must be a mapping, not %s", n.Kind())
		case isQuery(n):
			r.among = append(r.among, n)
		default:
			c := r.readCase(n)
			c.Broken = c.Broken || !ok
			r.Cases, r.files = append(r.Cases, c), append(r.files, n.Get("files"))
		}
	}
}

// only returns the value of the one of the keys that a mapping has, nil if it has none or several, which is found.
func (r *reader) only(n *doc.Node, where string, keys ...string) *doc.Node {
	var has []string
	for _, k := range keys {
		if n.Get(k) != nil {
			has = append(has, k)
		}
	}
	switch len(has) {
	case 1:
		return n.Get(has[0])
	case 0:
		r.bad(n, where, "none of the keys %s is there", strings.Join(keys, ", "))
	default:
		r.bad(n.Get(has[1]), where, "there is a list %s, too: one of them must hold all", has[0])
	}
	return nil
}

func (r *reader) skillName(root *doc.Node) {
	if n := root.Get("skill_name"); n.Kind() == doc.String && r.name == "" {
		r.name, r.nameAt = strings.TrimSpace(n.Text()), n.Position()
	}
}

// text returns a string, empty if there is none; other kinds are found.
func (r *reader) text(n *doc.Node, where string) string {
	switch n.Kind() {
	case doc.String:
		return n.Text()
	case doc.Invalid, doc.Null:
	default:
		r.bad(n, where, "must be a string, not %s", n.Kind())
	}
	return ""
}

// texts returns a string or a list of strings.
func (r *reader) texts(n *doc.Node, where string) []*doc.Node {
	if n.Kind() == doc.List {
		var all []*doc.Node
		for _, item := range n.Items() {
			if strings.TrimSpace(r.text(item, where)) != "" {
				all = append(all, item)
			} else if item.Kind() == doc.String || item.Kind() == doc.Null {
				r.bad(item, where, "must not be empty")
			}
		}
		return all
	}
	if strings.TrimSpace(r.text(n, where)) == "" {
		return nil
	}
	return []*doc.Node{n}
}

var caseKeys = []string{
	"id", "name", "eval_name", "prompt", "expected_output", "files", "expectations", "assertions", "must_have",
	"must_not_have", "expect", "fail", "expected_behavior", "evaluation_criteria",
}

// commandPrompt is the rule of the findings of cases that are skipped for their prompts.
const commandPrompt = "command-prompt"

var slashCommand = lazyregexp.New(`^\s*/[a-zA-Z][\w:-]*(\s|$)`)

func (r *reader) readCase(n *doc.Node) Case {
	c := Case{Position: n.Position(), Prompt: n.Get("prompt").Text(), Expected: n.Get("expected_output").Text()}
	before := len(r.Findings)
	c.ID, c.Given = r.identify("eval", n, n.Get("id"), c.Prompt)
	r.duplicate(c.ID, n)
	for _, key := range []string{"name", "eval_name"} {
		if c.Name == "" {
			c.Name = r.text(n.Get(key), c.ID)
		}
	}
	r.unknown("case", n, caseKeys...)
	r.text(n.Get("expected_output"), c.ID)
	switch prompt := n.Get("prompt"); {
	case strings.TrimSpace(r.text(prompt, c.ID)) != "":
	case prompt == nil, prompt.Kind() == doc.String, prompt.Kind() == doc.Null:
		r.bad(n, c.ID, "the case has no prompt")
	}
	c.Command = slashCommand.MatchString(c.Prompt)
	if c.Command {
		r.add(Note, commandPrompt, n.Get("prompt").Position(), c.ID,
			"the prompt begins with a /command, which only a plugin knows: the case is skipped", "")
	}
	r.readChecks(&c, n)
	c.Broken = r.failed(before)
	return c
}

// failed reports whether there are errors among the findings, but for those before.
func (r *reader) failed(before int) bool {
	return slices.ContainsFunc(r.Findings[before:], func(f Finding) bool { return f.Level == Error })
}

// duplicate finds an id that was there before.
func (r *reader) duplicate(id string, n *doc.Node) {
	key := strings.ToLower(id)
	if first, ok := r.seen[key]; ok {
		what := fmt.Sprintf("the id %q is there twice, first on line %d", id, first.Line)
		r.add(Error, "duplicate", n.Position(), id, what, "give each an id of its own")
		return
	}
	r.seen[key] = n.Position()
}

var (
	legalID  = lazyregexp.New(`^[a-zA-Z0-9_-]{1,64}$`)
	notPlain = lazyregexp.New(`[^a-z0-9]+`)
)

// identify returns the id of a case or a query, which begins with a word, and the id or else the name as it is written.
func (r *reader) identify(word string, n, id *doc.Node, prompt string) (unit, given string) {
	switch id.Kind() {
	case doc.Number, doc.String:
		given = strings.TrimSpace(id.Text())
	case doc.Invalid, doc.Null:
	default:
		r.bad(id, "", "an id must be a string or a number, not %s", id.Kind())
	}
	if legalID.MatchString(given) {
		return word + "-" + given, given
	}
	for _, key := range []string{"name", "eval_name"} {
		if given == "" {
			given = strings.TrimSpace(n.Get(key).Text())
		}
	}
	if given == "" {
		return word + "-" + digest(prompt), ""
	}
	return word + "-" + slug(given), given
}

// slug returns the letters and digits of a text, and 8 hexadecimal digits that tell it from others.
func slug(text string) string {
	plain := notPlain.ReplaceAllString(strings.ToLower(text), "-")
	if plain = strings.Trim(plain[:min(len(plain), 40)], "-"); plain != "" {
		plain += "-"
	}
	return plain + digest(text)
}

// digest returns 8 hexadecimal digits.
func digest(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:8] }
