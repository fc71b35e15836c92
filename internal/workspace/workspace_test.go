package workspace

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// writeTree makes a directory of files: "-> x" stands for a symbolic link, a path that ends in "/" for a directory and
// one that ends in "*" for an executable file.
func writeTree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for p, text := range files {
		full := filepath.Join(dir, filepath.FromSlash(strings.TrimSuffix(p, "*")))
		require.NoError(t, os.MkdirAll(filepath.Dir(full), 0o755))
		target, isLink := strings.CutPrefix(text, "-> ")
		switch {
		case strings.HasSuffix(p, "/"):
			require.NoError(t, os.MkdirAll(full, 0o755))
		case isLink:
			require.NoError(t, os.Symlink(target, full))
		case strings.HasSuffix(p, "*"):
			require.NoError(t, os.WriteFile(full, []byte(text), 0o755))
		default:
			require.NoError(t, os.WriteFile(full, []byte(text), 0o644))
		}
	}
	return dir
}

// readTree is the opposite of writeTree.
func readTree(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(dir, p)
		if err != nil || relErr != nil || rel == "." {
			return err
		}
		rel = filepath.ToSlash(rel)
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			files[rel+"/"] = ""
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(p)
			files[rel] = "-> " + target
			return err
		case !d.Type().IsRegular():
			files[rel] = d.Type().String()
		default:
			data, err := os.ReadFile(p)
			if info.Mode()&0o100 != 0 {
				rel += "*"
			}
			files[rel] = string(data)
			return err
		}
		return nil
	})
	require.NoError(t, err)
	return files
}

// lines returns a manifest or delta for comparison: the directories implied by what is in them are left out.
func (m Manifest) lines() []string {
	parents := make(map[string]bool)
	for _, e := range m.Entries {
		parents[path.Dir(e.Path)] = true
	}
	var lines []string
	for _, e := range m.Entries {
		line := fmt.Sprintf("%s %s", e.Kind, e.Path)
		switch {
		case e.Kind == Dir && !e.Ignored && parents[e.Path]:
			continue
		case e.Kind == Symlink:
			line += " -> " + e.Target
		case e.Kind == File:
			line += fmt.Sprintf(" %d %.6s", e.Size, e.Digest)
		}
		if e.Exec {
			line += " x"
		}
		if e.Ignored {
			line += " ignored"
		}
		lines = append(lines, line)
	}
	return lines
}

func (d Delta) lines() []string {
	var lines []string
	for _, c := range d.Changes {
		line := fmt.Sprintf("%s %s %s", c.Op, c.Kind, c.Path)
		switch {
		case c.ModeOnly:
			line += fmt.Sprintf(" exec=%v", c.Exec)
		case c.Kind == Symlink && c.Op != Deleted:
			line += " -> " + c.Target
		case c.Kind == File && c.Op != Deleted && !c.Ignored:
			line += fmt.Sprintf(" %q", c.Data)
		}
		if c.Exec && !c.ModeOnly {
			line += " x"
		}
		if c.Ignored {
			line += " ignored"
		}
		lines = append(lines, line)
	}
	return lines
}
