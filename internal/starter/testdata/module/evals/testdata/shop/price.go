// Package shop sells cups.
package shop

// Total is the price of n cups, in cents. From ten cups on, each costs a tenth less.
func Total(cents, n int) int {
	if n > 10 {
		return cents * n * 9 / 10
	}
	return cents * n
}
