package result

import "strconv"

// FormatScore writes a score with up to four digits, or with as many as it takes to tell it from the full score.
func FormatScore(score float64) string {
	text, _ := FormatScores(score, 1)
	return text
}

// FormatScores writes two numbers with up to four digits, or with as many as it takes to tell them apart.
func FormatScores(score, least float64) (string, string) {
	for digits := 4; ; digits++ {
		a, b := strconv.FormatFloat(score, 'g', digits, 64), strconv.FormatFloat(least, 'g', digits, 64)
		if a != b || digits == 17 || score == least {
			return a, b
		}
	}
}
