// Package mockdir reads the directories that MCP servers are played from, and tells which calls of a session they
// answered.
//
// A directory has a file TOOL.md for each tool: its body is the answer, its head between lines of --- may have `expect`
// and `error`. A later directory's tools take the place of those of an earlier one. _tools.json is a saved answer to
// tools/list. A tool that a model plays is an error.
package mockdir

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/jsregexp"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
	"github.com/sdd-eval/sdd-eval/internal/mock"
)

const (
	// ServerFile and ToolsFile are the names of files that are about all tools of a server.
	ServerFile = "_server.md"
	ToolsFile  = "_tools.json"

	maxFile    = 1 << 20 // bytes of a file
	maxAll     = 8 << 20 // bytes of the files that answers may hold
	maxEntries = 256     // of a directory
	maxInAll   = 4096    // entries of the directories with files that answers may hold
	maxDepth   = 8       // of directories with files that answers may hold
	maxGuards  = 32      // of a tool
)

// stub is in files that nobody has filled in yet.
const stub = "TODO: replace with the canned result this tool should return"

var toolName = lazyregexp.New(`^[A-Za-z0-9_-]+$`)

// reader reads the directories of a server.
type reader struct {
	server   mock.Server
	listed   map[string]mock.Tool // what the server says of tools, by their names
	files    []string
	entries  int // with files that answers may hold, and
	bytes    int // of these
	problems doc.Problems
}

// Read returns the server that directories play, and the absolute paths of the files that it is made of. The error is
// [doc.Problems] if files are not as they must be.
func Read(name string, dirs []string) (*mock.Server, []string, error) {
	r := reader{
		server: mock.Server{Name: name, Tools: make(map[string]mock.Tool), Files: make(map[string]string)},
		listed: make(map[string]mock.Tool),
	}
	for i, dir := range dirs {
		if err := r.readDir(i, dir); err != nil {
			return nil, r.files, err
		}
	}
	if len(r.problems) > 0 {
		return nil, r.files, r.problems
	}
	if len(r.server.Tools) == 0 {
		return nil, r.files, fmt.Errorf("%s has no file TOOL.md, so that it answers nothing", strings.Join(dirs, ", "))
	}
	for tool, t := range r.server.Tools {
		t.InputSchema = map[string]any{"type": "object", "additionalProperties": true}
		if said, ok := r.listed[tool]; ok {
			t.Description, t.InputSchema = said.Description, said.InputSchema
		}
		r.server.Tools[tool] = t
	}
	return &r.server, r.files, nil
}

func (r *reader) problem(file, what string, args ...any) {
	r.problems = append(r.problems, doc.Problem{
		Position: doc.Position{File: file, Line: 1, Column: 1}, Reason: fmt.Sprintf(what, args...),
	})
}

// list returns the entries of a directory, sorted.
func list(root *os.Root, dir string) ([]fs.DirEntry, error) {
	entries, err := disk.List(root, filepath.FromSlash(dir), maxEntries+1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(entries) > maxEntries {
		return nil, fmt.Errorf("%s has more than %d entries", filepath.Join(root.Name(), dir), maxEntries)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// readDir reads the directory of a number.
func (r *reader) readDir(number int, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	entries, err := list(root, ".")
	if err != nil {
		return err
	}
	held := false
	for _, e := range entries {
		name := e.Name()
		tool, ok := strings.CutSuffix(name, ".md")
		if strings.HasPrefix(name, ".") || e.IsDir() || !ok && name != ToolsFile {
			continue
		}
		file := filepath.Join(dir, name)
		text, err := read(root, name)
		switch {
		case err != nil:
			r.problem(file, "%v", err)
		case name == ToolsFile:
			r.readList(file, text)
		default:
			t := r.readTool(file, tool, text)
			t.Dir = number
			r.server.Tools[tool] = t
			held = held || mock.HasFiles(t.Body)
		}
		r.files = append(r.files, file)
	}
	if held {
		return r.readFiles(root, number, ".", 0)
	}
	return nil
}

// read returns the text of a regular file, to which no link leads.
func read(root *os.Root, name string) (string, error) {
	info, err := root.Lstat(filepath.FromSlash(name))
	if err != nil {
		return "", err
	}
	if err := disk.CheckRegular(name, info); err != nil {
		return "", errors.New("is no regular file")
	}
	f, err := disk.OpenRegularIn(root, filepath.FromSlash(name))
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := disk.ReadAll(f, maxFile)
	return strings.ToValidUTF8(string(data), "\uFFFD"), err
}

// readFiles reads the files that answers may hold.
func (r *reader) readFiles(root *os.Root, number int, dir string, depth int) error {
	entries, err := list(root, dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if r.entries++; r.entries > maxInAll {
			return fmt.Errorf("%s: directories with files that answers may hold have more than %d entries in all",
				root.Name(), maxInAll)
		}
		if e.IsDir() {
			if depth == maxDepth {
				return fmt.Errorf("%s: directories are more than %d levels deep", filepath.Join(root.Name(), name),
					maxDepth)
			}
			if err := r.readFiles(root, number, name, depth+1); err != nil {
				return err
			}
			continue
		}
		file := filepath.Join(root.Name(), filepath.FromSlash(name))
		text, err := read(root, name)
		if err != nil {
			r.problem(file, "%v", err)
			continue
		}
		r.server.Files[mock.FileKey(number, name)] = text
		if !slices.Contains(r.files, file) {
			r.files = append(r.files, file)
		}
		if r.bytes += len(text); r.bytes > maxAll {
			return fmt.Errorf("%s: the files that answers may hold have more than %d bytes", root.Name(), maxAll)
		}
	}
	return nil
}

// readList reads a saved answer to tools/list.
func (r *reader) readList(file, text string) {
	type tools struct {
		Tools []struct {
			Name        string         `json:"name"`
			Description string         `json:"description"`
			InputSchema map[string]any `json:"inputSchema"`
		} `json:"tools"`
	}
	var saved struct {
		tools
		Result *tools `json:"result"`
	}
	if err := jsonvalue.Decode([]byte(text), &saved); err != nil {
		r.problem(file, "is no saved answer to tools/list: %v", err)
		return
	}
	if saved.Result != nil {
		saved.tools = *saved.Result
	}
	if saved.Tools == nil {
		r.problem(file, `is no saved answer to tools/list: {"tools": [...]}`)
	}
	for _, t := range saved.Tools {
		if t.Name == "" {
			r.problem(file, "a tool has no name")
		}
		schema := map[string]any{}
		maps.Copy(schema, t.InputSchema)
		schema["type"] = cmp.Or[any](schema["type"], "object")
		r.listed[t.Name] = mock.Tool{Description: t.Description, InputSchema: schema}
	}
}

// readTool reads the file of a tool.
func (r *reader) readTool(file, name, text string) (t mock.Tool) {
	head, body, err := doc.CutHead([]byte(text))
	if err != nil {
		r.problem(file, "%v", err)
		return t
	}
	t.Body = strings.TrimRight(strings.TrimLeft(body, "\n"), " \t\r\n\v\f")
	if strings.TrimSpace(head) == "" {
		head = "\n{}"
	}
	d := doc.Parse(file, []byte(head))
	var k struct {
		Type      string    `yaml:"type" enum:"fixed,agent" default:"fixed"`
		Expect    *doc.Node `yaml:"expect"`
		Error     bool      `yaml:"error"`
		Tools     []string  `yaml:"tools"`
		AbortWhen string    `yaml:"abort_when"`
	}
	if d.Root != nil {
		d.Root.Decode(&k)
	}
	switch {
	case k.Type == "agent" || k.AbortWhen != "":
		d.Root.Errorf("", "type: agent: the server is played by a model, whose answers differ from run to run: write "+
			"each tool's answer into TOOL.md")
	case name+".md" == ServerFile:
		d.Root.Errorf("", "%s is about servers that a model plays: write each tool's answer into TOOL.md", ServerFile)
	case len(k.Tools) > 0:
		d.Root.Errorf("tools", "is for %s: a file TOOL.md is about the tool of its name", ServerFile)
	case !toolName.MatchString(name) || strings.Contains(name, "__"):
		d.Root.Errorf("", "a tool's name has letters, digits, _ and - alone, and no __: %q", name)
	case strings.Contains(t.Body, stub):
		d.Root.Errorf("", "nobody has written the answer yet")
	}
	t.Error = k.Error
	if k.Expect != nil {
		t.Expect = guards(k.Expect, "")
		if n := len(t.Expect); n > maxGuards {
			k.Expect.Errorf("", "%d values are more than %d", n, maxGuards)
		}
	}
	problems, _ := errors.AsType[doc.Problems](d.Err())
	r.problems = append(r.problems, problems...)
	return t
}

// guards reads what arguments must be.
func guards(n *doc.Node, at string) []mock.Guard {
	if n.Kind() != doc.Map {
		n.Errorf("", "must be a mapping from arguments to what they must be")
		return nil
	}
	var all []mock.Guard
	for _, e := range n.Entries() {
		g := mock.Guard{Path: e.Key, Shown: e.Value.Text()}
		if at != "" {
			g.Path = at + "." + e.Key
		}
		switch e.Value.Kind() {
		case doc.Map:
			all = append(all, guards(e.Value, g.Path)...)
			continue
		case doc.List:
			if len(e.Value.Items()) == 0 {
				e.Value.Errorf("", "an empty list of values can never hold")
			}
			for _, item := range e.Value.Items() {
				word, ok := mock.Text(item.Value())
				if !ok {
					item.Errorf("", "must be a text, a number or a boolean")
				}
				g.OneOf = append(g.OneOf, word)
			}
		default:
			word, ok := mock.Text(e.Value.Value())
			if !ok {
				e.Value.Errorf("", "must be a text, a number, a boolean, a list of these or a mapping")
			}
			compileGuard(&g, e.Value, word)
		}
		all = append(all, g)
	}
	return all
}

var written = lazyregexp.New(`^/(?s:(.+))/([a-z]*)$`)

// compileGuard makes a guard of a scalar: a type, an expression between slashes, or the value itself.
func compileGuard(g *mock.Guard, n *doc.Node, word string) {
	m := written.FindStringSubmatch(word)
	switch {
	case m == nil && slices.Contains(mock.Types(), word):
		g.Type = word
	case m == nil:
		g.OneOf = []string{word}
	case strings.Trim(m[2], "is") != "":
		n.Errorf("", "%s: only the flags i and s are known", word)
	default:
		var err error
		if g.Most, err = limit(m[1]); err == nil {
			g.Matches, err = translate(m[1], m[2])
		}
		if err != nil {
			n.Errorf("", "%s: %v", word, err)
		}
	}
}

func translate(pattern, flags string) (string, error) {
	expression, err := jsregexp.Translate(pattern, flags)
	if err == nil {
		_, err = regexp.Compile(expression)
	}
	return expression, err
}
