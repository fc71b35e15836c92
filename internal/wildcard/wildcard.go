// Package wildcard matches texts that are neither paths nor regular expressions, such as names of tools and commands.
package wildcard

import "strings"

// Match reports whether the whole text matches the pattern, in which * stands for any number of characters and
// everything else for itself.
func Match(pattern, text string) bool {
	first, rest, found := strings.Cut(pattern, "*")
	if !found {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, first)
	if !ok {
		return false
	}
	parts := strings.Split(rest, "*")
	last := len(parts) - 1
	for _, part := range parts[:last] {
		if _, text, ok = strings.Cut(text, part); !ok {
			return false
		}
	}
	return strings.HasSuffix(text, parts[last])
}
