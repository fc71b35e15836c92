package playbook

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/doc"
)

// Load reads a playbook, or an eval file, a file with the key evalcases, as a playbook. The error is [Errors] if the
// file can be read but is not valid.
func Load(path string, kinds Kinds) (*Playbook, error) { return Read(Source{Path: path}, kinds) }

// Source is a playbook's file.
type Source struct {
	// Path is the file's path. What the playbook names is relative to its directory.
	Path string
	// Name is what positions and results call the file, such as its path below the module's root; empty: Path.
	Name string
	// Root is the project's root. Scripts that are not beside the playbook are looked for in the directories above it,
	// up to the root; empty: they are not.
	Root string
	// Data is the file's text; nil: it is read from Path.
	Data []byte
}

// Read is [Load] with the options in Source.
func Read(s Source, kinds Kinds) (*Playbook, error) {
	if s.Name == "" {
		s.Name = s.Path
	}
	d, err := s.parse()
	if err != nil {
		return nil, fmt.Errorf("load playbook: %w", err)
	}
	dir, err := filepath.Abs(filepath.Dir(s.Path))
	if err != nil {
		return nil, fmt.Errorf("load playbook: %w", err)
	}
	d.Dir, d.Top = dir, s.Root
	return decode(s.Name, d, kinds)
}

func (s Source) parse() (*doc.Document, error) {
	if s.Data != nil {
		return doc.Parse(s.Name, s.Data), nil
	}
	d, err := doc.Load(s.Path, s.Name)
	if errors.Is(err, fs.ErrNotExist) && strings.ContainsAny(s.Path, "*?[") {
		err = fmt.Errorf("%w: patterns are for the shell, which found no file for this one", err)
	} else if info, _ := os.Stat(s.Path); err != nil && info != nil && info.IsDir() {
		err = fmt.Errorf("%w: name a playbook in it", err)
	}
	return d, err
}

// Parse parses the text of a playbook. The name of its file is used in positions and for the playbook's default name,
// nothing is read from it, and a playbook that names scripts is refused. The error is [Errors].
func Parse(file string, data []byte, kinds Kinds) (*Playbook, error) {
	return decode(file, doc.Parse(file, data), kinds)
}

func decode(file string, d *doc.Document, kinds Kinds) (*Playbook, error) {
	doc.Handle(d, kinds.decode)
	doc.Handle(d, (*AIJudge).decode)
	doc.Handle(d, (*Agent).decode)
	doc.Handle(d, (*Case).decode)
	doc.Handle(d, (*Cassette).decode)
	doc.Handle(d, (*MaxAge).decode)
	doc.Handle(d, (*MCPServer).decode)
	doc.Handle(d, (*Override).decode)
	doc.Handle(d, (*PermissionRule).decode)
	doc.Handle(d, (*Sandbox).decode)
	doc.Handle(d, (*Step).decode)
	doc.Handle(d, (*Trials).decode)
	doc.Handle(d, (*Workspace).decode)
	doc.Handle(d, func(n **Node, node *doc.Node) { *n = wrap(node) })
	p := &Playbook{File: file, Dir: d.Dir, Text: d.Text}
	if isEvalFile(file, d.Root) {
		p.decodeEvalFile(d)
	} else {
		p.decodePlaybook(d)
	}
	p.checkCassette(d.Root.Get("cassette"))
	if err := errorsOf(d); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *Playbook) decodePlaybook(d *doc.Document) {
	d.Refuse(refused)
	d.Root.Decode(p)
	if d.Root.Kind() != doc.Map {
		return // reported
	}
	p.nameAfterFile(d.Root)
	p.nameJobs()
	check(p, d)
}

var id = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_-]*$`)

func (p *Playbook) nameAfterFile(root *doc.Node) {
	if root.Get("name") != nil {
		return
	}
	p.Name = filepath.Base(p.File)
	for _, ext := range []string{".yaml", ".yml", ".eval"} {
		p.Name = strings.TrimSuffix(p.Name, ext)
	}
	if !id.MatchString(p.Name) {
		root.Errorf("name", "the file's name makes the playbook's %q, which must match %s: write a `name`", p.Name, id)
	}
}

// nameJobs tells steps their jobs.
func (p *Playbook) nameJobs() {
	for _, j := range p.Workflow.Jobs {
		for i := range j.Steps {
			j.Steps[i].Job = j.ID
		}
	}
}
