// Package soak gives tests their size where a longer test shows more: how many processes are killed, how many bytes are
// printed. They are small in `make test`. `make soak` runs them large, so their names begin with TestSoak.
package soak

import "os"

// Raced reports whether the race detector watches, which makes a test of a size take ten times as long and finds
// nothing in it. `make test-twice` runs the same test without.
func Raced() bool { return raced }

// Size returns large in `make soak`, which sets SOAK=1, and small elsewhere.
func Size(small, large int) int {
	if os.Getenv("SOAK") == "1" {
		return large
	}
	return small
}
