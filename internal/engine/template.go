package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sdd-eval/sdd-eval/internal/action"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/git"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// template is what a run's workspaces are copied from, read once for all units.
type template struct {
	mu sync.Mutex
	t  *workspace.Template
	// arms are what variants lay over it, by their ids, and given what cases put into it.
	arms, given map[string]*arm
	held        int // bytes in given
	// found: a search for the first n secrets has found one in the template. It is over when searched is set, and clean
	// tells that all was searched and none was found.
	found           atomic.Bool
	secrets         int
	searched, clean bool
	listed          map[string]bool // in the run's directory, by digest
}

// loadTemplate reads the files that workspaces are made of, unless they were read before.
func (r *Runner) loadTemplate(ctx context.Context) (*workspace.Template, error) {
	r.template.mu.Lock()
	defer r.template.mu.Unlock()
	if r.template.t == nil {
		var search func([]byte)
		if r.cfg.Keep != nil && r.cfg.Mode == Replay { // else it is seldom asked for
			search, r.template.secrets = r.searchTemplate, r.secrets.Len()
		}
		t, err := LoadTemplate(ctx, r.pb, r.source, r.besidePlaybook, r.ours(), search)
		if err != nil {
			return nil, err
		}
		r.template.t = t
	}
	return r.template.t, nil
}

// searchTemplate looks for secrets in a text of the template.
func (r *Runner) searchTemplate(content []byte) {
	if r.shows(content) {
		r.template.found.Store(true)
	}
}

// ours are the absolute paths of our own files.
func (r *Runner) ours() []string {
	ours := []string{r.cassettes(), filepath.Join(r.cfg.Root, ".evaltest")}
	if r.cfg.Keep != nil {
		ours = append(ours, rundir.Below(r.cfg.Keep.Below))
	}
	return ours
}

// cleanTemplate reports whether there is no secret in the files that workspaces are made of. They are searched once for
// all units, and again when there are more secrets.
func (r *Runner) cleanTemplate(ctx context.Context) bool {
	r.template.mu.Lock()
	defer r.template.mu.Unlock()
	t := &r.template
	if t.t == nil {
		return true
	}
	secrets := r.secrets.Len()
	if more := t.secrets != secrets; more || !t.searched {
		complete := t.t.Each(ctx, more, r.searchTemplate)
		t.searched, t.secrets, t.clean = true, secrets, complete && !t.found.Load()
	}
	return t.clean
}

// Notes are those of the plan, and about the files of workspaces: what is left out, and patterns that match nothing.
func (r *Runner) Notes(ctx context.Context) []string {
	notes, w := r.plan.Notes(), r.pb.Workspace
	if !r.copiesFiles() {
		return notes
	}
	if len(w.Include)+len(w.Exclude) == 0 && len(r.plan.Before()) > 0 {
		return notes // a job may make files first
	}
	t, err := r.loadTemplate(ctx)
	if err != nil {
		return notes // each unit ends with the error
	}
	notes = append(notes, TemplateNotes(ctx, r.pb, t)...)
	for _, pattern := range w.Include {
		if !t.Includes(pattern) {
			notes = append(notes,
				fmt.Sprintf("%s: note: workspace.include: %q matches nothing that is copied", w.Position, pattern))
		}
	}
	for _, pattern := range w.Exclude {
		if !t.Excludes(pattern) {
			notes = append(notes,
				fmt.Sprintf("%s: note: workspace.exclude: %q leaves out nothing", w.Position, pattern))
		}
	}
	return notes
}

// copiesFiles reports whether a step prepares a workspace.
func (r *Runner) copiesFiles() bool {
	return slices.ContainsFunc(r.plan.Units, func(u plan.Unit) bool {
		return does(u.Steps, func(a action.Action) bool { return a.Template })
	})
}

// LoadTemplate reads what of dir the workspaces of a playbook are copied from; dir is absolute, or empty. Beside
// returns the absolute path of what the playbook names. Ours are absolute paths of sdd-eval's own files, cassettes and
// runs, which the agent does not see. For search see [workspace.Source]. Of a directory that has the playbook in it,
// the agent does not see the playbook, the files that it names and other playbooks, which say what is expected. It is
// an error if nothing is left of what else is in dir.
func LoadTemplate(
	ctx context.Context, pb *plan.Playbook, dir string, beside func(string) string, ours []string,
	search func(content []byte),
) (*workspace.Template, error) {
	src := workspace.Source{
		Dir: dir, Git: ofGit(pb), Include: pb.Workspace.Include, Exclude: slices.Clone(pb.Workspace.Exclude),
		Search: search,
	}
	if dir == "" {
		return workspace.Load(ctx, src)
	}
	var err error
	if pb.Workspace.Commit != "" {
		src.Commit, err = commitOf(ctx, pb, dir)
	} else if info, statErr := os.Stat(dir); statErr != nil {
		err = fmt.Errorf("%s: workspace.from: %w", placeOf(pb), statErr)
	} else if !info.IsDir() {
		err = fmt.Errorf("%s: workspace.from: %s is not a directory", placeOf(pb), dir)
	}
	if err != nil {
		return nil, err
	}
	own := beside(filepath.Base(pb.File))
	if _, holds := below(dir, own); holds || pb.Workspace.From == "" { // else its author chose what is in it
		ours = slices.Concat(ours, []string{own}, named(pb, beside))
		src.Hide = otherPlaybook
	}
	exclude(&src, ours)
	t, err := workspace.Load(ctx, src)
	switch _, gitFailed := errors.AsType[*workspace.GitError](err); {
	case gitFailed:
		return nil, fault.Advise(fmt.Errorf("%s: workspace.git: %w", placeOf(pb), err),
			"mend that, or say `git: all`, which copies what git ignores, too")
	case err != nil && src.Commit != "":
		return nil, fmt.Errorf("%s: workspace.commit: %w", placeOf(pb), err)
	case err != nil:
		return nil, err
	}
	byDefault := slices.ContainsFunc(t.LeftOut(), func(n workspace.Note) bool {
		return !unremarkable(n) && n.Reason != isPlaybook
	})
	if !t.Empty() || !byDefault {
		return t, nil
	}
	next := "name another directory in workspace.from, or in workspace.include what the agent needs"
	if _, asked := t.OfGit(); asked {
		next += "; `git: all` copies what git ignores, too"
	}
	return nil, fault.Advise(
		fmt.Errorf("%s: workspace: nothing of %s is left for the agent: %s", placeOf(pb), dir, leftOut(t)), next)
}

// ofGit returns which files of a repository a playbook's workspaces have.
func ofGit(pb *plan.Playbook) workspace.Git {
	switch pb.Workspace.Git {
	case plan.GitAll:
		return workspace.All
	case plan.GitTracked:
		return workspace.Tracked
	}
	return workspace.Unignored
}

// exclude leaves files and directories out of a source.
func exclude(src *workspace.Source, paths []string) {
	for _, path := range paths {
		if rel, ok := below(src.Dir, path); ok {
			glob := globMeta.ReplaceAllString(rel, `\$0`)
			src.Exclude = append(src.Exclude, glob, glob+"/**")
		}
	}
}

// SourceOf returns the absolute directory that the workspaces of a playbook are copied from, empty if nothing is: if it
// does not say, the given one, or the top of the repository whose commit it names.
func SourceOf(pb *plan.Playbook, byDefault string, beside func(string) string) string {
	switch {
	case pb.Workspace.Empty:
		return ""
	case pb.Workspace.From != "":
		return beside(pb.Workspace.From)
	}
	if pb.Workspace.Commit != "" {
		return cmp.Or(git.Top(beside(".")), beside("."))
	}
	return byDefault
}

// commitOf returns the full name of the commit that a playbook names.
func commitOf(ctx context.Context, pb *plan.Playbook, dir string) (string, error) {
	top, ref := git.Top(dir), pb.Workspace.Commit
	err := fmt.Errorf("%s is in no git repository", dir)
	var id string
	if top != "" {
		id, err = git.Commit(ctx, top, ref)
	}
	if err != nil {
		return "", fault.Advise(fmt.Errorf("%s: workspace.commit: %w", placeOf(pb), err),
			"name a commit that the repository has, as `git log` shows them")
	}
	return id, nil
}

// named returns the absolute paths of what the playbook names: scripts, prompts, goldens, programs, styles, what
// variants add and the test that has a suite.
func named(pb *plan.Playbook, beside func(string) string) []string {
	all := slices.Clone(pb.Files)
	commands := make([][]string, 0, len(pb.Variants)+len(pb.MCP))
	for _, v := range pb.Variants {
		commands = append(commands, append([]string{v.Agent.Command}, v.Agent.Args...))
		for _, s := range v.Overlay.MCP {
			commands = append(commands, s.Command)
		}
		for _, source := range v.Sources() {
			all = append(all, beside(source))
		}
	}
	for _, s := range pb.MCP {
		commands = append(commands, s.Command)
	}
	for _, words := range commands {
		if p, err := plan.FindProgram(beside("."), words); err == nil { // else its unit ends with the error
			all = slices.AppendSeq(all, maps.Values(p.Files))
		}
	}
	for _, s := range pb.Styles {
		all = append(all, beside(s.Dir))
	}
	for _, c := range pb.Cases {
		for _, add := range c.Workspace.Add {
			all = append(all, beside(add.From))
		}
		if rel, err := filepath.Rel(filepath.Dir(pb.File), c.Position.File); err == nil && c.Position.File != "" {
			all = append(all, beside(rel))
		}
	}
	return all
}

// below returns the path of a file or directory that is below dir, with slashes.
func below(dir, path string) (rel string, ok bool) {
	for range 2 {
		rel, err := filepath.Rel(dir, path)
		if err == nil && filepath.IsLocal(rel) && rel != "." {
			return filepath.ToSlash(rel), true
		}
		var dirErr, pathErr error // either may be reached through a link
		dir, dirErr = filepath.EvalSymlinks(dir)
		path, pathErr = filepath.EvalSymlinks(path)
		if dirErr != nil || pathErr != nil {
			break
		}
	}
	return "", false
}

// placeOf is where a playbook says what is in workspaces.
func placeOf(pb *plan.Playbook) string {
	if pb.Workspace.Position.Line == 0 {
		return pb.File
	}
	return pb.Workspace.Position.String()
}

// TemplateNotes are lines for people about what a playbook's workspaces lack of their source.
func TemplateNotes(ctx context.Context, pb *plan.Playbook, t *workspace.Template) []string {
	var notes []string
	if c, ref := t.Commit(), pb.Workspace.Commit; c != "" && git.Moves(ctx, t.Dir(), ref, c) {
		notes = append(notes, fmt.Sprintf("%s: note: workspace.commit: %s moves, and is %.12s now: recordings are "+
			"stale when it names other files; a tag or a commit's own name stays", placeOf(pb),
			excerpt.Visible(ref, maxShownPath), c))
	}
	if left := leftOut(t); left != "" {
		notes = append(notes, fmt.Sprintf("%s: note: workspace: the agent does not get %s", placeOf(pb), left))
	}
	if t.Empty() && slices.ContainsFunc(pb.Workspace.Exclude, t.Excludes) {
		notes = append(notes, fmt.Sprintf("%s: note: workspace.exclude leaves nothing for the agent", placeOf(pb)))
	}
	return notes
}

const (
	// maxLeftOut is how many paths that are left out for one reason are shown, and maxShownPath how many characters of
	// each.
	maxLeftOut   = 5
	maxShownPath = 100
)

// unremarkable reports whether a path is that of a repository's own directory, or of ours.
func unremarkable(n workspace.Note) bool {
	name := path.Base(n.Path)
	return name == ".git" || name == ".llman"
}

// leftOut lists what a template leaves out, reason by reason.
func leftOut(t *workspace.Template) string {
	var reasons []string
	paths := make(map[string][]string)
	for _, n := range t.LeftOut() {
		if unremarkable(n) {
			continue
		}
		if paths[n.Reason] == nil {
			reasons = append(reasons, n.Reason)
		}
		paths[n.Reason] = append(paths[n.Reason], excerpt.Visible(n.Path, maxShownPath))
	}
	for i, reason := range reasons {
		all := paths[reason]
		if more := len(all) - maxLeftOut; more > 0 {
			all = append(all[:maxLeftOut:maxLeftOut], fmt.Sprintf("%d more", more))
		}
		reasons[i] = fmt.Sprintf("%s (%s)", strings.Join(all, ", "), excerpt.Visible(reason, maxShownPath))
	}
	return strings.Join(reasons, "; ")
}

// globMeta matches what means something else in a glob.
var globMeta = lazyregexp.New(`[*?\[\]{}\\]`)

var (
	yamlName = lazyregexp.New(`\.ya?ml$`)
	workflow = lazyregexp.New(`(?m)^["']?workflow["']?:`)
	variants = lazyregexp.New(`(?m)^["']?variants["']?:`)
	evalFile = lazyregexp.New(`(?m)^["']?evalcases["']?:`)
)

const isPlaybook = "another playbook"

// otherPlaybook hides what looks like a playbook or an eval file: others than the one that runs may tell its answers.
func otherPlaybook(path string, head []byte) string {
	if yamlName.MatchString(path) && (workflow.Match(head) && variants.Match(head) || evalFile.Match(head)) {
		return isPlaybook
	}
	return ""
}
