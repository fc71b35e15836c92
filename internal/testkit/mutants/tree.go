package main

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
)

// copyTree copies what git tracks, and what is new and not ignored, to a directory, and returns that. Files that are
// the same there stay, so that the go command need not build them again.
func copyTree(ctx context.Context, from, to string) (string, error) {
	out, err := command(ctx, from, nil, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return "", err
	}
	keep := make(map[string]bool)
	for name := range bytes.SplitSeq(out, []byte{0}) {
		if len(name) == 0 {
			continue
		}
		path := filepath.FromSlash(string(name))
		info, err := os.Lstat(filepath.Join(from, path))
		if err != nil {
			continue // deleted, but still in the index
		}
		keep[filepath.Join(to, path)] = true
		if err := copyFile(filepath.Join(from, path), filepath.Join(to, path), info); err != nil {
			return "", err
		}
	}
	// What was removed from the tree since the last time must not be built.
	return to, filepath.WalkDir(to, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || keep[path] {
			return err
		}
		return os.Remove(path)
	})
}

// copyFile copies a regular file or a link.
func copyFile(from, to string, info fs.FileInfo) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		_ = os.Remove(to)
		return os.Symlink(target, to)
	}
	if !info.Mode().IsRegular() {
		return nil
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if old, err := os.ReadFile(to); err == nil && bytes.Equal(old, text) {
		return os.Chmod(to, info.Mode().Perm())
	}
	_ = os.Remove(to)
	return os.WriteFile(to, text, info.Mode().Perm())
}
