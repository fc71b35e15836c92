package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// guard returns the words before a program that keep it from the files of the system, of the user and of the tree, but
// for the directories of the go command and the one that we work in: a mutant of what makes a path safe writes where
// the path leads. There are none where there is no bubblewrap. Devices stay within reach.
func (o options) guard() []string {
	bwrap, err := exec.LookPath("bwrap")
	if runtime.GOOS != "linux" || err != nil {
		return nil
	}
	words := []string{bwrap, "--die-with-parent", "--dev-bind", "/", "/"}
	if os.Geteuid() == 0 {
		words = append(words, "--cap-add", "ALL")
	}
	home, _ := os.UserHomeDir()
	for _, dir := range []string{"/bin", "/boot", "/etc", "/lib", "/lib64", "/opt", "/sbin", "/usr", home, o.root} {
		if info, err := os.Lstat(dir); err == nil && info.IsDir() {
			words = append(words, "--ro-bind", dir, dir)
		}
	}
	writable := []string{o.work}
	for _, v := range o.goDirs {
		_, dir, _ := strings.Cut(v, "=")
		writable = append(writable, dir)
	}
	for _, dir := range writable {
		if filepath.IsAbs(dir) {
			words = append(words, "--bind-try", dir, dir)
		}
	}
	return append(words, "--")
}
