package doc

import (
	"fmt"
	"strings"
)

// DidYouMean returns `, did you mean "x"?` with the candidate x that word is most likely a slip of, "" if there is none:
// at most one character in three is wrong in a slip.
func DidYouMean(word string, candidates []string) string {
	best, least := "", -1
	for _, c := range candidates {
		d := distance(fold(word), fold(c))
		if d <= min(len(word), len(c))/3 && (least < 0 || d < least) {
			best, least = c, d
		}
	}
	if least < 0 {
		return ""
	}
	return fmt.Sprintf(", did you mean %q?", best)
}

// fold makes words equal that differ in case and in how their parts are joined.
func fold(s string) string {
	return strings.ReplaceAll(strings.ToLower(s), "-", "_")
}

// distance is the number of insertions, deletions, replacements and swaps of neighbours that turn a into b (optimal
// string alignment). Words past 64 bytes are as far apart as they can be.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return max(len(a), len(b))
	}
	var rows [65][65]int
	for i := range len(a) + 1 {
		rows[i][0] = i
	}
	for j := range len(b) + 1 {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replace := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, replace)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}
