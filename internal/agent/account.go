package agent

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/fault"
)

// MaxAccountFile is the largest size of a file of an account, in bytes.
const MaxAccountFile = 1 << 20

// accountFile is a file of the user's that the agent finds in its home, such as the tokens of a plan.
type accountFile struct {
	File
	at string // its place in the preset, file:line
}

// authMethod is a preset's choice of how to authenticate; empty: not at all.
type authMethod struct{ id, at string }

// unfitPath returns why a key is no path of a file in the agent's home, "" if it is one.
func unfitPath(key string) string {
	switch {
	case strings.ContainsAny(key, "\\\x00"):
		return "must be a path with slashes"
	case path.IsAbs(key) || strings.HasPrefix(key, "~"):
		return "must be relative to the agent's home, which is new for each run"
	case key != path.Clean(key) || !filepath.IsLocal(filepath.FromSlash(key)) || key == ".":
		return "must be the path of a file below the agent's home, without . and .."
	}
	return ""
}

// readFiles reads the files of a preset in a directory.
func (p Profile) readFiles(preset *Preset, dir string) error {
	for i, f := range preset.files {
		file := &preset.files[i]
		if home, ok := strings.CutPrefix(f.From, "~/"); ok {
			user, err := os.UserHomeDir()
			if err != nil {
				return fmt.Errorf("%s: %s: %w", f.at, f.From, err)
			}
			file.From = filepath.Join(user, filepath.FromSlash(home))
		} else if !filepath.IsAbs(f.From) {
			file.From = filepath.Join(dir, filepath.FromSlash(f.From))
		}
		var err error
		if file.Data, err = disk.ReadRegular(file.From, MaxAccountFile); err == nil && len(file.Data) == 0 {
			err = fmt.Errorf("%s: the file is empty", file.From)
		}
		if err == nil {
			continue
		}
		login := cmp.Or(p.Login, "log in with the agent, so that it writes the file")
		if !errors.Is(err, fs.ErrNotExist) {
			login = "see that it is the agent's file, or " + login
		}
		return fault.Advise(fmt.Errorf("%s: copy a file for the agent's %s: %w", f.at, f.Path, err), login)
	}
	return nil
}

// addFiles adds a preset's files to those that the kind writes itself, one of them later.
func (l *Launch) addFiles(files []accountFile, later string) error {
	own := []string{later}
	for _, f := range l.Files {
		own = append(own, f.Path)
	}
	for _, f := range files {
		for _, path := range own {
			if path != "" && overlap(f.Path, path) {
				return fmt.Errorf("%s: %q: each run writes its own %s, which the file would replace; leave it out",
					f.at, f.Path, path)
			}
		}
		l.Files = append(l.Files, f.File)
	}
	return nil
}

// overlap reports whether two paths are the same, or one is below the other, wherever cases are the same.
func overlap(a, b string) bool {
	a, b = strings.ToLower(a), strings.ToLower(b)
	return a == b || strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/")
}
