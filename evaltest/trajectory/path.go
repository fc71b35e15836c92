package trajectory

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/wildcard"
)

// The names of a session's directories in runs of the harness and in expectations.
const (
	workspace = "$WORKSPACE"
	home      = "$HOME"
	temporary = "$TMPDIR"
)

// split returns the root of p, by whole components, and the path below it. A relative path has no root.
func split(p string) (root, below string) {
	first, below, _ := strings.Cut(p, "/")
	switch {
	case first == workspace, first == home, first == temporary:
		return first, below
	case first == "~":
		return home, below
	case strings.HasPrefix(p, "/"):
		return "/", below
	default:
		return "", p
	}
}

// resolve returns p as a clean slash path from its root; a relative p is below cwd. A path that leaves one of the
// session's directories keeps its .. elements, because the parents of these directories are unknown.
func resolve(p, cwd string) string {
	root, below := split(p)
	base, dir := split(cmp.Or(cwd, workspace))
	// In a run made by hand, the session's directory is the workspace.
	if root == "" || root == workspace && base != workspace {
		root, below = base, dir+"/"+below
	}
	below = path.Clean("./" + below)
	switch {
	case root == "":
		return below
	case root == "/":
		return path.Clean("/" + below)
	case below == ".":
		return root
	default:
		return root + "/" + below
	}
}

// glob is a path pattern by components: "**" stands for any number of them, the rest is as in [path.Match].
type glob struct {
	base  string // where it begins: the root, one of the session's directories, or "." for the session's current one
	parts []string
}

// parseGlobs returns the globs that a pattern stands for, one for each alternative in its braces.
func parseGlobs(pattern string) ([]glob, error) {
	alternatives, err := expandBraces(pattern)
	if err != nil {
		return nil, fmt.Errorf("pattern %s: %w", pattern, err)
	}
	globs := make([]glob, len(alternatives))
	for i, a := range alternatives {
		if globs[i], err = parseGlob(a); err != nil {
			return nil, err
		}
	}
	return globs, nil
}

// parseGlob parses a pattern without braces. One without a slash is about names of files, however deep they lie.
func parseGlob(pattern string) (glob, error) {
	root, rest := split(pattern)
	g := glob{base: cmp.Or(root, ".")}
	if rest != "" && !strings.Contains(pattern, "/") {
		g.parts = []string{"**"}
	}
	names := 0
	for part := range strings.SplitSeq(rest, "/") {
		if part == "" || part == "." {
			continue
		}
		if part == ".." {
			return glob{}, errors.New("'..' is not allowed in a pattern")
		}
		if _, err := path.Match(part, ""); err != nil {
			return glob{}, fmt.Errorf("pattern %s: %w", pattern, err)
		}
		g.parts = append(g.parts, part)
		names++
	}
	if names == 0 {
		return glob{}, fmt.Errorf("pattern %s names no file", pattern)
	}
	return g, nil
}

// The limits on braces, so that a short pattern does not stand for millions.
const (
	maxBraces       = 20
	maxAlternatives = 1000
)

// expandBraces returns the patterns without braces that a pattern stands for: {a,b}.go is a.go or b.go.
func expandBraces(pattern string) ([]string, error) {
	if strings.Count(pattern, "{") > maxBraces {
		return nil, fmt.Errorf("more than %d braces", maxBraces)
	}
	groups, err := wildcard.Braces(pattern)
	if err != nil {
		return nil, err
	}
	if len(groups) > 0 {
		return expandFirst(pattern, groups[0])
	}
	return []string{pattern}, nil
}

// expandFirst puts each alternative of a pattern's first group in its place, and expands what follows.
func expandFirst(pattern string, cuts []int) (all []string, err error) {
	before, after := pattern[:cuts[0]], pattern[cuts[len(cuts)-1]+1:]
	for i, cut := range cuts[:len(cuts)-1] {
		more, err := expandBraces(before + pattern[cut+1:cuts[i+1]] + after)
		if err != nil {
			return nil, err
		}
		if all = append(all, more...); len(all) > maxAlternatives {
			return nil, fmt.Errorf("its braces stand for more than %d patterns", maxAlternatives)
		}
	}
	return all, nil
}

// match reports whether the path p matches.
func (g glob) match(p, cwd string) bool {
	base := strings.TrimSuffix(resolve(g.base, cwd), "/")
	below, ok := strings.CutPrefix(resolve(p, cwd), base+"/")
	parts := strings.Split(below, "/")
	return ok && parts[0] != ".." && matchParts(g.parts, parts)
}

// matchParts backtracks to the last "**" only: whatever an earlier one could match, the last can match as well.
func matchParts(pattern, parts []string) bool {
	p, i := 0, 0
	last, from := -1, 0
	for i < len(parts) {
		if p < len(pattern) && pattern[p] == "**" {
			last, from = p, i
			p++
			continue
		}
		if p < len(pattern) {
			if ok, _ := path.Match(pattern[p], parts[i]); ok { // parseGlob saw every error
				p++
				i++
				continue
			}
		}
		if last < 0 {
			return false
		}
		from++
		p, i = last+1, from
	}
	for p < len(pattern) && pattern[p] == "**" {
		p++
	}
	return p == len(pattern)
}

// essence returns the elements of a glob pattern that do not depend on how deep the files lie.
func essence(pattern string) []string {
	pattern = strings.TrimPrefix(pattern, workspace+"/")
	var parts []string
	last := ""
	for part := range strings.SplitSeq(pattern, "/") {
		if last = part; part != "" && part != "." && part != "**" {
			parts = append(parts, part)
		}
	}
	if last == "**" || last == "" {
		parts = append(parts, "*") // all files below
	}
	return parts
}
