package cli

import "github.com/sdd-eval/sdd-eval/internal/words"

// commandLine returns a command line of this tool, for people to copy into a shell. An empty word, which no flag takes, is
// left out together with the flag before it.
func commandLine(line ...string) string {
	given := []string{"sdd-eval"}
	for _, word := range line {
		if word == "" {
			given = given[:len(given)-1]
			continue
		}
		given = append(given, word)
	}
	return words.Join(given...)
}
