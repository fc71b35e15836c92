package suite

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/llm"
	"github.com/sdd-eval/sdd-eval/internal/wildcard"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// reader reads the files of a suite that names others.
type reader struct {
	*Suite
	Options
	dir   string    // absolute: the one with the suite's file
	tree  disk.Tree // nothing outside of it is read
	docs  map[string]*doc.Document
	told  map[Problem]bool
	named int      // files, by patterns
	ids   distinct // of cases

	written []doc.Pairs // cases that map
	at      map[string]map[string]doc.Position
}

func newReader(dir string, o Options) *reader {
	return &reader{
		Suite: &Suite{}, Options: o, dir: dir, tree: above(dir), docs: make(map[string]*doc.Document),
		told: make(map[Problem]bool), ids: make(distinct),
		at: make(map[string]map[string]doc.Position),
	}
}

// add adds a case. One that maps has these keys, and the evaluators of what is expected of it alone.
func (r *reader) add(c Case, keys doc.Pairs, list []evaluation) {
	if r.Cases = append(r.Cases, c); !c.Mapped {
		return
	}
	keys = append(doc.Pairs{{Key: "id", Value: c.ID, Comment: r.place(c.At)}}, keys...)
	r.written = append(r.written, append(keys, r.execution(c.ID, list)...))
}

// execution is the key with evaluators, if there are any: those of a case or, without an id, of all.
func (r *reader) execution(id string, list []evaluation) doc.Pairs {
	if len(list) == 0 {
		return nil
	}
	all := r.pairs(list)
	r.at[id] = make(map[string]doc.Position)
	for i, e := range list {
		r.at[id][all[i][0].Value.(string)] = e.at
	}
	return doc.Pairs{{Key: "execution", Value: doc.Pairs{{Key: "evaluators", Value: all}}}}
}

// evalFile adds the eval file of the cases that map, if there are any, and if any can be written.
func (r *reader) evalFile(name, source, description string, variants, more doc.Pairs) {
	if !r.whole() || len(r.written) == 0 {
		return
	}
	p := doc.Pairs{{Key: "name", Value: name, Comment: Head + source}}.With("description", description)
	p = append(append(p, doc.Pair{Key: "variants", Value: variants}), more...)
	p = append(p, doc.Pair{Key: "evalcases", Value: r.written})
	file := Playbook{File: name + ".eval.yaml", Text: p.YAML(), At: r.at, keys: p}
	for _, c := range r.written {
		file.Cases = append(file.Cases, c[0].Value.(string))
	}
	r.Playbooks = append(r.Playbooks, file)
}

// distinct are names within one thing, which differ in more than upper and lower case.
type distinct map[string]int

// next returns a name like an id for a text, unlike those before.
func (d distinct) next(text string) string {
	base := ident(text)
	name, folded := base, strings.ToLower(base)
	for n := folded; d[n] > 0; n = strings.ToLower(name) {
		d[folded]++
		name = fmt.Sprintf("%s-%d", base[:min(len(base), 90)], d[folded])
	}
	d[strings.ToLower(name)]++
	return name
}

// above returns the tree of the repository or module that a directory is in, else of the directory.
func above(dir string) disk.Tree {
	for at := dir; ; at = filepath.Dir(at) {
		for _, name := range []string{".git", "go.mod"} {
			if _, err := os.Lstat(filepath.Join(at, name)); err == nil {
				return disk.Tree(at)
			}
		}
		if at == filepath.Dir(at) {
			return disk.Tree(dir)
		}
	}
}

// file returns the path, absolute, that a text in the suite names, relative to a directory.
func (r *reader) file(dir, name string) (string, error) {
	file := filepath.FromSlash(name)
	if !filepath.IsAbs(file) {
		file = filepath.Join(dir, file)
	}
	if err := r.tree.Check(file); err != nil {
		return "", r.short(err)
	}
	return file, nil
}

// short leaves the path out of an error that the position, or the name before it, tells.
func (r *reader) short(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// read returns what is in a file.
func (r *reader) read(dir, name string) (file string, data []byte, err error) {
	if file, err = r.file(dir, name); err == nil {
		data, err = r.tree.ReadRegular(file, doc.MaxSize)
	}
	if err != nil {
		return "", nil, fmt.Errorf("%q: %w", name, r.short(err))
	}
	return file, data, nil
}

// load reads a file of YAML or JSON. Its problems are the error.
func (r *reader) load(dir, name string) (*doc.Node, error) {
	file, data, err := r.read(dir, name)
	if err != nil {
		return nil, err
	}
	d := r.docs[file]
	if d == nil {
		if d = doc.ParseMerging(file, data); filepath.Ext(file) == ".json" {
			d = doc.ParseJSON(file, data)
		}
		r.docs[file] = d
	}
	return d.Root, d.Err()
}

// glob returns the files, absolute and sorted, that a pattern names, relative to a directory. No pattern that leads out
// of the tree is looked for.
func (r *reader) glob(dir, pattern string) ([]string, error) {
	full, err := r.file(dir, pattern)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", pattern, err)
	}
	if strings.Contains(pattern, "**") {
		return nil, fmt.Errorf("%q: files are looked for in one directory at a time: write it without **", pattern)
	}
	found, err := filepath.Glob(full)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%q: %w", pattern, err)
	case len(found) == 0:
		return nil, fmt.Errorf("%q names no file", pattern)
	case len(found) > maxCases:
		return nil, fmt.Errorf("%q names more than %d files", pattern, maxCases)
	}
	if r.named += len(found); r.full(0) {
		return nil, fmt.Errorf("%q: the suite names more than %d files", pattern, 2*maxCases)
	}
	slices.Sort(found)
	return found, nil
}

// full reports whether what was read so far, which has some tests, is more than a suite may have. That is told, or will
// be, and the rest needs not be read.
func (r *reader) full(tests int) bool { return tests > maxCases || r.named > 2*maxCases }

// place returns a position as comments of playbooks name it.
func (r *reader) place(at doc.Position) string {
	return fmt.Sprintf("%s:%d", r.shown(at.File), at.Line)
}

// shown returns a path as comments of playbooks name it.
func (r *reader) shown(file string) string {
	return from(r.dir, file)
}

// out returns a path, absolute, as playbooks name it.
func (r *reader) out(file string) string { return from(r.Out, file) }

// from returns a path relative to a directory, with slashes; as it is, if it has none.
func from(dir, file string) string {
	if rel, err := filepath.Rel(dir, file); err == nil {
		file = rel
	}
	return filepath.ToSlash(file)
}

// tell adds a problem, or a note, unless it was told of any case.
func (r *reader) tell(to *[]Problem, p Problem) {
	once := p
	once.Case = ""
	if !r.told[once] {
		r.told[once] = true
		*to = append(*to, p)
	}
}

// cannot adds a problem of a case; without a case, of the suite.
func (r *reader) cannot(at doc.Position, name, key, what string, args ...any) {
	r.tell(&r.Problems, Problem{At: at, Case: name, Key: key, What: fmt.Sprintf(what, args...)})
}

// whole reports whether cases can be written. If a problem is of the suite, none can: each would lack what it names,
// and expect less than its author wrote. Tests and prompts that cannot be read are no part of the others.
func (r *reader) whole() bool {
	if !slices.ContainsFunc(r.Problems, func(p Problem) bool {
		return p.Case == "" && !slices.Contains([]string{"tests", "tasks", "prompts"}, p.Key)
	}) {
		return true
	}
	for i := range r.Cases {
		r.Cases[i].Mapped = false
	}
	return false
}

// note adds a note.
func (r *reader) note(at doc.Position, key, what string, args ...any) {
	r.tell(&r.Notes, Problem{At: at, Key: key, What: fmt.Sprintf(what, args...)})
}

// keys calls cannot for the keys of a mapping that known does not have, or gives a reason for. An empty reason means
// that the key is read, or changes no verdict.
func keys(n *doc.Node, known map[string]string, cannot func(at doc.Position, key, what string)) {
	mapping(n, "", cannot)
	for _, e := range n.Entries() {
		reason, ok := known[e.Key]
		switch {
		case !ok:
			names := slices.Sorted(maps.Keys(known))
			cannot(e.Position, e.Key, "this key is not known"+doc.DidYouMean(e.Key, names))
		case reason != "" && !empty(e.Value):
			cannot(e.Position, e.Key, reason)
		}
	}
}

// mapping refuses a value that is there and is no mapping: what it says would be lost.
func mapping(n *doc.Node, key string, cannot func(at doc.Position, key, what string)) {
	if kind := n.Kind(); kind != doc.Map && !empty(n) {
		cannot(n.Position(), key, fmt.Sprintf("must be a mapping, not %s", kind))
	}
}

// only refuses what is no mapping, and the keys of one that are not among the names.
func only(n *doc.Node, within string, cannot func(at doc.Position, key, what string), names ...string) {
	known := make(map[string]string)
	for _, name := range names {
		known[name] = ""
	}
	keys(n, known, func(at doc.Position, key, what string) {
		cannot(at, strings.Trim(within+"."+key, "."), what)
	})
}

// list returns the elements of a list, and refuses a value that is there and is none.
func list(n *doc.Node, key string, cannot func(at doc.Position, key, what string)) []*doc.Node {
	if kind := n.Kind(); kind != doc.List && !empty(n) {
		cannot(n.Position(), key, fmt.Sprintf("must be a list, not %s", kind))
	}
	return n.Items()
}

// number returns a number, or 0 if there is none. It refuses what is none, and what is below the least.
func number(n *doc.Node, key string, least float64, cannot func(at doc.Position, key, what string)) float64 {
	if n == nil || n.Kind() == doc.Null {
		return 0
	}
	f, err := strconv.ParseFloat(n.Text(), 64)
	if err != nil || !(f >= least) || math.IsInf(f, 0) {
		cannot(n.Position(), key, fmt.Sprintf("must be a number, at least %v", least))
		return 0
	}
	return f
}

// either refuses all but the first of keys that say the same by other names.
func either(n *doc.Node, within string, cannot func(at doc.Position, key, what string), names ...string) {
	said := ""
	for _, name := range names {
		v := n.Get(name)
		switch {
		case v == nil || v.Kind() == doc.Null:
		case said == "":
			said = name
		default:
			cannot(v.Position(), strings.Trim(within+"."+name, "."), fmt.Sprintf("%s says it already", said))
		}
	}
}

// empty reports whether a value says nothing.
func empty(n *doc.Node) bool {
	switch n.Kind() {
	case doc.Null, doc.Invalid:
		return true
	case doc.List, doc.Map:
		return len(n.Items())+len(n.Entries()) == 0
	case doc.Bool:
		return n.Text() == "false"
	default:
		return n.Text() == ""
	}
}

// called returns the name of a tool, or a pattern, as the agent has it, which may differ in case.
func (r *reader) called(at doc.Position, from, name string) (string, error) {
	if strings.Contains(name, "?") {
		return "", fmt.Errorf("value: %q: ? stands for no character here: write *, or the names", name)
	}
	profile, _ := agent.Lookup(r.Agent)
	for _, known := range profile.Tools {
		switch {
		case wildcard.Match(name, known) || !wildcard.Match(strings.ToLower(name), strings.ToLower(known)):
		case strings.Contains(name, "*"):
			return "", fmt.Errorf("value: %q: the case of letters counts here, and %s calls a tool %s: write the names",
				name, r.Agent, known)
		default:
			r.note(at, from, "%s calls this tool %s", r.Agent, known)
			return known, nil
		}
	}
	return name, nil
}

// evaluation is an evaluator of a case that is to be written.
type evaluation struct {
	at        doc.Position
	from      string  // its type there
	name      string  // like an id
	weight    float64 // 0: 1
	threshold float64 // 0: 1
	reports   bool
	kind      string
	keys      doc.Pairs
}

// pairs returns the evaluators of a list, whose names are made unique.
func (r *reader) pairs(list []evaluation) []doc.Pairs {
	var all []doc.Pairs
	names := make(distinct)
	for _, e := range list {
		p := doc.Pairs{
			{Key: "name", Value: names.next(cmp.Or(e.name, e.from))},
			{Key: "type", Value: e.kind, Comment: r.place(e.at) + " " + e.from},
		}
		p = p.With("threshold", e.threshold)
		if e.weight > 0 && e.weight != 1 {
			p = append(p, doc.Pair{Key: "weight", Value: e.weight})
		}
		if e.reports {
			p = append(p, doc.Pair{Key: "required", Value: false})
		}
		all = append(all, append(p, e.keys...))
	}
	return all
}

// check is an evaluator text with one check.
func check(id, key string, patterns ...string) (kind string, keys doc.Pairs) {
	return "text", doc.Pairs{{Key: "checks", Value: []doc.Pairs{{
		{Key: "id", Value: ident(id)}, {Key: key, Value: patterns},
	}}}}
}

// jsonCheck is an evaluator text that finds JSON. A schema, if there is one, was read by [text.Schema].
func jsonCheck(id, found string, schema any) (kind string, keys doc.Pairs) {
	check := doc.Pairs{{Key: "id", Value: ident(id)}, {Key: "json", Value: found}}
	if schema != nil {
		check = append(check, doc.Pair{Key: "schema", Value: schema})
	}
	return "text", doc.Pairs{{Key: "checks", Value: []doc.Pairs{check}}}
}

// counted are the keys of tool_trajectory for how often each tool is called: at least, 0: no matter, and at most, -1:
// no matter.
func counted(least, most int, tools ...string) (doc.Pairs, error) {
	var low, high doc.Pairs
	for _, tool := range tools {
		if least > 0 {
			low = append(low, doc.Pair{Key: tool, Value: least})
		}
		if most >= 0 {
			high = append(high, doc.Pair{Key: tool, Value: most})
		}
	}
	keys := doc.Pairs{}.With("at_least", low).With("at_most", high)
	if len(keys) == 0 {
		return nil, errors.New("value: it holds whatever the agent does")
	}
	return keys, nil
}

// model is the key that names the model that judges.
func (o Options) model() doc.Pairs {
	return doc.Pairs{{Key: "model", Value: cmp.Or(o.JudgeModel, llm.DefaultModel)}}
}

// rubrics is an evaluator llm_judge that asks the model of the options whether all of the criteria hold.
func (o Options) rubrics(id string, criteria ...string) (kind string, keys doc.Pairs) {
	var list []doc.Pairs
	names := make(distinct)
	for _, text := range criteria {
		list = append(list, doc.Pairs{
			{Key: "id", Value: names.next(id)},
			{Key: "text", Value: strings.TrimSpace(text) + "\n"},
			{Key: "required", Value: true},
		})
	}
	return "llm_judge", append(o.model(), doc.Pair{Key: "rubrics", Value: list})
}

// who returns the keys of a variant that say which agent it is.
func (o Options) who() doc.Pairs {
	return doc.Pairs{{Key: "agent", Value: agentPairs(playbook.Agent{Kind: o.Agent, Preset: o.Preset})}}
}

// alone are the variants of a suite that has one.
func (o Options) alone() doc.Pairs { return doc.Pairs{{Key: "agent", Value: o.who()}} }

// fate is what becomes of a key, or a type, of another tool, as a reader has it and docs/migrate.md tells it.
type fate struct {
	becomes string // what it is here, in the words of the page
	left    string // why it is left out; no verdict depends on it
	refused string // why a value cannot be honoured
}

// row is a key of a mapping, or a type, with its fate. The rows of a mapping are all keys that it may have.
type row struct {
	key string
	fate
}

// seconds is a duration as playbooks write it.
func seconds(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) + "s" }

func to(what string) fate  { return fate{becomes: what} }
func left(why string) fate { return fate{left: why} }
func no(why string) fate   { return fate{refused: why} }

// fates calls cannot for the keys of a mapping that the rows do not have, or that cannot be honoured, and notes what is
// left out. Within names the mapping.
func (r *reader) fates(n *doc.Node, within string, rows []row, cannot func(at doc.Position, key, what string)) {
	known := make(map[string]string)
	for _, row := range rows {
		known[row.key] = row.refused
		if e := n.Get(row.key); row.left != "" && !empty(e) {
			r.note(e.Position(), strings.Trim(within+"."+row.key, "."), "%s", row.left)
		}
	}
	keys(n, known, func(at doc.Position, key, what string) {
		cannot(at, strings.Trim(within+"."+key, "."), what)
	})
}

// find returns the path, absolute, of a file that a suite names: in the directory, or in one above it.
func (r *reader) find(dir, name string) (string, error) {
	name = strings.TrimPrefix(name, "file://")
	if name == "" || filepath.IsAbs(name) {
		return "", fmt.Errorf("%q must be a relative path", name)
	}
	for at := dir; ; at = filepath.Dir(at) {
		file, err := r.file(at, name)
		if err == nil {
			if _, err = os.Lstat(file); err == nil {
				return file, nil
			}
		}
		if at == string(r.tree) || at == filepath.Dir(at) {
			if _, err := r.file(dir, name); err != nil {
				return "", fmt.Errorf("%q: %w", name, err)
			}
			return "", fmt.Errorf("%q: no such file", name)
		}
	}
}

// text returns the text of a file that a suite names.
func (r *reader) text(dir, name string) (string, error) {
	file, err := r.find(dir, name)
	if err != nil {
		return "", err
	}
	_, data, err := r.read(filepath.Dir(file), filepath.Base(file))
	switch {
	case err != nil:
		return "", err
	case len(data) > maxRendered || bytes.ContainsRune(data, 0) || !isText(data):
		return "", fmt.Errorf("%q: it is no text of at most %d bytes", name, maxRendered)
	}
	return string(data), nil
}

func isText(data []byte) bool { return strings.ToValidUTF8(string(data), "") == string(data) }
