package workspace

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// skippedDirs are not copied unless Source.Include names them: they are made from the rest, or belong to tools.
var skippedDirs = []string{".git", ".llman", "target", "node_modules", ".venv", "dist", "build"}

func skippedDir(p string) bool { return slices.Contains(skippedDirs, path.Base(p)) }

// secretNames are globs for files that look like secrets, matched against the base name in lower case.
var secretNames = []string{
	".env", ".env.*", ".npmrc", ".pypirc", ".netrc", "_netrc",
	"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "*.key", "*.p12", "*.pfx", "*.ppk", "*.jks", "*.keystore",
}

// rules decide what of a source is copied.
type rules struct {
	include, exclude []string
	// excludes and includes are the patterns that matched something.
	excludes, includes map[string]bool
}

func newRules(include, exclude []string) (rules, error) {
	clean := func(what string, patterns []string) ([]string, error) {
		var cleaned []string
		for _, p := range patterns {
			p = cleanPattern(p)
			if p == "" || strings.HasPrefix(p, "/") || slices.Contains(strings.Split(p, "/"), "..") {
				return nil, fmt.Errorf("%s %q: not a path below the workspace", what, p)
			}
			if !doublestar.ValidatePattern(p) {
				return nil, fmt.Errorf("%s %q: %w", what, p, doublestar.ErrBadPattern)
			}
			cleaned = append(cleaned, p)
		}
		return cleaned, nil
	}
	in, err := clean("include", include)
	if err != nil {
		return rules{}, err
	}
	ex, err := clean("exclude", exclude)
	return rules{include: in, exclude: ex, excludes: make(map[string]bool), includes: make(map[string]bool)}, err
}

func cleanPattern(p string) string { return strings.TrimSuffix(strings.TrimPrefix(p, "./"), "/") }

func (r rules) excluded(p string) bool {
	excluded := false
	for _, pattern := range r.exclude {
		if doublestar.MatchUnvalidated(pattern, p) {
			r.excludes[pattern], excluded = true, true
		}
	}
	return excluded
}

// copied is told of what is copied.
func (r rules) copied(p string) {
	for _, pattern := range r.include {
		if !r.includes[pattern] && covered(pattern, p) {
			r.includes[pattern] = true
		}
	}
}

// opens tells whether an include pattern leads to the directory p or below it. With byName, a segment of the pattern
// has to name the directory: "**" or "*" alone do not, or "**/x.txt" would search all of node_modules.
func (r rules) opens(p string, byName bool) bool {
	for _, pattern := range r.include {
		for end := 0; end < len(pattern); end++ {
			next := strings.IndexByte(pattern[end:], '/')
			if next < 0 {
				next = len(pattern) - end
			}
			segment := pattern[end : end+next]
			end += next
			if (!byName || !isWild(segment)) && doublestar.MatchUnvalidated(pattern[:end], p) {
				return true
			}
		}
	}
	return false
}

// covers tells whether an include pattern matches p or a directory above it.
func (r rules) covers(p string) bool {
	return slices.ContainsFunc(r.include, func(pattern string) bool { return covered(pattern, p) })
}

func covered(pattern, p string) bool {
	return doublestar.MatchUnvalidated(pattern, p) || doublestar.MatchUnvalidated(pattern+"/**", p)
}

// names tells whether an include pattern names the file p by more than a wildcard, as a secret has to be.
func (r rules) names(p string) bool {
	return slices.ContainsFunc(r.include, func(pattern string) bool {
		return !isWild(path.Base(pattern)) && doublestar.MatchUnvalidated(pattern, p)
	})
}

func isWild(segment string) bool { return strings.Trim(segment, "*") == "" }

// IsSecret tells whether the name of a file, a path with slashes, says that it holds a secret: such files are copied into
// no workspace unless they are named.
func IsSecret(p string) bool {
	base := strings.ToLower(path.Base(p))
	return slices.ContainsFunc(secretNames, func(glob string) bool { return doublestar.MatchUnvalidated(glob, base) })
}

// secretContent tells whether a file begins as a private key does.
func secretContent(head []byte) bool {
	head = bytes.TrimLeft(head[:min(len(head), 256)], " \t\r\n")
	first, _, _ := bytes.Cut(head, []byte("\n"))
	return bytes.HasPrefix(first, []byte("-----BEGIN ")) && bytes.Contains(first, []byte("PRIVATE KEY")) ||
		bytes.HasPrefix(first, []byte("PuTTY-User-Key-File-"))
}
