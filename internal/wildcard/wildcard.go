// Package wildcard matches texts that are neither paths nor regular expressions, such as names of tools and commands,
// and finds the alternatives in patterns of paths.
package wildcard

import (
	"errors"
	"strings"
)

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

// Braces returns where the groups of a path pattern such as {a,b}.go are that are in no other: of each its braces and
// the commas between its alternatives. The error says which brace has no other.
func Braces(pattern string) (groups [][]int, err error) {
	depth, class := 0, false
	var cuts []int
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\':
			i++
		case class:
			class = c != ']'
		case c == '[':
			class = true
		case c == '{':
			if depth++; depth == 1 {
				cuts = []int{i}
			}
		case c == ',' && depth == 1:
			cuts = append(cuts, i)
		case c == '}' && depth == 0:
			err = errors.New("a brace is closed that was not opened; write [}] for the character")
		case c == '}':
			if depth--; depth == 0 {
				groups = append(groups, append(cuts, i))
			}
		}
	}
	if depth > 0 && err == nil {
		err = errors.New("a brace is not closed; write [{] for the character")
	}
	return groups, err
}
