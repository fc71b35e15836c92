package shop

import "testing"

func TestTotal(t *testing.T) {
	for n, want := range map[int]int{1: 200, 9: 1800, 10: 1800, 11: 1980} {
		if got := Total(200, n); got != want {
			t.Errorf("%d cups cost %d, want %d", n, got, want)
		}
	}
}
