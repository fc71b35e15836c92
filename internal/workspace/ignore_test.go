package workspace

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The expectations are what git check-ignore 2.39 says.
func TestIgnore(t *testing.T) {
	tests := []struct {
		name     string
		text     string // of .gitignore at the root
		ignored  string // paths, space separated; a directory ends in a slash
		kept     string
		nestedIn string // directory of a second file
		nested   string
	}{
		{name: "base name at any depth", text: "*.log", ignored: "x.log a/b/x.log log.log/", kept: "x.logs a/log"},
		{name: "anchored by leading slash", text: "/bin", ignored: "bin bin/ bin/x", kept: "a/bin"},
		{
			name: "anchored by inner slash", text: "doc/frotz/", ignored: "doc/frotz/ doc/frotz/x",
			kept: "a/doc/frotz/ doc/frotz",
		},
		{name: "directories only", text: "out/", ignored: "out/ a/out/ out/x", kept: "out a/out"},
		{name: "last match wins", text: "*.log\n!keep.log", ignored: "a.log", kept: "keep.log a/keep.log"},
		{name: "negation cannot reach below an ignored directory", text: "out/\n!out/keep", ignored: "out/keep"},
		{name: "negation below an ignored content", text: "out/*\n!out/keep", ignored: "out/x", kept: "out/ out/keep"},
		{
			name: "deeper file wins", text: "*.log", nestedIn: "a", nested: "!x.log\n/y", ignored: "x.log a/y",
			kept: "a/x.log y a/b/y",
		},
		{name: "two stars in front", text: "**/foo/bar", ignored: "foo/bar a/foo/bar a/b/foo/bar", kept: "foo/x/bar"},
		{name: "two stars between", text: "a/**/b", ignored: "a/b a/x/b a/x/y/b", kept: "b x/a/b"},
		{name: "two stars at the end", text: "abc/**", ignored: "abc/x abc/x/y", kept: "abc abc/ x/abc/y"},
		{name: "two stars within a name are one", text: "a**b/c", ignored: "axb/c", kept: "a/x/b/c"},
		{name: "more stars are two", text: "***/x", ignored: "x a/b/x"},
		{name: "comments and blank lines", text: "\n# x\n  \n\\#y\n\\!z", ignored: "#y !z", kept: "x"},
		{name: "spaces at the end", text: "x  \ny\\ \n", ignored: "x y\u00a0", kept: "y"},
		{name: "carriage returns", text: "\ufeffx\r\ny\r\n", ignored: "x y"},
		{name: "braces are letters", text: "{a,b}", ignored: "{a,b}", kept: "a b"},
		{name: "classes", text: "[ab]x\n[!ab]y\n[]]z\n[a-]w", ignored: "ax cy ]z -w", kept: "cx ay az bw"},
		{name: "named classes", text: "[[:digit:]]x\n[^[:alpha:]_]y", ignored: "1x 1y", kept: "ax ay _y"},
		{name: "escaped wildcard", text: "\\*\\**", ignored: "** **x", kept: "x *x"},
		{name: "malformed lines match nothing", text: "[a\nb\\\n[[:nix:]]\n/\n", kept: "[a a b b\\ x"},
		{name: "a question mark stands for one letter", text: "?.o", ignored: "a.o", kept: ".o ab.o"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := &ignore{dir: ".", rules: parseIgnore(tt.text)}
			nested := &ignore{above: root, dir: tt.nestedIn, rules: parseIgnore(tt.nested)}
			ignored := func(p string) bool {
				p = strings.ReplaceAll(p, "\u00a0", " ") // spaces part the paths of the table
				segments := strings.SplitAfter(strings.TrimSuffix(p, "/"), "/")
				for i := range segments {
					ign := root
					if tt.nestedIn != "" && strings.HasPrefix(p, tt.nestedIn+"/") && i > 0 {
						ign = nested
					}
					part := strings.TrimSuffix(strings.Join(segments[:i+1], ""), "/")
					if ign.matches(part, i < len(segments)-1 || strings.HasSuffix(p, "/")) {
						return true
					}
				}
				return false
			}
			for p := range strings.FieldsFuncSeq(tt.ignored, func(r rune) bool { return r == ' ' }) {
				assert.True(t, ignored(p), "%q should be ignored", p)
			}
			for p := range strings.FieldsFuncSeq(tt.kept, func(r rune) bool { return r == ' ' }) {
				assert.False(t, ignored(p), "%q should not be ignored", p)
			}
		})
	}
}

func FuzzIgnore(f *testing.F) {
	f.Add("*.log\n!a/**/b/\n[]a-z[:digit:]]\\*\n", "a/b/c")
	f.Add("**/**/x/***\n{a,b}\\", "x")
	f.Fuzz(func(_ *testing.T, text, path string) {
		ign := &ignore{dir: ".", rules: parseIgnore(text)}
		ign.matches(path, true)
	})
}
