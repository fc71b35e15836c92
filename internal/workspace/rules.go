package workspace

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// secretNames are globs for files that look like secrets, matched against the base name in lower case.
var secretNames = []string{
	".env", ".env.*", ".npmrc", ".pypirc", ".netrc", "_netrc",
	"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "*.key", "*.p12", "*.pfx", "*.ppk", "*.jks", "*.keystore",
}

// rules decide which paths of a source are copied.
type rules struct {
	include, exclude []string
	// excludes and includes are the patterns that matched something.
	excludes, includes map[string]bool
}

func newRules(include, exclude []string) (rules, error) {
	in, err := cleanPatterns(include)
	if err != nil {
		return rules{}, fmt.Errorf("include %w", err)
	}
	ex, err := cleanPatterns(exclude)
	if err != nil {
		return rules{}, fmt.Errorf("exclude %w", err)
	}
	return rules{include: in, exclude: ex, excludes: make(map[string]bool), includes: make(map[string]bool)}, nil
}

// cleanPatterns returns globs in one form, or an error if one cannot be of paths in a workspace.
func cleanPatterns(patterns []string) ([]string, error) {
	var cleaned []string
	for _, p := range patterns {
		p = cleanPattern(p)
		if p == "" || strings.HasPrefix(p, "/") || slices.Contains(strings.Split(p, "/"), "..") {
			return nil, fmt.Errorf("%q: the path is not below the workspace", p)
		}
		if !doublestar.ValidatePattern(p) {
			return nil, fmt.Errorf("%q: %w", p, doublestar.ErrBadPattern)
		}
		cleaned = append(cleaned, p)
	}
	return cleaned, nil
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

// copied marks the include patterns that match p, a path that is copied.
func (r rules) copied(p string) {
	for _, pattern := range r.include {
		if !r.includes[pattern] && covered(pattern, p) {
			r.includes[pattern] = true
		}
	}
}

// opens reports whether an include pattern may match the directory p or a path below it. With byName, a segment of the
// pattern must name the directory: "**" and "*" alone do not, or "**/x.txt" would search all of node_modules.
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

// covers reports whether an include pattern matches p or a directory above it.
func (r rules) covers(p string) bool {
	return slices.ContainsFunc(r.include, func(pattern string) bool { return covered(pattern, p) })
}

// asks reports whether an include pattern that does not consist of wildcards alone matches p, a directory above it, or,
// by the name of p, what is below.
func (r rules) asks(p string) bool {
	return r.opens(p, true) || slices.ContainsFunc(r.include, func(pattern string) bool {
		return strings.Trim(pattern, "*/") != "" && covered(pattern, p)
	})
}

func covered(pattern, p string) bool {
	return doublestar.MatchUnvalidated(pattern, p) || doublestar.MatchUnvalidated(pattern+"/**", p)
}

// names reports whether an include pattern names the file p by more than a wildcard, as copying a secret requires.
func (r rules) names(p string) bool {
	return slices.ContainsFunc(r.include, func(pattern string) bool {
		return !isWild(path.Base(pattern)) && doublestar.MatchUnvalidated(pattern, p)
	})
}

// IncludesSecrets reports whether a pattern of [Source.Include] may copy files that look like secrets, or what is in a
// git repository's own directory.
func IncludesSecrets(pattern string) bool {
	if strings.Contains(pattern, "{") { // which may hold anything
		return true
	}
	base := path.Base(pattern)
	if !isWild(base) && (strings.ContainsAny(base, `*?[\`) || IsSecret(base)) {
		return true
	}
	return slices.ContainsFunc(strings.Split(pattern, "/"), func(segment string) bool {
		return !isWild(segment) && doublestar.MatchUnvalidated(segment, ".git")
	})
}

func isWild(segment string) bool { return strings.Trim(segment, "*") == "" }

// IsSecret reports whether a file, by its name, a path with slashes, is likely to contain a secret. Such files are not
// copied unless an include pattern names them.
func IsSecret(p string) bool {
	base := strings.ToLower(path.Base(p))
	return slices.ContainsFunc(secretNames, func(glob string) bool { return doublestar.MatchUnvalidated(glob, base) })
}

// secretContent reports whether a file begins like a private key.
func secretContent(head []byte) bool {
	head = bytes.TrimLeft(head[:min(len(head), 256)], " \t\r\n")
	first, _, _ := bytes.Cut(head, []byte("\n"))
	return bytes.HasPrefix(first, []byte("-----BEGIN ")) && bytes.Contains(first, []byte("PRIVATE KEY")) ||
		bytes.HasPrefix(first, []byte("PuTTY-User-Key-File-"))
}
