package words

import "strings"

// plain are the characters that mean nothing to a shell, wherever in a word they stand but for an = at its beginning.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=@%+,"

// Quote returns a word as a POSIX shell reads it: as it is if nothing in it has a meaning there.
func Quote(word string) string {
	if word != "" && word[0] != '=' && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Join returns the command line that a POSIX shell takes apart into these words, and so does [Split] if they hold
// neither a newline nor a NUL byte.
func Join(words ...string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = Quote(w)
	}
	return strings.Join(quoted, " ")
}
