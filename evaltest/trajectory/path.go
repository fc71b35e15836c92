package trajectory

import (
	"errors"
	"fmt"
	"path"
	"strings"
)

// workspace stands for the directory of the session in runs of the harness and in expectations.
const workspace = "$WORKSPACE"

// rooted reports whether p begins at the workspace, as whole components go.
func rooted(p string) bool {
	return p == workspace || strings.HasPrefix(p, workspace+"/")
}

// resolve returns p as a clean slash path from the root or from the workspace; a relative p is below cwd.
func resolve(p, cwd string) string {
	if cwd == "" {
		cwd = workspace
	}
	switch {
	case rooted(p):
		// In a run by hand the session's own directory is the workspace.
		if !rooted(cwd) {
			p = cwd + strings.TrimPrefix(p, workspace)
		}
	case !strings.HasPrefix(p, "/"):
		p = cwd + "/" + p
	}
	return path.Clean(p)
}

// glob is a path pattern by components: "**" stands for any number of them, the rest is as in [path.Match].
type glob struct {
	base  string // where it begins: the root, the workspace, or "." for the session's directory
	parts []string
}

func parseGlob(pattern string) (glob, error) {
	if strings.ContainsAny(pattern, "{}") {
		return glob{}, errors.New("braces are not part of the pattern language: use one_of or regex")
	}
	g, rest := glob{base: "."}, pattern
	switch {
	case rooted(pattern):
		g.base, rest = workspace, strings.TrimPrefix(pattern, workspace)
	case strings.HasPrefix(pattern, "/"):
		g.base = "/"
	}
	for part := range strings.SplitSeq(rest, "/") {
		if part == "" || part == "." {
			continue
		}
		if part == ".." {
			return glob{}, errors.New("a pattern cannot have .. in it")
		}
		if _, err := path.Match(part, ""); err != nil {
			return glob{}, fmt.Errorf("pattern %s: %w", pattern, err)
		}
		g.parts = append(g.parts, part)
	}
	if len(g.parts) == 0 {
		return glob{}, fmt.Errorf("pattern %s names no file", pattern)
	}
	return g, nil
}

// match reports whether the path p fits.
func (g glob) match(p, cwd string) bool {
	base := strings.TrimSuffix(resolve(g.base, cwd), "/")
	below, ok := strings.CutPrefix(resolve(p, cwd), base+"/")
	return ok && matchParts(g.parts, strings.Split(below, "/"))
}

// matchParts goes back to the last "**" only: whatever an earlier one could take, the last can take as well.
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

// essence returns what a glob pattern says of the files it stands for, apart from how deep they lie.
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
		parts = append(parts, "*") // all that is below
	}
	return parts
}
