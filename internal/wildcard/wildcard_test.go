package wildcard_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/wildcard"
)

func TestMatch(t *testing.T) {
	tests := []struct {
		name, pattern, text string
		want                bool
	}{
		{"same", "mcp__stock__count", "mcp__stock__count", true},
		{"longer", "mcp__stock", "mcp__stock__count", false},
		{"nothing", "", "", true},
		{"no pattern", "", "a", false},
		{"anything", "*", "a/b\n", true},
		{"anything is nothing, too", "a*", "a", true},
		{"beginning", "mcp__stock__*", "mcp__stock__count", true},
		{"another beginning", "mcp__stock__*", "mcp__stack__count", false},
		{"end", "*.go", "a/b.go", true},
		{"end that is not one", "*.go", "a.go.bak", false},
		{"between", "go test * -race", "go test ./... -race", true},
		{"parts may not overlap", "ab*ba", "aba", false},
		{"parts in another order", "*a*b*", "b a", false},
		{"part that comes again", "*a*ab", "aab", true},
		{"end that was taken", "*ab*b", "ab", false},
		{"stars side by side", "a**b", "ab", true},
		{"nothing else has a meaning", "a?[b].c", "a?[b].c", true},
		{"a question mark is one", "a?", "ab", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { require.Equal(t, tt.want, wildcard.Match(tt.pattern, tt.text)) })
	}
}

// FuzzMatch compares with a regular expression.
func FuzzMatch(f *testing.F) {
	f.Add("a*b*", "axbx")
	f.Add("*", "")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		pattern, text = strings.ToValidUTF8(pattern, ""), strings.ToValidUTF8(text, "")
		re := regexp.MustCompile(`(?s)\A` + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, `.*`) + `\z`)
		require.Equal(t, re.MatchString(text), wildcard.Match(pattern, text))
	})
}
