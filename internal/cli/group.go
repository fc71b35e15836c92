package cli

import (
	"slices"
	"strings"
)

// groups says what commands are for whose names begin with the same word.
var groups = map[string]string{
	"cassette": "look at recorded sessions and keep them in order",
	"hook":     "capture tool calls of Claude Code by its hooks",
}

// group returns the second words of the commands of a group, nil if it is not a group.
func group(name string) []string {
	var words []string
	for _, c := range commands() {
		if word, ok := strings.CutPrefix(c.name, name+" "); ok {
			words = append(words, word)
		}
	}
	return words
}

// firstWords returns the first words of the commands that are not hidden.
func firstWords() []string {
	var words []string
	for _, c := range commands() {
		word, _, _ := strings.Cut(c.name, " ")
		if !c.hidden && !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return words
}
