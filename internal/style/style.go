// Package style has the workflow styles that sdd.prepare writes into a workspace: the files that tell a coding agent
// how to work. docs/styles.md is the reference for writing one.
//
// The file AGENTS.md of a style becomes a managed block in the workspace's own:
//
//	<!-- sdd-eval:begin -->
//	...
//	<!-- sdd-eval:end -->
//
// All other files are written as they are, except that the project's own (llmanspec/project.md and everything below
// llmanspec/specs and llmanspec/changes) are left alone if they exist.
package style

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// agentsFile is the file that the managed block is in, of a style and of a workspace.
const agentsFile = "AGENTS.md"

//go:embed embedded
var embedded embed.FS

// Style is a set of files that tell an agent how to work. It is not changed once loaded, so several goroutines may use
// it.
type Style struct {
	name  string
	files map[string]file // by path: relative, with slashes
}

type file struct {
	data []byte
	exec bool
}

func (f file) perm() fs.FileMode {
	if f.exec {
		return 0o755
	}
	return 0o644
}

// Names returns the names of the embedded styles, sorted.
func Names() []string { return []string{"sdd", "sdd-legacy"} }

// Load returns the style of that name: the embedded one, or, if dir is not empty, what is in that directory of the
// user. Such a directory has at most 1,000 files and directories and 8 MiB; a symbolic link in it stands for the
// regular file that it leads to and may not leave it; what is called .git is passed over. Errors name the path.
func Load(name, dir string) (*Style, error) {
	s, err := load(name, dir)
	if err != nil {
		return nil, fmt.Errorf("load style %q: %w", name, err)
	}
	return s, nil
}

func load(name, dir string) (*Style, error) {
	if dir != "" {
		files, err := readDir(dir)
		return &Style{name: name, files: files}, err
	}
	if !slices.Contains(Names(), name) {
		return nil, fmt.Errorf("there is no such style: %s are built in, others need a directory under styles",
			strings.Join(Names(), " and "))
	}
	files, err := readEmbedded("embedded/" + name)
	return &Style{name: name, files: files}, err
}

// Name returns the name that the style was loaded by.
func (s *Style) Name() string { return s.name }

// Files returns the contents of the style's files by path, relative and with slashes. AGENTS.md is there without the
// markers of the block. The caller may change the result.
func (s *Style) Files() map[string][]byte {
	files := make(map[string][]byte, len(s.files))
	for p, f := range s.files {
		files[p] = bytes.Clone(f.data)
	}
	return files
}
