package engine

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/skill"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// arm is what a variant lays over the workspaces of its units, or what a case puts into them.
type arm struct {
	files     map[string]workspace.Seed
	installed []string // the places of skills and plugins in the workspace
	place     string   // where the agent looks for skills, empty: nowhere
	// sources are the files that it is read from, absolute.
	sources []string
	// from has the source of each file that is not written in the playbook, by path.
	from map[string]string
	// instructions are appended to the file at the path to; nil: there are none.
	to           string
	instructions []byte
}

// armOf returns what a variant lays over workspaces, read once for all its units.
func (r *Runner) armOf(ctx context.Context, v plan.Variant) (*arm, error) {
	r.template.mu.Lock()
	defer r.template.mu.Unlock()
	if a, ok := r.template.arms[v.ID]; ok {
		return a, nil
	}
	a, err := r.layer().arm(ctx, v)
	if err != nil {
		return nil, fmt.Errorf("%s: variant %s: %w", v.Position, v.ID, err)
	}
	if r.template.arms == nil {
		r.template.arms = make(map[string]*arm)
	}
	r.template.arms[v.ID] = a
	return a, nil
}

// givenOf returns what a case puts into workspaces, read once for all its units.
func (r *Runner) givenOf(ctx context.Context, c plan.Case) (*arm, error) {
	r.template.mu.Lock()
	defer r.template.mu.Unlock()
	if a, ok := r.template.given[c.ID]; ok {
		return a, nil
	}
	a, err := r.layer().given(ctx, c)
	if err != nil {
		return nil, err
	}
	if r.template.given == nil {
		r.template.given = make(map[string]*arm)
	}
	if r.template.held += a.size(); r.template.held <= maxHeld {
		r.template.given[c.ID] = a
	}
	return a, nil
}

// maxHeld is how many bytes of files that cases add are held; others are read for each unit.
const maxHeld = 256 << 20

func (r *Runner) layer() layer { return layer{r.pb, r.besidePlaybook, r.ours()} }

// LaidFile is a file that a variant lays over workspaces. Source is the absolute path of what it is read from; empty:
// it is written in the playbook.
type LaidFile struct {
	Path, Source string
	Data         []byte
}

// LaidFiles returns what a variant lays over workspaces, sorted by path; instructions are a file of their own. Beside
// and ours are as in [LoadTemplate].
func LaidFiles(
	ctx context.Context, pb *plan.Playbook, v plan.Variant, beside func(string) string, ours []string,
) ([]LaidFile, error) {
	a, err := layer{pb, beside, ours}.arm(ctx, v)
	if err != nil {
		return nil, fmt.Errorf("%s: variant %s: %w", v.Position, v.ID, err)
	}
	var all []LaidFile
	for _, p := range slices.Sorted(maps.Keys(a.files)) {
		all = append(all, LaidFile{p, a.from[p], a.files[p].Data})
	}
	if a.instructions != nil {
		all = append(all, LaidFile{a.to, beside(v.Overlay.Instructions), a.instructions})
	}
	return all, nil
}

// GivenFiles returns the files that a case puts into workspaces. Beside is as in [LoadTemplate].
func GivenFiles(ctx context.Context, c plan.Case, beside func(string) string) (map[string]workspace.Seed, error) {
	a, err := layer{beside: beside}.given(ctx, c)
	if err != nil {
		return nil, err
	}
	return a.files, nil
}

// layer reads what variants of a playbook lay over workspaces. Beside and ours are as in [LoadTemplate].
type layer struct {
	pb     *plan.Playbook
	beside func(string) string
	ours   []string
}

func (r layer) arm(ctx context.Context, v plan.Variant) (*arm, error) {
	profile, _ := agent.Lookup(v.Agent.Kind)
	a := newArm()
	a.to, a.place = profile.Instructions, profile.Skills
	if err := r.put(ctx, a, v.Overlay.Workspace, v.Overlay.Files); err != nil {
		return nil, err
	}
	for _, dir := range v.Overlay.Skills {
		if err := r.install(ctx, a, r.beside(dir), plan.SkillFile, profile.Skills); err != nil {
			return nil, fmt.Errorf("skills: %s: %w", dir, err)
		}
	}
	for _, dir := range v.Overlay.Plugins {
		if err := r.install(ctx, a, r.beside(dir), plan.PluginFile, profile.Plugins); err != nil {
			return nil, fmt.Errorf("plugins: %s: %w", dir, err)
		}
	}
	if file := v.Overlay.Instructions; file != "" {
		var err error
		if a.instructions, err = disk.ReadRegular(r.beside(file), workspace.MaxSeeds); err != nil {
			return nil, fmt.Errorf("instructions: %w", err)
		}
	}
	return a, nil
}

func newArm() *arm {
	return &arm{files: make(map[string]workspace.Seed), from: make(map[string]string)}
}

// given returns what a case puts into workspaces.
func (r layer) given(ctx context.Context, c plan.Case) (*arm, error) {
	a := newArm()
	if err := r.put(ctx, a, c.Workspace, c.Files); err != nil {
		return nil, fmt.Errorf("%s: case %s: %w", c.Position, c.ID, err)
	}
	return a, nil
}

// put lays what is copied, and over it what is written.
func (r layer) put(ctx context.Context, a *arm, copied playbook.Additions, written map[string]string) error {
	for _, add := range copied.Add {
		if err := a.add(ctx, r.beside(add.From), add.To); err != nil {
			return fmt.Errorf("workspace.add: %s: %w", add.From, err)
		}
	}
	maps.Copy(a.files, workspace.Seeds(written))
	for p := range written {
		delete(a.from, p)
	}
	return nil
}

// add lays a file or a directory over a path of the workspace, empty: see [playbook.Addition].
func (a *arm) add(ctx context.Context, from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if info.IsDir() {
		t, err := workspace.Load(ctx, workspace.Source{Dir: from})
		if err != nil {
			return err
		}
		files, err := t.Seeds(ctx)
		a.lay(files, from, cmp.Or(to, "."))
		return err
	}
	data, err := disk.ReadRegular(from, workspace.MaxSeeds)
	a.sources = append(a.sources, from)
	a.from[cmp.Or(to, info.Name())] = from
	a.files[cmp.Or(to, info.Name())] = workspace.Seed{Data: data, Exec: info.Mode()&0o100 != 0}
	return err
}

// lay lays the files of a directory over another one of the workspace.
func (a *arm) lay(files map[string]workspace.Seed, from, to string) {
	for p, f := range files {
		to, from := path.Join(to, p), filepath.Join(from, filepath.FromSlash(p))
		a.files[to], a.from[to] = f, from
		a.sources = append(a.sources, from)
	}
}

// install puts a skill or a plugin, which has the file by which agents know it, below a directory of the workspace: see
// [skill.Install].
func (r layer) install(ctx context.Context, a *arm, dir, file, below string) error {
	src := workspace.Source{Dir: dir, Hide: otherPlaybook}
	exclude(&src, slices.Concat(r.ours, []string{r.beside(filepath.Base(r.pb.File))}, r.pb.Files))
	t, err := skill.Install(ctx, src, file)
	if err != nil {
		return err
	}
	to := path.Join(below, filepath.Base(dir))
	a.installed = append(a.installed, to)
	a.lay(t.Files, dir, to)
	return nil
}

// size is how many bytes its files have.
func (a *arm) size() (n int) {
	for _, f := range a.files {
		n += len(f.Data)
	}
	return n
}

// digest is that of all that the arm lays over workspaces.
func (a *arm) digest() string {
	whole := sha256.New()
	workspace.HashSeeds(whole, a.files)
	fmt.Fprintf(whole, "%s\x00%s", a.to, a.instructions)
	return fmt.Sprintf("%x", whole.Sum(nil))[:24]
}

// arms returns what variants lay over workspaces, by their ids.
func (r *Runner) arms(ctx context.Context) (map[string]*arm, error) {
	all := make(map[string]*arm)
	for _, v := range r.pb.Variants {
		if !v.LaysFiles() {
			continue
		}
		a, err := r.armOf(ctx, v)
		if err != nil {
			return nil, err
		}
		all[v.ID] = a
	}
	return all, nil
}

// skillsOf returns the skills that an arm lays where its agent looks for them, and its plugins, as manifests have them;
// nil for no arm.
func (r *Runner) skillsOf(a *arm) (skills []rundir.Skill) {
	if a == nil || a.place == "" {
		return nil
	}
	for _, file := range slices.Sorted(maps.Keys(a.files)) {
		dir, ofPlugin := strings.CutSuffix(file, "/"+plan.PluginFile)
		if !ofPlugin || !slices.Contains(a.installed, dir) {
			dir, ofPlugin = path.Dir(file), false
		}
		if !ofPlugin && (path.Base(file) != plan.SkillFile || path.Dir(dir) != a.place) {
			continue
		}
		t := skill.Tree{Files: make(map[string]workspace.Seed)}
		for p, f := range a.files {
			if below, ok := strings.CutPrefix(p, dir+"/"); ok {
				t.Files[below] = f
			}
		}
		name, from := "", ""
		if !ofPlugin {
			name, _ = plan.NameAtHead(plan.SkillFile, a.files[file].Data)
		}
		if source := a.from[file]; source != "" {
			from = r.fromRoot(strings.TrimSuffix(source, filepath.FromSlash(strings.TrimPrefix(file, dir))))
		}
		skills = append(skills, rundir.Skill{Name: cmp.Or(name, path.Base(dir)), Path: from, Digest: t.Digest()})
	}
	return skills
}

// seeds returns the files that a unit's workspace has beside those of the template: the case's, and over them what the
// variant adds.
func (r *Runner) seeds(ctx context.Context, u plan.Unit, t *workspace.Template) (map[string]workspace.Seed, error) {
	given, err := r.givenOf(ctx, u.Case)
	if err != nil {
		return nil, err
	}
	if !u.Variant.LaysFiles() {
		return given.files, nil
	}
	seeds := maps.Clone(given.files)
	a, err := r.armOf(ctx, u.Variant)
	if err != nil {
		return nil, err
	}
	for _, place := range a.installed {
		if t.Holds(place) {
			return nil, fmt.Errorf("%s: variant %s: the workspace has %s without the variant, too: leave it out with "+
				"workspace.exclude", u.Variant.Position, u.Variant.ID, place)
		}
	}
	maps.Copy(seeds, a.files)
	if a.instructions == nil {
		return seeds, nil
	}
	before, ok := seeds[a.to]
	if !ok {
		if before.Data, _, err = t.File(a.to); err != nil {
			return nil, err
		}
	}
	text := bytes.TrimRight(before.Data, "\n")
	if len(text) > 0 {
		text = append(slices.Clip(text), "\n\n"...)
	}
	seeds[a.to] = workspace.Seed{Data: append(text, a.instructions...), Exec: before.Exec}
	return seeds, nil
}
