package plan

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/fault"
)

// Load reads a playbook, or an eval file, a file with the key evalcases, as a playbook. The error is [doc.Problems] if
// the file can be read but is not valid.
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
	// Ablate names what control arms leave out, beside the playbook's `ablate`.
	Ablate []string
	// Untrusted refuses what lets children read, reach or get more than they do by default, see [widening].
	// StartsAgents says that the run starts agents though their sessions could be replayed, and AsksJudges that what
	// judges may be asked though its answers could be.
	Untrusted, StartsAgents, AsksJudges bool
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
	d.Dir, d.Top, d.Untrusted = dir, s.Root, s.Untrusted
	refused := s.Untrusted && refuseWidening(d, s.StartsAgents, s.AsksJudges)
	p, err := decode(s.Name, d, kinds, s.Ablate)
	if refused {
		err = fault.Advise(err, untrustedAdvice)
	}
	return p, err
}

func (s Source) parse() (*doc.Document, error) {
	if s.Data != nil {
		return doc.Parse(s.Name, s.Data), nil
	}
	d, err := doc.Load(s.Path, s.Name)
	if errors.Is(err, fs.ErrNotExist) {
		err = s.missing(err)
	} else if info, _ := os.Stat(s.Path); err != nil && info != nil && info.IsDir() {
		err = fmt.Errorf("%w: name a playbook in it", err)
	}
	return d, err
}

// missing says of a file that is not there what its name may have meant, or how to get one.
func (s Source) missing(err error) error {
	if strings.ContainsAny(s.Path, "*?[") {
		return fmt.Errorf("%w: the shell found no file for this pattern", err)
	}
	beside, _ := filepath.Glob(filepath.Join(filepath.Dir(s.Path), "*.y*ml"))
	for i := range beside {
		beside[i] = filepath.Base(beside[i])
	}
	if similar := doc.DidYouMean(filepath.Base(s.Path), beside); similar != "" {
		return fmt.Errorf("%w%s", err, similar)
	}
	return fault.Advise(err, "correct the path, or let sdd-eval init write a first playbook")
}

// Parse parses the text of a playbook. The name of its file is used in positions and for the playbook's default name,
// nothing is read from it, and a playbook that names scripts is refused. The error is [doc.Problems].
func Parse(file string, data []byte, kinds Kinds) (*Playbook, error) {
	return decode(file, doc.Parse(file, data), kinds, nil)
}

// handle has a document decoded with what the types of a playbook check beside their tags.
func handle(d *doc.Document, kinds Kinds) {
	doc.Handle(d, kinds.decode)
	doc.Handle(d, (*Ablation).decode)
	doc.Handle(d, (*Accept).decode)
	doc.Handle(d, (*AIJudge).decode)
	doc.Handle(d, decodeAgent)
	doc.Handle(d, (*Cache).decode)
	doc.Handle(d, (*Case).decode)
	doc.Handle(d, (*Cassette).decode)
	doc.Handle(d, (*Git).decode)
	doc.Handle(d, (*MaxAge).decode)
	doc.Handle(d, (*MCPServer).decode)
	doc.Handle(d, decodeServer)
	doc.Handle(d, (*Override).decode)
	doc.Handle(d, decodePermissionRule)
	doc.Handle(d, (*Sandbox).decode)
	doc.Handle(d, decodeSandbox)
	doc.Handle(d, (*Step).decode)
	doc.Handle(d, (*Stop).decode)
	doc.Handle(d, (*Trials).decode)
	doc.Handle(d, (*Variant).decode)
	doc.Handle(d, decodeEnv)
	doc.Handle(d, (*Workspace).decode)
}

func decode(file string, d *doc.Document, kinds Kinds, ablate []string) (*Playbook, error) {
	handle(d, kinds)
	p := &Playbook{File: file, Dir: d.Dir, Text: d.Text}
	var bases map[string]bool
	d.Root, bases = expand(d.Root)
	if isEvalFile(file, d.Root) {
		p.decodeEvalFile(d, bases)
	} else {
		p.decodePlaybook(d, bases)
	}
	p.checkCassette(d.Root.Get("cassette"))
	if d.Err() == nil {
		if err := p.ablate(d.Root.Get("ablate"), ablate); err != nil {
			return nil, err
		}
		p.AblatedAlso = ablate
	}
	if err := d.Err(); err != nil {
		return nil, err
	}
	p.aim()
	p.Noted = d.Notes()
	p.Files = slices.Compact(slices.Sorted(slices.Values(d.Files)))
	return p, nil
}

func (p *Playbook) decodePlaybook(d *doc.Document, bases map[string]bool) {
	d.Refuse(refused)
	var arms map[string][]Choice
	d.Root, arms = cross(d.Root)
	d.Root.Decode(p)
	if d.Root.Kind() != doc.Map {
		return // reported
	}
	p.nameAfterFile(d.Root)
	p.nameJobs()
	for i, v := range p.Variants {
		p.Variants[i].Axes = arms[v.ID]
	}
	p.placeEnds(d.Root)
	check(p, d, bases)
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
		root.Errorf("name", "the playbook is named after its file, and %q does not match %s: add a `name`", p.Name, id)
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

// refused are keys with a better reason than that they are unknown.
var refused = map[string]string{
	"version": "the fixed-pipeline format is now workflow, jobs and steps: `sdd-eval init` writes a new template",
}

// CheckCommand refuses a command at node n that the playbook's run steps and agents' terminals may not start, see
// [Playbook.AllowedCommands].
func CheckCommand(n *doc.Node, args []string) error {
	var p Playbook
	if d := n.Document(); d != nil {
		for _, name := range d.Root.Get("sandbox").Get("allow_commands").Items() {
			p.Sandbox.AllowCommands = append(p.Sandbox.AllowCommands, name.Text())
		}
	}
	return p.checkCommand(args)
}

// Dir returns the directory of the playbook's file that n is a node of, absolute; empty: it was parsed from a text.
func Dir(n *doc.Node) string {
	if d := n.Document(); d != nil {
		return d.Dir
	}
	return ""
}

// File returns the absolute path of the regular file that a path at node n means: relative to the playbook's
// directory or, if it is not there, to one of those above, up to the project's root.
func File(n *doc.Node, path string) (string, error) {
	found, err := findFile(n, path)
	if d := n.Document(); err == nil && d.Untrusted && isOutside(d, found) {
		return "", fmt.Errorf("refused in untrusted mode: %s %s", path, outsideProject)
	}
	if err == nil {
		n.Document().Files = append(n.Document().Files, found)
	}
	return found, err
}

func findFile(n *doc.Node, path string) (string, error) {
	d := n.Document()
	if d == nil || d.Dir == "" {
		return "", fmt.Errorf("%s: a playbook that was not read from a file cannot name files", path)
	}
	path = filepath.FromSlash(path)
	if filepath.IsAbs(path) {
		return path, checkRegular(path)
	}
	first := filepath.Join(d.Dir, path)
	err := checkRegular(first)
	for dir := d.Dir; errors.Is(err, fs.ErrNotExist) && isBelow(dir, d.Top); {
		dir = filepath.Dir(dir)
		found := filepath.Join(dir, path)
		if checkRegular(found) == nil {
			return found, nil
		}
	}
	return first, err
}

// isBelow reports whether dir is a directory below top, and not top itself.
func isBelow(dir, top string) bool {
	if top == "" {
		return false
	}
	rel, err := filepath.Rel(top, dir)
	return err == nil && rel != "." && filepath.IsLocal(rel)
}

func checkRegular(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", path)
	}
	return nil
}
