package disk

import (
	"path/filepath"
	"strings"
)

// Location is where a directory is: the components of the path that it is called by, and of that without symbolic
// links.
type Location [][]string

// Locate returns the location of a directory.
func Locate(dir string) Location {
	l := Location{components(dir)}
	if resolved, err := filepath.EvalSymlinks(dir); err == nil {
		l = append(l, components(resolved))
	}
	return l
}

// Also returns the location with another path that means the directory, to somebody who sees other paths than we do.
func (l Location) Also(path string) Location { return append(l[:len(l):len(l)], components(path)) }

// Has reports whether path, with or without the symbolic links on it, leads to the directory or below it.
func (l Location) Has(path string) bool {
	_, ok := l.Below(path)
	if resolved, err := filepath.EvalSymlinks(path); err == nil && !ok {
		_, ok = l.Below(resolved)
	}
	return ok
}

// Below returns the rest of path after the directory, "." if there is none. Components count as a whole: /ws-evil is
// not below /ws.
func (l Location) Below(path string) (rel string, ok bool) {
	for _, form := range l {
		if rel, ok = strip(filepath.ToSlash(path), form); ok {
			return rel, true
		}
	}
	return "", false
}

func strip(path string, form []string) (rel string, ok bool) {
	for _, want := range form {
		var got string
		if got, path = component(path); got != want {
			return "", false
		}
	}
	if rel = strings.TrimLeft(path, "/"); rel == "" {
		return ".", true
	}
	return rel, true
}

// component splits the first component off path. Repeated slashes and "." components mean nothing.
func component(path string) (first, rest string) {
	for {
		first, rest, _ = strings.Cut(strings.TrimLeft(path, "/"), "/")
		if first != "." {
			return first, rest
		}
		path = rest
	}
}

func components(path string) []string {
	var all []string
	for path = filepath.ToSlash(path); ; {
		var c string
		if c, path = component(path); c == "" {
			return all
		}
		all = append(all, c)
	}
}
