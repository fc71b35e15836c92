package workspace

import (
	"context"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/disk"
)

// armed says which entries of a directory make a program run what they name, if the directory has all entries of has.
type armed struct{ has, runs []string }

// repositories are told by what is in them, since one of git may have any name: a file .git or a link leads there, and
// one without a work tree is found where a person stands.
var repositories = []armed{
	{[]string{"objects", "refs"}, []string{"config", "config.worktree", "hooks"}},   // git
	{[]string{"HEAD", "commondir"}, []string{"config", "config.worktree", "hooks"}}, // git's further work trees
	{[]string{"store", "requires"}, []string{"hgrc", "hgrc-not-shared"}},            // Mercurial
}

// Disarm removes from a directory that an agent leaves what version control would run for a person who only looks: the
// configurations and hooks of repositories in it. Commits stay. Directories become accessible for their owner.
func Disarm(ctx context.Context, dir string) error {
	if err := os.Chmod(dir, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return disarm(ctx, root)
}

func disarm(ctx context.Context, dir *os.Root) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	entries, err := disk.List(dir, ".", -1)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		if err := disarmBelow(ctx, dir, e); err != nil {
			return err
		}
	}
	has := func(name string) bool { return named(entries, name) != "" }
	for _, r := range repositories {
		if slices.ContainsFunc(r.has, func(name string) bool { return !has(name) }) {
			continue
		}
		for _, name := range r.runs {
			if found := named(entries, name); found != "" {
				if err := dir.RemoveAll(found); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// named returns the entry of that name, as file systems that fold case would find it; empty: there is none.
func named(entries []fs.DirEntry, name string) string {
	i := slices.IndexFunc(entries, func(e fs.DirEntry) bool { return strings.EqualFold(e.Name(), name) })
	if i < 0 {
		return ""
	}
	return entries[i].Name()
}

func disarmBelow(ctx context.Context, parent *os.Root, e fs.DirEntry) error {
	info, err := e.Info()
	if err != nil {
		return err
	}
	if mode := info.Mode().Perm(); mode&0o700 != 0o700 {
		if err := parent.Chmod(e.Name(), mode|0o700); err != nil {
			return err
		}
	}
	dir, err := parent.OpenRoot(e.Name())
	if err != nil {
		return err
	}
	defer dir.Close()
	return disarm(ctx, dir)
}
