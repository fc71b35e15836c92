package lint

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/doc"
)

// answerInHistory finds answers, judges' files and canaries in the git repositories that workspaces get a copy of: in
// commits later than the one that is checked out, in earlier ones, and in what no commit has.
func answerInHistory(ctx context.Context, s *suite, found func(Finding)) error {
	marks := s.marks()
	for _, r := range s.repos {
		all, err := r.read()
		if err != nil {
			s.notef("the history of the workspace was not read as a whole: %v", err)
		}
		h := historyOf(r, all)
		for j := range h {
			h[j].judge = s.isJudge(file{path: h[j].path, data: h[j].text, digest: digestOf(h[j].text)})
			h[j].marks = slices.DeleteFunc(slices.Clone(marks), func(m mark) bool {
				return !bytes.Contains(h[j].text, []byte(m.text))
			})
		}
		for i := range s.cases {
			c := &s.cases[i]
			if !prepares(c.unit) {
				continue
			}
			if err := s.searchHistory(ctx, c, h, found); err != nil {
				return err
			}
		}
	}
	return nil
}

// past is a text in a history.
type past struct {
	where string // e.g. "commit 1a2b3c4 (later than HEAD): answer.txt"
	path  string // of the file; the name of the object where it has none
	text  []byte
	judge *judgeFile // that it is, or is a copy of; nil: none
	marks []mark     // that are in it
}

// searchHistory searches the texts that the workspace does not have as files.
func (s *suite) searchHistory(ctx context.Context, c *testCase, texts []past, found func(Finding)) error {
	present := make(map[string]bool)
	for _, f := range s.startsWith(c) {
		present[string(f.data)] = true
	}
	report := func(p past, format string, args ...any) {
		found(Finding{
			Position: s.includesGit(), Where: p.path,
			What: p.where + ": " + fmt.Sprintf(format, args...),
		})
	}
	for _, p := range texts {
		if err := ctx.Err(); err != nil {
			return err
		}
		if len(p.text) == 0 || present[string(p.text)] || bytes.IndexByte(p.text[:min(len(p.text), 8<<10)], 0) >= 0 {
			continue
		}
		if j := p.judge; j != nil {
			report(p, "the agent can read %s of %s (%s)", j.what, j.by, s.shownPath(j.path))
			continue
		}
		for _, m := range p.marks {
			report(p, "the agent can read the canary %s of %s", quote(m.text), m.by)
		}
		if testFile.MatchString(p.path) {
			continue
		}
		text := string(p.text)
		for _, a := range c.answers {
			if at := a.told(p.path, text); at != nil {
				p.where += fmt.Sprintf(":%d", lineOf(p.text, at[0]))
				report(p, "the agent can read what is looked for, %s: %s", a.by, quote(text[at[0]:at[1]]))
				break
			}
		}
	}
	return nil
}

// includesGit returns where the playbook has .git copied.
func (s *suite) includesGit() doc.Position {
	for _, n := range s.root.Get("workspace").Get("include").Items() {
		if strings.Contains(n.Text(), ".git") {
			return n.Position()
		}
	}
	return s.p.Workspace.Position
}

// historyOf returns the texts of a repository: each file with the first commit that has it, and messages.
func historyOf(r repository, o *objects) (texts []past) {
	commits := commitsOf(o)
	ancestors := ancestorsOf(commits, r.head())
	seen := make(map[string]bool)
	for _, c := range commits {
		where := fmt.Sprintf("%s: commit %s (later than HEAD, or beside it)", r.path, c.name[:7])
		if ancestors[c.name] {
			where = fmt.Sprintf("%s: commit %s (earlier)", r.path, c.name[:7])
			if c.name == r.head() {
				where = fmt.Sprintf("%s: commit %s (HEAD)", r.path, c.name[:7])
			}
		}
		texts = append(texts, past{where: where + ": its message", path: c.name[:7], text: o.all[c.name].data})
		o.walk(c.tree, "", 0, seen, func(p, name string) {
			texts = append(texts, past{where: where + ": " + p, path: p, text: o.all[name].data})
		})
	}
	var loose []past
	for name, x := range o.all {
		if x.kind == "blob" && !seen[name] || x.kind == "tag" {
			where := fmt.Sprintf("%s: %s %s, which no commit has", r.path, x.kind, name[:7])
			loose = append(loose, past{where: where, path: name[:7], text: x.data})
		}
	}
	slices.SortFunc(loose, func(a, b past) int { return strings.Compare(a.where, b.where) })
	return append(texts, loose...)
}

// commit is a commit of a repository.
type commit struct {
	name, tree string
	parents    []string
	time       int64
}

// commitsOf returns the commits, the oldest first.
func commitsOf(o *objects) (commits []commit) {
	for name, x := range o.all {
		if x.kind != "commit" {
			continue
		}
		c := commit{name: name}
		header, _, _ := strings.Cut(string(x.data), "\n\n")
		for line := range strings.Lines(header) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			switch key {
			case "tree":
				c.tree = value
			case "parent":
				c.parents = append(c.parents, value)
			case "committer":
				if f := strings.Fields(value); len(f) > 1 {
					c.time, _ = strconv.ParseInt(f[len(f)-2], 10, 64)
				}
			}
		}
		commits = append(commits, c)
	}
	slices.SortFunc(commits, func(a, b commit) int {
		return cmp.Or(cmp.Compare(a.time, b.time), strings.Compare(a.name, b.name))
	})
	return commits
}

// ancestorsOf returns a commit and all that it builds on.
func ancestorsOf(commits []commit, head string) map[string]bool {
	parents := make(map[string][]string)
	for _, c := range commits {
		parents[c.name] = c.parents
	}
	found := make(map[string]bool)
	for todo := []string{head}; len(todo) > 0; {
		name := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !found[name] && name != "" {
			found[name] = true
			todo = append(todo, parents[name]...)
		}
	}
	return found
}

// head returns the name of the commit that is checked out; empty: it is not known.
func (r repository) head() string {
	text := strings.TrimSpace(string(r.files["HEAD"]))
	ref, isRef := strings.CutPrefix(text, "ref: ")
	if !isRef {
		return text
	}
	if name := strings.TrimSpace(string(r.files[ref])); name != "" {
		return name
	}
	for line := range strings.Lines(string(r.files["packed-refs"])) {
		if name, of, ok := strings.Cut(strings.TrimSpace(line), " "); ok && of == ref {
			return name
		}
	}
	return ""
}

// maxTreeDepth bounds directories in directories.
const maxTreeDepth = 64

// walk calls f with each file of a tree that was not seen before.
func (o *objects) walk(tree, dir string, depth int, seen map[string]bool, f func(path, name string)) {
	x, ok := o.all[tree]
	if !ok || x.kind != "tree" || seen[tree] || depth > maxTreeDepth {
		return
	}
	seen[tree] = true
	for data := x.data; len(data) > 0; {
		entry, rest, ok := bytes.Cut(data, []byte{0})
		if !ok || len(rest) < sha1.Size {
			return
		}
		_, name, _ := strings.Cut(string(entry), " ")
		id := hex.EncodeToString(rest[:sha1.Size])
		data = rest[sha1.Size:]
		p := path.Join(dir, name)
		switch o.all[id].kind {
		case "tree":
			o.walk(id, p, depth+1, seen, f)
		case "blob":
			if !seen[id] {
				seen[id] = true
				f(p, id)
			}
		}
	}
}
