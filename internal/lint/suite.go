package lint

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/action"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/style"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// What is read at most.
const (
	maxFile    = 1 << 20  // bytes of a file of the workspace
	maxFiles   = 64 << 20 // bytes of all of them
	maxHistory = 64 << 20 // bytes of a git repository
)

// suite is a playbook with what its judges look at and what its agents see.
type suite struct {
	p    *plan.Playbook
	root *doc.Node // of the playbook's file
	cfg  Config

	// template is what workspaces are copied from; nil: nothing is.
	template *workspace.Template
	dir      string // of the template, absolute
	files    []file
	repos    []repository
	bytes    int64 // of all files
	copied   int64 // bytes that were copied to look at workspaces

	cases  []testCase
	judges []judgeFile
	notes  []string
	// told has where files of the template tell answers, since many cases may look for the same.
	told map[telling][]int
}

// telling is an answer in a file.
type telling struct {
	path, text, target, pattern string
	prose                       bool
}

// file is a file that the agent starts with.
type file struct {
	path string // below the workspace, with slashes
	data []byte // empty if the file is binary, or too large
	at   doc.Position
	// digest is that of the text, see digestOf.
	digest [sha256.Size]byte
	// source is the absolute path of the file that is copied; empty: it is written in the playbook.
	source string
}

// testCase is a case with its place in the file.
type testCase struct {
	plan.Case
	unit       plan.Unit // one of its units
	prompts    []*doc.Node
	files      []file // that the case adds
	evaluators []evaluatorNode
	// answers are what its judges look for.
	answers []answer
}

// evaluatorNode is an evaluator, or a member of one, in the playbook's file.
type evaluatorNode struct {
	name, kind string
	node       *doc.Node
}

func (e evaluatorNode) String() string {
	return fmt.Sprintf("evaluator %s (line %d)", e.name, e.node.Position().Line)
}

// load reads what the rules look at.
func load(ctx context.Context, p *plan.Playbook, cfg Config) (*suite, error) {
	d := doc.Parse(p.File, p.Text)
	d.Dir, d.Top = p.Dir, cfg.Root
	s := &suite{p: p, root: d.Root, cfg: cfg, told: make(map[telling][]int)}
	planned, err := p.Plan()
	if err != nil {
		return nil, err
	}
	s.loadCases(planned)
	if slices.ContainsFunc(planned.Units, prepares) {
		if err := s.loadTemplate(ctx); err != nil {
			return nil, err
		}
	}
	if err := s.loadStyles(planned); err != nil {
		return nil, err
	}
	if err := s.loadLaid(ctx, planned); err != nil {
		return nil, err
	}
	s.judges = judgeFiles(s)
	for i := range s.cases {
		s.cases[i].answers = answersOf(&s.cases[i], s)
	}
	return s, nil
}

func prepares(u plan.Unit) bool {
	return slices.ContainsFunc(u.Steps, func(step plan.Step) bool { return action.Of(step.Uses).Template })
}

// loadCases finds the cases that units have, in the order of the file.
func (s *suite) loadCases(planned *plan.Plan) {
	common := s.root.Get("evaluators")
	if common == nil {
		common = s.root.Get("execution").Get("evaluators")
	}
	nodes := s.root.Get("cases").Items()
	if nodes == nil {
		nodes = s.root.Get("evalcases").Items()
	}
	if task := s.root.Get("task"); task != nil {
		nodes = []*doc.Node{task}
	}
	for _, u := range planned.Units {
		if slices.ContainsFunc(s.cases, func(c testCase) bool { return c.ID == u.Case.ID }) {
			continue
		}
		c := testCase{Case: u.Case, unit: u}
		for _, n := range nodes {
			if id := n.Get("id"); id != nil && id.Text() != u.Case.ID {
				continue
			}
			own := n.Get("evaluators")
			if own == nil {
				own = n.Get("execution").Get("evaluators")
			}
			c.evaluators = slices.Concat(evaluatorsOf(common), evaluatorsOf(own))
			c.prompts = promptsOf(n)
			for _, e := range n.Get("files").Entries() {
				data := []byte(e.Value.Text())
				c.files = append(c.files, file{path: e.Key, data: data, at: e.Position, digest: digestOf(data)})
			}
			break
		}
		s.cases = append(s.cases, c)
	}
}

// evaluatorsOf returns the evaluators of a list, with the members of composites.
func evaluatorsOf(list *doc.Node) (all []evaluatorNode) {
	for _, n := range list.Items() {
		e := evaluatorNode{name: n.Get("name").Text(), kind: n.Get("type").Text(), node: n}
		if e.name == "" {
			e.name = e.kind
		}
		all = append(all, e)
		if e.kind == "composite" {
			for _, key := range []string{"members", "all", "any"} {
				all = append(all, evaluatorsOf(n.Get(key))...)
			}
		}
	}
	return all
}

// promptsOf returns the texts that a case sends.
func promptsOf(n *doc.Node) (texts []*doc.Node) {
	var add func(*doc.Node)
	add = func(n *doc.Node) {
		switch {
		case n == nil:
		case n.Kind() == doc.List:
			for _, item := range n.Items() {
				add(item)
			}
		case n.Kind() == doc.Map: // a message, or a part of one
			add(n.Get("content"))
			add(n.Get("value"))
		default:
			texts = append(texts, n)
		}
	}
	for _, key := range []string{"prompt", "prompts", "question", "input", "input_messages"} {
		add(n.Get(key))
	}
	return texts
}

// loadTemplate reads the files that workspaces are made of.
func (s *suite) loadTemplate(ctx context.Context) error {
	s.dir = engine.SourceOf(s.p, s.cfg.Root, s.besidePlaybook)
	var err error
	if s.template, err = engine.LoadTemplate(ctx, s.p, s.dir, s.besidePlaybook, s.cfg.Ours, nil); err != nil {
		return err
	}
	s.notes = append(s.notes, engine.TemplateNotes(ctx, s.p, s.template)...)
	return s.readTemplate(ctx)
}

// readTemplate reads texts, up to a limit, and what belongs to git repositories.
func (s *suite) readTemplate(ctx context.Context) error {
	found := make(map[string]*repository) // by the path of the repository
	skipped, total := 0, int64(0)
	err := s.template.Read(ctx, func(path string, read func(int64) ([]byte, int64, error)) error {
		if dir, name, ok := inRepository(path); ok {
			r := found[dir]
			if r == nil {
				r = &repository{path: dir, files: make(map[string][]byte)}
				found[dir] = r
			}
			return r.add(name, read)
		}
		f := file{path: path, source: filepath.Join(s.dir, filepath.FromSlash(path))}
		f.at = doc.Position{File: s.shownPath(f.source), Line: 1}
		data, size, err := read(min(maxFile, maxFiles-total))
		if err != nil {
			return err
		}
		total += int64(len(data))
		s.bytes += size
		switch {
		case bytes.IndexByte(data[:min(len(data), 8<<10)], 0) >= 0: // no text
		case int64(len(data)) < size:
			skipped++
		default:
			f.data = data
		}
		f.digest = digestOf(f.data)
		s.files = append(s.files, f)
		return nil
	})
	if skipped > 0 {
		s.notef("%d of the workspace's text files were not searched for answers: lint reads files of at most 1 MiB, "+
			"and 64 MiB of all files together; search them yourself, or leave them out with workspace.exclude", skipped)
	}
	for _, r := range found {
		s.repos = append(s.repos, *r)
	}
	slices.SortFunc(s.repos, func(a, b repository) int { return strings.Compare(a.path, b.path) })
	return err
}

// loadStyles reads the playbook's own styles, which are written into workspaces.
func (s *suite) loadStyles(planned *plan.Plan) error {
	for _, own := range s.p.Styles {
		if !slices.ContainsFunc(planned.Units, func(u plan.Unit) bool { return writesStyle(u) == own.Name }) {
			continue
		}
		dir := s.styleDir(own.Name)
		loaded, err := style.Load(own.Name, dir)
		if err != nil {
			return fmt.Errorf("%s: style %s: %w", own.Position, own.Name, err)
		}
		for path, data := range loaded.Files() {
			source := filepath.Join(dir, filepath.FromSlash(path))
			at := doc.Position{File: s.shownPath(source), Line: 1}
			s.files = append(s.files, file{path: path, data: data, at: at, digest: digestOf(data), source: source})
		}
	}
	return nil
}

// loadLaid reads what variants lay over workspaces, and what cases copy there. A rule finds what one of them has, once.
func (s *suite) loadLaid(ctx context.Context, planned *plan.Plan) error {
	seen := make(map[string]bool)
	for _, u := range planned.Units {
		if seen[u.Variant.ID] || !u.Variant.LaysFiles() || !prepares(u) {
			continue
		}
		seen[u.Variant.ID] = true
		laid, err := engine.LaidFiles(ctx, s.p, u.Variant, s.besidePlaybook, s.cfg.Ours)
		if err != nil {
			return err
		}
		for _, l := range laid {
			f := file{path: l.Path, data: textOf(l.Data), at: u.Variant.Position, digest: digestOf(l.Data)}
			f.source = l.Source
			if f.source != "" {
				f.at = doc.Position{File: s.shownPath(f.source), Line: 1}
			}
			if !slices.ContainsFunc(s.files, func(g file) bool { return g.path == f.path && g.digest == f.digest }) {
				s.files = append(s.files, f)
			}
		}
	}
	for i := range s.cases {
		c := &s.cases[i]
		if len(c.Workspace.Add) == 0 || !prepares(c.unit) {
			continue
		}
		given, err := engine.GivenFiles(ctx, c.Case, s.besidePlaybook)
		if err != nil {
			return err
		}
		for p := range c.Files { // these are known with their lines
			delete(given, p)
		}
		for _, p := range slices.Sorted(maps.Keys(given)) {
			data := given[p].Data
			c.files = append(c.files, file{path: p, data: textOf(data), at: c.Position, digest: digestOf(data)})
		}
	}
	return nil
}

// textOf returns what is searched of a file, nil: nothing.
func textOf(data []byte) []byte {
	if len(data) > maxFile || bytes.IndexByte(data[:min(len(data), 8<<10)], 0) >= 0 {
		return nil
	}
	return data
}

// styleDir returns the directory of one of the playbook's own styles, empty for others.
func (s *suite) styleDir(name string) string {
	for _, own := range s.p.Styles {
		if own.Name == name {
			return s.besidePlaybook(own.Dir)
		}
	}
	return ""
}

// besidePlaybook returns the absolute path of what the playbook names relative to itself.
func (s *suite) besidePlaybook(path string) string {
	if path = filepath.FromSlash(path); filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(s.p.Dir, path)
}

// writesStyle returns the style that is written for a unit; empty: none is.
func writesStyle(u plan.Unit) string {
	if !slices.ContainsFunc(u.Steps, func(step plan.Step) bool { return action.Of(step.Uses).WritesStyle }) {
		return ""
	}
	return u.Variant.Style
}

// notef adds a note.
func (s *suite) notef(format string, args ...any) {
	s.notes = append(s.notes, fmt.Sprintf("%s: note: lint: %s", s.p.File, fmt.Sprintf(format, args...)))
}

// startsWith returns the files that the agent of a case starts with: those of the template, unless the case replaces
// them, and the case's own.
func (s *suite) startsWith(c *testCase) []file {
	if !prepares(c.unit) {
		return nil
	}
	if len(c.files) == 0 {
		return s.files
	}
	all := slices.DeleteFunc(slices.Clone(s.files), func(f file) bool {
		return slices.ContainsFunc(c.files, func(own file) bool { return own.path == f.path })
	})
	return append(all, c.files...)
}

// lookup returns the text of a file that the agent of a case starts with.
func (s *suite) lookup(c *testCase, path string) ([]byte, bool) {
	files := s.startsWith(c)
	i := slices.IndexFunc(files, func(f file) bool { return f.path == path })
	if i < 0 {
		return nil, false
	}
	return files[i].data, true
}

// tells returns where a file tells an answer, see [answer.told].
func (s *suite) tells(f file, a answer) []int {
	if f.source == "" {
		return a.told(f.path, string(f.data))
	}
	key := telling{f.path + "\x00" + f.source, a.text, a.target, "", a.prose}
	if a.pattern != nil {
		key.pattern = a.pattern.String()
	}
	at, known := s.told[key]
	if !known {
		at = a.told(f.path, string(f.data))
		s.told[key] = at
	}
	return at
}

// lineOf returns the number of the line, from 1, that an offset of a text is in.
func lineOf(text []byte, offset int) int { return 1 + bytes.Count(text[:offset], []byte("\n")) }
