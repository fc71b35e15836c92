package lint

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/script"
)

// judgeFile is a file that judges: a golden file, a script, what it imports, or a prompt.
type judgeFile struct {
	path string // absolute
	what string // e.g. "the golden file"
	by   string // whose it is
	at   doc.Position
	data []byte
	// digest is that of its text, without the white space around lines.
	digest [sha256.Size]byte
}

// Some of what judges' files are.
const (
	thePlaybook = "the playbook"
	theGolden   = "the golden file"
)

// judgeFiles returns the files of all judges, and the playbook itself.
func judgeFiles(s *suite) (all []judgeFile) {
	add := func(path, what, by string, at doc.Position) {
		if slices.ContainsFunc(all, func(j judgeFile) bool { return j.path == path }) {
			return
		}
		data, err := disk.ReadRegular(path, maxFile)
		if err != nil {
			s.notef("lint cannot tell whether the agent sees %s of %s, because it cannot read the file: %v", what, by,
				err)
			return
		}
		all = append(all, judgeFile{path: path, what: what, by: by, at: at, data: data, digest: digestOf(data)})
	}
	for _, c := range s.cases {
		for _, e := range c.evaluators {
			for _, x := range e.node.Get("expect").Items() {
				if golden := x.Get("golden"); golden != nil {
					if file, err := plan.File(golden, golden.Text()); err == nil {
						add(file, theGolden, e.String(), golden.Position())
					}
				}
			}
			if e.kind == "code_judge" {
				addScript(e.node, e.String(), add)
			}
			if prompt := e.node.Get("prompt"); e.kind == "llm_judge" && prompt.Kind() == doc.Map {
				addScript(prompt, e.String(), add)
			} else if e.kind == "llm_judge" && prompt.Kind() == doc.String && !strings.Contains(prompt.Text(), "\n") {
				if file, err := plan.File(prompt, prompt.Text()); err == nil {
					add(file, "the prompt", e.String(), prompt.Position())
				}
			}
		}
	}
	return append(all, judgeFile{
		path: filepath.Join(s.p.Dir, filepath.Base(s.p.File)), what: thePlaybook, by: s.p.Name,
		at: doc.Position{File: s.p.File, Line: 1}, data: s.p.Text, digest: digestOf(s.p.Text),
	})
}

// addScript adds the files of a script: all that its words name, and what they import.
func addScript(n *doc.Node, by string, add func(path, what, by string, at doc.Position)) {
	at := n.Get("script").Position()
	var argv []string
	for _, word := range n.Get("script").Items() {
		argv = append(argv, word.Text())
	}
	named := script.Files(n, argv)
	for i, file := range script.WithImports(named) {
		what := "the script"
		if i >= len(named) {
			what = "what the script imports"
		}
		add(file, what, by, at)
	}
}

// digestOf returns the digest of a text without the white space around its lines and without empty lines.
func digestOf(data []byte) [sha256.Size]byte {
	h := sha256.New()
	for line := range bytes.Lines(data) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			h.Write(line)
			h.Write([]byte{'\n'})
		}
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// leastCopied is how many bytes a judge's file has at least for a copy of it to mean anything.
const leastCopied = 16

// isJudge returns the judge's file that a file of the workspace is, or is a copy of; nil if there is none.
func (s *suite) isJudge(f file) *judgeFile {
	for i, j := range s.judges {
		if f.source != "" && sameFile(f.source, j.path) || len(j.data) >= leastCopied && j.digest == f.digest {
			return &s.judges[i]
		}
	}
	return nil
}

func sameFile(a, b string) bool {
	if a == b {
		return true
	}
	if filepath.Base(a) != filepath.Base(b) {
		return false
	}
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// judgeInWorkspace finds files of judges, copies of them and recordings among the files that the agent gets.
func judgeInWorkspace(_ context.Context, s *suite, found func(Finding)) error {
	for i := range s.cases {
		c := &s.cases[i]
		for _, f := range s.startsWith(c) {
			if recording.Match(f.data[:min(len(f.data), 200)]) {
				found(Finding{
					Position: f.at, Where: f.path,
					What: "the agent can read a recording: what an agent did, or what judges said of it",
				})
			}
			j := s.isJudge(f)
			if j == nil {
				continue
			}
			if j.what == theGolden && slices.Contains(c.targets(), f.path) {
				continue // it is to stay as it is
			}
			p := f.at
			if f.source != "" && sameFile(f.source, j.path) && j.what != thePlaybook {
				p = j.at
			}
			found(Finding{
				Position: p, Where: f.path,
				What: fmt.Sprintf("the agent gets %s of %s, %s, as %s", j.what, j.by, s.shownPath(j.path), f.path),
			})
		}
	}
	return nil
}

// recording matches how cassettes, and the answers of judges beside them, begin.
var recording = lazyregexp.New(`^\{"(cassette":\d|judgments":\{"version")`)

// judgeExposed finds judges' files that the playbook has the agent read, or reach, where they are.
func judgeExposed(_ context.Context, s *suite, found func(Finding)) error {
	sandbox := s.root.Get("sandbox")
	for i, path := range s.p.Sandbox.AllowRead {
		if err := s.shows("allow_read", path, sandbox.Get("allow_read").Items()[i].Position(), found); err != nil {
			return err
		}
	}
	for _, c := range s.p.Caches {
		if c.Preset != "" {
			continue
		}
		if err := s.shows("caches", c.Dir, c.Position, found); err != nil {
			return err
		}
	}
	if s.p.Sandbox.Kind != "none" {
		return nil
	}
	for _, j := range s.judges {
		if j.what == thePlaybook {
			continue
		}
		found(Finding{
			Position: sandbox.Get("kind").Position(), Where: s.named(j.path),
			What: fmt.Sprintf("nothing confines the agent, and it can change %s of %s, %s", j.what, j.by,
				s.shownPath(j.path)),
			Remedy: "use another `sandbox.kind`: auto takes the strongest that works",
		})
	}
	return nil
}

// shows finds judges' files in what a key of the playbook lets the agent read.
func (s *suite) shows(key, path string, at doc.Position, found func(Finding)) error {
	abs, err := plan.ReadPath(s.p.Dir, path)
	if err != nil {
		return fmt.Errorf("%s: %s: %w", s.p.File, key, err)
	}
	for _, j := range s.judges {
		if rel, err := filepath.Rel(abs, j.path); err != nil || !filepath.IsLocal(rel) {
			continue
		}
		found(Finding{
			Position: at, Where: s.named(j.path),
			What: fmt.Sprintf("%s %s lets the agent read %s of %s, %s", key, path, j.what, j.by, s.shownPath(j.path)),
		})
	}
	return nil
}

// named returns a path relative to the playbook.
func (s *suite) named(path string) string {
	rel, err := filepath.Rel(s.p.Dir, path)
	if err != nil {
		return path
	}
	return filepath.ToSlash(rel)
}
