package skill

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// neverInstalled are what a skill's directory has at its top for those who work on the skill: what is expected of
// agents, and how they did.
var neverInstalled = []string{
	"evals", ".llman", ".evaltest", "cassettes", "baselines", "benchmarks", "*-workspace",
}

// Tree is what agents get of a skill.
type Tree struct {
	Files map[string]workspace.Seed // by their paths in the skill's directory
	// LeftOut has a reason of its own to stay away: git ignores it, or it looks like a secret.
	LeftOut []workspace.Note
}

// Install returns what agents get of the skill in the directory of src: what git has of it or would add or, outside of
// a repository, all; without what shows how agents are judged, or how others did. Src may leave out more. File is the
// one by which agents know it: [plan.SkillFile], or [plan.PluginFile] of a plugin.
func Install(ctx context.Context, src workspace.Source, file string) (Tree, error) {
	if !isCopy(src.Dir) {
		src.Git = workspace.Unignored
	}
	for _, name := range neverInstalled {
		src.Exclude = append(src.Exclude, name, name+"/**")
	}
	t, err := workspace.Load(ctx, src)
	if err != nil {
		return Tree{}, err
	}
	files, err := t.Seeds(ctx)
	if err != nil {
		return Tree{}, err
	}
	if _, ok := files[file]; !ok {
		what := "skill"
		if file == plan.PluginFile {
			what = "plugin"
		}
		return Tree{}, fmt.Errorf("a %s is a directory with a %s, and there is none that git does not ignore: add "+
			"it, or change .gitignore", what, file)
	}
	if file == plan.PluginFile {
		withoutEvals(files)
	}
	withoutWaza(files)
	return Tree{files, t.LeftOut()}, nil
}

// withoutEvals removes from a plugin's files those of the evals that its manifest names, and what is not installed of
// its skills.
func withoutEvals(files map[string]workspace.Seed) {
	evals := evalsOf(files[plan.PluginFile].Data)
	var skills []string
	for p := range files {
		if path.Base(p) == plan.SkillFile {
			skills = append(skills, path.Dir(p))
		}
	}
	maps.DeleteFunc(files, func(p string, _ workspace.Seed) bool {
		return evals != "" && strings.HasPrefix(p, evals+"/") || slices.ContainsFunc(skills, func(dir string) bool {
			rel, ok := below(dir, p)
			return ok && isLeftOut(rel)
		})
	})
}

// withoutWaza removes a suite of waza that is beside the skill's file: its tasks say what is expected.
func withoutWaza(files map[string]workspace.Seed) {
	root := doc.Parse("eval.yaml", files["eval.yaml"].Data).Root
	tasks := root.Get("tasks").Items()
	if len(tasks) == 0 || root.Get("config") == nil {
		return
	}
	maps.DeleteFunc(files, func(p string, _ workspace.Seed) bool {
		return p == "eval.yaml" || p == "trigger_tests.yaml" || strings.HasPrefix(p, "graders/") ||
			slices.ContainsFunc(tasks, func(n *doc.Node) bool {
				ok, err := path.Match(path.Clean(n.Text()), p)
				return ok && err == nil
			})
	})
}

// evalsOf returns the directory in which a plugin has its evals, by its manifest; empty: it does not say.
func evalsOf(manifest []byte) string {
	n := doc.ParseJSON(plan.PluginFile, manifest).Root.Get("experimental").Get("evals")
	if dir := path.Clean(n.Text()); n != nil && dir != "." {
		return dir
	}
	return ""
}

// Sum is the same for trees that have the same files with the same contents and rights to execute them, and nobody can
// make two trees that differ and have the same.
func (t Tree) Sum() string {
	whole := sha256.New()
	workspace.HashSeeds(whole, t.Files)
	return fmt.Sprintf("%x", whole.Sum(nil))
}

// Digest is the beginning of the sum, for people.
func (t Tree) Digest() string { return t.Sum()[:24] }
