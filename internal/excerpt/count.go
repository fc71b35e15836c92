package excerpt

import "fmt"

// Count returns "1 unit", "2 units".
func Count(n int, noun string) string { return Plural(n, noun, noun+"s") }

// Plural returns a number with what it counts, one or many.
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Times returns "once", "2 times".
func Times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
