package excerpt

// Common returns how many elements two lists have in common at their start, and how many of the rest at their end.
func Common[E comparable](a, b []E) (start, end int) {
	for start < min(len(a), len(b)) && a[start] == b[start] {
		start++
	}
	for end < min(len(a), len(b))-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	return start, end
}
