package workspace

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

const (
	ignoreFile    = ".gitignore"
	maxIgnoreFile = 1 << 20 // bytes
)

// ignore has the rules of one .gitignore file and of those in the directories above it. A nil ignore has no rules.
type ignore struct {
	above *ignore
	dir   string // the directory of the file
	rules []ignoreRule
}

// ignoreRule is one line of a .gitignore file.
type ignoreRule struct {
	segments []string // a glob in doublestar's syntax for each part of a path, or "**"
	negated  bool     // paths that match are not ignored
	dirOnly  bool
}

// readIgnore reads the .gitignore of dir.
func (t *tree) readIgnore(dir string, above *ignore) (*ignore, error) {
	p := join(dir, ignoreFile)
	f, err := t.open(p)
	if err != nil {
		return nil, vanished(p, err)
	}
	defer func() { _ = f.Close() }()
	if f.info.Size() > maxIgnoreFile {
		return nil, fmt.Errorf("%s exceeds the limit of %s", p, size(maxIgnoreFile))
	}
	var text strings.Builder
	if _, err := t.entry(f, &text); err != nil {
		return nil, err
	}
	return &ignore{above: above, dir: dir, rules: parseIgnore(text.String())}, nil
}

// matches reports whether git ignores p, given that it does not ignore the directory of p.
func (ign *ignore) matches(p string, isDir bool) bool {
	for ; ign != nil; ign = ign.above {
		rel := p
		if ign.dir != "." {
			rel = p[len(ign.dir)+1:]
		}
		name := strings.Split(rel, "/")
		for _, r := range slices.Backward(ign.rules) {
			if (isDir || !r.dirOnly) && matchSegments(r.segments, name) {
				return !r.negated
			}
		}
	}
	return false
}

// matchSegments matches a path with a glob, part by part; "**" stands for any number of parts.
func matchSegments(glob, name []string) bool {
	var retryGlob, retryName []string // where to continue when the last "**" matches one more part
	for len(glob) > 0 || len(name) > 0 {
		switch {
		case len(glob) > 0 && glob[0] == "**":
			retryGlob, retryName = glob, name
			glob = glob[1:]
		case len(glob) > 0 && len(name) > 0 && doublestar.MatchUnvalidated(glob[0], name[0]):
			glob, name = glob[1:], name[1:]
		case len(retryName) > 0:
			retryName = retryName[1:]
			glob, name = retryGlob[1:], retryName
		default:
			return false
		}
	}
	return true
}

func parseIgnore(text string) []ignoreRule {
	var rules []ignoreRule
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		if r, ok := parseIgnoreLine(strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")); ok {
			rules = append(rules, r)
		}
	}
	return rules
}

// parseIgnoreLine parses one line as gitignore(5) says. A line with a malformed glob matches nothing, as in git.
func parseIgnoreLine(line string) (r ignoreRule, ok bool) {
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	if strings.HasPrefix(line, "#") {
		return r, false
	}
	line, r.negated = strings.CutPrefix(line, "!")
	line, r.dirOnly = strings.CutSuffix(line, "/")
	if !strings.Contains(line, "/") {
		r.segments = []string{"**"} // at any depth
	}
	line = strings.TrimPrefix(line, "/")
	if line == "" {
		return r, false
	}
	for segment := range strings.SplitSeq(line, "/") {
		if len(segment) > 1 && isWild(segment) {
			r.segments = append(r.segments, "**")
			continue
		}
		glob, ok := translateGlob(segment)
		if !ok {
			return r, false
		}
		r.segments = append(r.segments, glob)
	}
	if r.segments[len(r.segments)-1] == "**" {
		r.segments = append(r.segments, "*") // the content of the directory, not the directory itself
	}
	return r, true
}

// translateGlob translates a glob of git for one part of a path to doublestar's syntax, which has alternatives in
// braces and lacks both "]" as the first character of a class and named classes.
func translateGlob(glob string) (string, bool) {
	var b strings.Builder
	star := false // the last character written was "*"
	for i := 0; i < len(glob); i++ {
		c := glob[i]
		if c == '*' && star {
			continue
		}
		star = c == '*'
		switch c {
		case '{', '}':
			b.WriteByte('\\')
			b.WriteByte(c)
		case '\\':
			if i++; i == len(glob) {
				return "", false
			}
			b.WriteByte('\\')
			b.WriteByte(glob[i])
		case '[':
			class, n := translateClass(glob[i:])
			if n == 0 {
				return "", false
			}
			b.WriteString(class)
			i += n - 1
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), true
}

// namedClasses are the ASCII characters of POSIX classes, in doublestar's syntax.
var namedClasses = map[string]string{
	"alnum": `a-zA-Z0-9`, "alpha": `a-zA-Z`, "blank": ` \	`, "cntrl": "\x01-\x1f\x7f", "digit": `0-9`,
	"graph": `\!-~`,
	"lower": `a-z`, "print": ` -~`, "punct": "\\!-/:-@\\[-`{-~", "space": " \t-\r", "upper": `A-Z`,
	"xdigit": `0-9a-fA-F`,
}

// translateClass translates the class at the beginning of glob, such as "[a-z]". It returns the length of the class, 0
// if it has no end.
func translateClass(glob string) (class string, n int) {
	var b strings.Builder
	b.WriteByte('[')
	i := 1
	if i < len(glob) && (glob[i] == '!' || glob[i] == '^') {
		b.WriteByte('^')
		i++
	}
	for first := i; i < len(glob); i++ {
		switch c := glob[i]; {
		case c == ']' && i > first:
			return b.String() + "]", i + 1
		case strings.HasPrefix(glob[i:], "[:"):
			name, _, ok := strings.Cut(glob[i+2:], ":]")
			if !ok || namedClasses[name] == "" {
				return "", 0
			}
			b.WriteString(namedClasses[name])
			i += len(name) + 3
		case c == '-' && i > first && i+1 < len(glob) && glob[i+1] != ']':
			b.WriteByte('-') // a range
		default:
			if c == '\\' && i+1 < len(glob) {
				i++
			}
			if glob[i] < 0x80 {
				b.WriteByte('\\')
			}
			b.WriteByte(glob[i])
		}
	}
	return "", 0
}
