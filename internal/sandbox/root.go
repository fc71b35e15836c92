package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// The reasons for which a path is no path into the workspace.
const (
	reasonRelative = "not an absolute path"
	reasonNUL      = "a NUL byte in the path"
	reasonLong     = "the path is too long"
	reasonOutside  = "outside the workspace"
)

// maxPath bounds the paths of agents, in bytes: what Linux takes.
const maxPath = 4096

// root is the workspace.
type root struct {
	*os.Root
	place place
	// errEscapes is what [os.Root] says to a path that leads out of it. The error has no exported name.
	errEscapes error
}

func openRoot(dir string) (*root, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	opened, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	_, err = opened.Lstat("..")
	refusal, ok := errors.AsType[*fs.PathError](err)
	if !ok {
		opened.Close()
		return nil, fmt.Errorf("%s is not confined: %w", dir, err)
	}
	return &root{Root: opened, place: newPlace(dir), errEscapes: refusal.Err}, nil
}

// local returns the part of an absolute path that is below the root, "." for the root itself, or the reason why there is
// none. The path is not cleaned, as a/../b is another file than b where a is a link: resolving it is for [os.Root].
func (r *root) local(path string) (rel, reason string) {
	switch {
	case len(path) > maxPath:
		return "", reasonLong
	case strings.ContainsRune(path, 0):
		return "", reasonNUL
	case !filepath.IsAbs(path):
		return "", reasonRelative
	}
	if rel, ok := r.place.below(path); ok {
		return rel, ""
	}
	return "", reasonOutside
}

// escapes reports whether an error is the refusal to leave the root.
func (r *root) escapes(err error) bool { return errors.Is(err, r.errEscapes) }

// place is where a directory is: the components of the path that it is called by, and of that without symbolic links.
type place [][]string

func newPlace(dir string) place {
	p := place{components(dir)}
	if resolved, err := filepath.EvalSymlinks(dir); err == nil {
		p = append(p, components(resolved))
	}
	return p
}

// has reports whether path, with or without the symbolic links on it, leads to the place or below it.
func (p place) has(path string) bool {
	_, ok := p.below(path)
	if resolved, err := filepath.EvalSymlinks(path); err == nil && !ok {
		_, ok = p.below(resolved)
	}
	return ok
}

// below returns the rest of path after the place, "." if there is none. Components count as a whole: /ws-evil is not
// below /ws.
func (p place) below(path string) (rel string, ok bool) {
	for _, form := range p {
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
