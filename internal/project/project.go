// Package project knows the module that the user works in: its root, the directory in it that is ours, and the file by
// which a test stays out of go test's cache. What a run of tests is called belongs in package testrun.
package project

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/disk"
)

// ModuleRoot returns the nearest directory that has a go.mod, dir or one above it. Tests run in the directory of their
// package.
func ModuleRoot(dir string) (string, error) {
	for d := dir; ; d = filepath.Dir(d) {
		_, err := os.Stat(filepath.Join(d, "go.mod"))
		if err == nil {
			return d, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if filepath.Dir(d) == d {
			return "", fmt.Errorf("no go.mod in %s or above it", dir)
		}
	}
}

// ownDir is the directory below a module's root for what is not the user's.
const ownDir = ".evaltest"

// OwnDir makes the directory for what is ours and not the user's, which is below the root of the module that dir is in,
// and returns its path. Git ignores it.
func OwnDir(dir string) (string, error) {
	root, err := ModuleRoot(dir)
	if err != nil {
		return "", err
	}
	own := filepath.Join(root, ownDir)
	return own, MakeIgnored(disk.Tree(root), own)
}

// KeepOutOfCache makes sure that go test never serves the running test from its cache. The go command caches no test
// that opened a file below the module root which is younger than two seconds when the test ends, so one file of a far
// future will do for every test, however long it takes. A process in which the go command does not take notice of such
// files, such as a compiled test that somebody runs, needs none, and gets none.
func KeepOutOfCache(moduleRoot string) error {
	if f := flag.Lookup("test.testlogfile"); f == nil || f.Value.String() == "" {
		return nil
	}
	if err := openFuture(moduleRoot); err != nil {
		return fmt.Errorf("keep this run out of go test's cache: %w", err)
	}
	return nil
}

// openFuture opens the file, which the go command learns of so.
func openFuture(moduleRoot string) error {
	tree, dir := disk.Tree(moduleRoot), filepath.Join(moduleRoot, ownDir)
	if err := MakeIgnored(tree, dir); err != nil {
		return err
	}
	name := filepath.Join(dir, "never-cached")
	if err := createOnce(tree, name,
		"go test caches no test that opens this file: its time is in the future.\n"); err != nil {
		return err
	}
	future := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := tree.Chtimes(name, future); err != nil {
		return err
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	return f.Close()
}

// MakeIgnored makes a directory of a tree that git ignores, with all that is in it, unless it is there.
func MakeIgnored(tree disk.Tree, dir string) error {
	if err := tree.MkdirAll(dir); err != nil {
		return err
	}
	return createOnce(tree, filepath.Join(dir, ".gitignore"), "*\n")
}

func createOnce(tree disk.Tree, path, text string) error {
	f, err := tree.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := f.WriteString(text); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
