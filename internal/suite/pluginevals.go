package suite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/plan"
)

// The files of plugin evals.
const (
	caseFile   = "case.yaml"
	promptFile = "prompt.md"
	gradersDir = "graders"
	mocksDir   = "mocks"
	manifest   = ".claude-plugin/plugin.json"
)

const (
	maxCases   = 2000
	maxGraders = 256
	maxEntries = 10_000 // of a directory
	maxDepth   = 32     // of directories
	maxDirs    = 10_000
)

// pluginOf returns the plugin of which a path is a case, the file of one, or the directory with all.
func pluginOf(file string) string {
	has := func(dir string, patterns ...string) bool {
		for _, p := range patterns {
			for _, name := range []string{caseFile, promptFile} {
				if found, err := filepath.Glob(filepath.Join(dir, p, name)); err == nil && len(found) > 0 {
					return true
				}
			}
		}
		return false
	}
	dir := file
	switch name := filepath.Base(file); {
	case name == caseFile || name == promptFile:
		dir = filepath.Dir(file)
	case name != "evals" && !has(file, ".") && !has(file, "evals/*", "evals/*/*"):
		return ""
	}
	for range maxDepth {
		if has(dir, "evals/*", "evals/*/*") {
			return dir
		}
		dir = filepath.Dir(dir)
	}
	return ""
}

// pluginReader reads the evals of a plugin.
type pluginReader struct {
	*Suite
	Options
	dir    string // absolute
	tree   disk.Tree
	root   *os.Root
	dirs   int
	evals  string   // below dir, with slashes
	skills []string // names of the plugin's skills: those of their directories
	cases  []pluginCase
}

// place is a position in a file as a whole.
func (r *pluginReader) place(file string) doc.Position {
	return doc.Position{File: r.path(file), Line: 1, Column: 1}
}

func (r *pluginReader) path(file string) string {
	return filepath.Join(r.dir, filepath.FromSlash(file))
}

// pluginEvalsDir is [Format.Evals] of plugins.
func pluginEvalsDir(dir string) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	r := &pluginReader{Suite: &Suite{}, dir: dir, tree: disk.Tree(dir), root: root, evals: "evals"}
	err = r.readManifest()
	return r.evals, err
}

func readPluginEvals(_ context.Context, dir string, o Options) (*Suite, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	r := &pluginReader{
		Suite: &Suite{Name: ident(filepath.Base(dir))}, Options: o, dir: dir, tree: disk.Tree(dir), root: root,
		evals: "evals",
	}
	if err := r.readManifest(); err != nil {
		return nil, err
	}
	if info, err := root.Stat(filepath.FromSlash(r.evals)); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("%s has no directory %s with evals", dir, r.evals)
	}
	if err := r.find(r.evals, 0, nil); err != nil {
		return nil, err
	}
	if len(r.Cases) == 0 && len(r.Tags) > 0 {
		return nil, fmt.Errorf("%s has no case with the tag %s", r.path(r.evals), strings.Join(r.Tags, " or "))
	}
	if len(r.Cases) == 0 {
		return nil, fmt.Errorf("%s has no cases: a case is a directory with a %s or a %s", r.path(r.evals), promptFile,
			caseFile)
	}
	r.playbooks()
	return r.Suite, nil
}

// readManifest reads the name of the plugin and the directory with its evals.
func (r *pluginReader) readManifest() error {
	data, err := r.tree.ReadRegular(r.path(manifest), doc.MaxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	d := doc.ParseJSON(r.path(manifest), data)
	if err := d.Err(); err != nil {
		return err
	}
	if name := d.Root.Get("name").Text(); name != "" {
		r.Name = ident(name)
	}
	switch n := d.Root.Get("experimental").Get("evals"); {
	case n == nil:
	case n.Kind() != doc.String || !fs.ValidPath(path.Clean(n.Text())) || path.Clean(n.Text()) == ".":
		return fmt.Errorf("%v: experimental.evals must be a directory below the plugin", n.Position())
	default:
		r.evals = path.Clean(n.Text())
	}
	r.skills = r.skillsOf("")
	return nil
}

// skillsOf returns the names of the skills of the plugin in dir.
func (r *pluginReader) skillsOf(dir string) []string {
	var names []string
	entries, _ := r.list(path.Join(dir, "skills"))
	for _, e := range entries {
		if r.has(path.Join(dir, "skills", e.Name(), plan.SkillFile)) {
			names = append(names, e.Name())
		}
	}
	return names
}

// exists reports whether there is anything of that name, also what cannot be read.
func (r *pluginReader) exists(file string) bool {
	_, err := r.root.Lstat(filepath.FromSlash(file))
	return err == nil
}

func (r *pluginReader) has(file string) bool {
	info, err := r.root.Stat(filepath.FromSlash(file))
	return err == nil && info.Mode().IsRegular()
}

// list returns the entries of a directory, sorted.
func (r *pluginReader) list(dir string) ([]fs.DirEntry, error) {
	if r.dirs++; r.dirs > maxDirs {
		return nil, fmt.Errorf("more than %d directories below %s", maxDirs, r.dir)
	}
	entries, err := disk.List(r.root, filepath.FromSlash(dir), maxEntries+1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(entries) > maxEntries {
		return nil, fmt.Errorf("%s has more than %d entries", r.path(dir), maxEntries)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// skipped are names of directories without cases.
var skipped = []string{"node_modules", "results", mocksDir}

// find reads the cases in a directory and below it. Mocks are the directories above with servers that are played.
func (r *pluginReader) find(dir string, depth int, mocks []string) error {
	entries, err := r.list(dir)
	if err != nil {
		return err
	}
	names := make(map[string]bool)
	for _, e := range entries {
		names[e.Name()] = true
	}
	if names[mocksDir] {
		mocks = append(slices.Clip(mocks), path.Join(dir, mocksDir))
	}
	if dir != r.evals && (names[caseFile] || names[promptFile]) {
		if len(r.Cases) == maxCases {
			return fmt.Errorf("%s has more than %d cases", r.path(r.evals), maxCases)
		}
		r.readCase(dir, names, mocks)
		return nil
	}
	for _, e := range entries {
		name := e.Name()
		if !e.IsDir() || strings.HasPrefix(name, ".") || slices.Contains(skipped, name) {
			continue
		}
		if depth == maxDepth {
			return fmt.Errorf("%s: directories are more than %d levels deep", r.path(dir), maxDepth)
		}
		if err := r.find(path.Join(dir, name), depth+1, mocks); err != nil {
			return err
		}
	}
	return nil
}

// load reads a file as YAML, or what stands between two lines of --- at its head; then body is the rest, without the
// white space around it. The document is nil if there is nothing of the kind, or nothing that can be read, which is a
// problem.
func (r *pluginReader) load(c *pluginCase, file string, head bool) (d *doc.Document, body string) {
	data, err := r.tree.ReadRegular(r.path(file), doc.MaxSize)
	if err != nil {
		c.problem(r.place(file), "", err.Error())
		return nil, ""
	}
	text := doc.PlainLines(data)
	if head {
		if text, body, err = doc.CutHead(data); err != nil {
			c.problem(r.place(file), "", err.Error())
			return nil, ""
		}
		if body = strings.TrimSpace(body); text == "" {
			return nil, body
		}
		if strings.TrimSpace(text) == "" {
			text = "\n{}"
		}
	}
	d = doc.Parse(r.path(file), []byte(text)) // lines are those of the file
	doc.Handle(d, (*target).decode)
	doc.Handle(d, (*toolPattern).decode)
	return d, body
}

// take makes the problems of a document those of the case.
func (c *pluginCase) take(d *doc.Document) {
	problems, _ := errors.AsType[doc.Problems](d.Err())
	for _, p := range problems {
		c.problem(p.Position, p.Path, p.Reason)
	}
}

// problem adds a problem of the case.
func (c *pluginCase) problem(at doc.Position, key, what string) {
	c.suite.Problems = append(c.suite.Problems, Problem{At: at, Case: c.Name, Key: key, What: what})
}

// readCase reads the case of a directory with these files.
func (r *pluginReader) readCase(dir string, names map[string]bool, mocks []string) {
	c := pluginCase{suite: r.Suite, dir: dir, Case: Case{Name: path.Base(dir), Graders: make(map[string]int)}}
	before, noted := len(r.Problems), len(r.Notes)
	file := path.Join(dir, promptFile)
	if names[caseFile] {
		file = path.Join(dir, caseFile)
	}
	c.At = r.place(file)
	if names[caseFile] {
		d, _ := r.load(&c, file, false)
		var top struct {
			SchemaVersion string        `yaml:"schema_version,required"`
			Name          string        `yaml:"name,required"`
			Top           topKeys       `yaml:",inline"`
			Context       contextKeys   `yaml:"context"`
			Execution     executionKeys `yaml:"execution"`
			Graders       *doc.Node     `yaml:"graders"`
		}
		if d != nil {
			d.Root.Decode(&top)
		}
		c.SchemaVersion, c.top, c.context, c.execution = top.SchemaVersion, top.Top, top.Context, top.Execution
		c.Name = cmp.Or(top.Name, c.Name)
		if d != nil {
			c.at = map[string]*doc.Node{"": d.Root}
			for _, part := range []*doc.Node{d.Root, d.Root.Get("context"), d.Root.Get("execution")} {
				for _, e := range part.Entries() {
					c.at[e.Key] = e.Value
				}
			}
		}
		for _, n := range top.Graders.Items() {
			r.readGrader(&c, n, "", "")
		}
		if d != nil {
			if k := top.Graders.Kind(); k != doc.List && k != doc.Invalid {
				top.Graders.Errorf("", "must be a list of graders")
			}
			c.take(d)
		}
	} else {
		c.SchemaVersion = "1.1"
	}
	if names[promptFile] {
		r.readPrompt(&c, path.Join(dir, promptFile))
	}
	r.readGraders(&c, path.Join(dir, gradersDir))
	c.ID = ident(c.Name)
	c.check(r, mocks)
	for i := range r.Problems[before:] {
		r.Problems[before+i].Case = c.Name
	}
	for _, other := range r.cases {
		if strings.EqualFold(other.ID, c.ID) {
			c.problem(c.At, "name",
				fmt.Sprintf("the case %q has a name like another one: give each its own", other.Name))
		}
	}
	c.Mapped = len(r.Problems) == before
	c.left = len(r.Tags) > 0 &&
		!slices.ContainsFunc(r.Tags, func(t string) bool { return slices.Contains(c.top.Tags, t) })
	r.cases = append(r.cases, c)
	if c.left {
		r.Problems, r.Notes = r.Problems[:before], r.Notes[:noted]
		return
	}
	r.Cases = append(r.Cases, c.Case)
}

// readPrompt reads a prompt.md, whose keys come before those of the case.yaml.
func (r *pluginReader) readPrompt(c *pluginCase, file string) {
	d, body := r.load(c, file, true)
	c.execution.Prompt = cmp.Or(body, c.execution.Prompt)
	if d == nil {
		return
	}
	var keys struct {
		SchemaVersion string      `yaml:"schema_version"`
		Name          string      `yaml:"name"`
		Top           topKeys     `yaml:",inline"`
		Settings      settingKeys `yaml:",inline"`
	}
	keys.Top, keys.Settings = c.top, c.execution.Settings
	denied := c.execution.Settings.DisallowedTools
	d.Root.Decode(&keys)
	c.take(d)
	c.SchemaVersion, c.Name = cmp.Or(keys.SchemaVersion, c.SchemaVersion), cmp.Or(keys.Name, c.Name)
	c.top, c.execution.Settings = keys.Top, keys.Settings
	if d.Root.Get("disallowed_tools") != nil {
		c.execution.Settings.DisallowedTools = slices.Concat(denied, keys.Settings.DisallowedTools)
	}
	if c.at == nil {
		c.at = make(map[string]*doc.Node)
	}
	for _, e := range d.Root.Entries() {
		c.at[e.Key] = e.Value
	}
}

// readGraders reads the graders of a directory.
func (r *pluginReader) readGraders(c *pluginCase, dir string) {
	info, err := r.root.Lstat(filepath.FromSlash(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is no directory", r.path(dir))
	}
	var entries []fs.DirEntry
	if err == nil {
		entries, err = r.list(dir)
	}
	if err != nil {
		c.problem(r.place(dir), "graders", err.Error())
		return
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".md")
		if !ok || e.IsDir() {
			continue
		}
		file := path.Join(dir, e.Name())
		if d, body := r.load(c, file, true); d != nil {
			r.readGrader(c, d.Root, name, body)
			c.take(d)
		} else if body != "" {
			r.Notes = append(r.Notes, Problem{
				At: r.place(file), Case: c.Name, Key: "graders",
				What: "it has no head between lines of ---, so it is no grader: Claude Code passes it over, too",
			})
		}
	}
}

// ident returns an id of playbooks that is like a text.
func ident(text string) string {
	id := strings.Trim(notID.ReplaceAllString(text, "-"), "-")
	if id == "" || !strings.Contains(letters, id[:1]) {
		id = strings.TrimSuffix("case-"+id, "-")
	}
	return id[:min(len(id), 100)]
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
