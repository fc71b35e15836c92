package lint_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/sdd-eval/sdd-eval/internal/lint"
)

func TestStrength(t *testing.T) {
	tests := []struct {
		text, target string
		prose        bool
		want         string
	}{
		{"ok", "", true, "nothing"},
		{"true", "", true, "nothing"},
		{"42", "", true, "nothing"},
		{"INV-7", "", true, "nothing"},
		{"missing", "", true, "nothing"},
		{"not_found_here", "", true, "nothing"}, // a word of a list of words
		{"Reykjavík", "", true, "weak"},
		{"Reykjavík", "notes.md", false, "weak"},
		{"Returned", "refund.go", false, "nothing"}, // a name in code
		{"example.com/shop/orders", "a.go", false, "nothing"},
		{"acme corporation", "", true, "weak"},
		{"2025-01-15", "", true, "weak"},
		{"func Plan(", "plan.go", false, "nothing"},
		{"(missing + size - 1) / size", "plan.go", false, "strong"},
		{"The function Plan decides it.", "", true, "strong"},
		{"is it so", "", true, "nothing"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			assert.Equal(t, tt.want, lint.Strength(tt.text, tt.target, tt.prose))
		})
	}
}

func TestTold(t *testing.T) {
	tests := []struct {
		want, name, text string
		told             bool
	}{
		{"Reykjavík", "", "The answer is Reykjavík.", true},
		{"Reykjavík", "", "The answer is REYKJAVÍK.", true},
		{"Reykjavík", "", "Reykjavík is a city.", false},
		{"Reykjavík", "", "The answer is Reykjavíks.", false}, // another word
		{"Reykjavík", "", "The correct one: Reykjavík or Oslo?", false},
		{"Reykjavík", "", "The correct one: Oslo or `Reykjavík`?", false},
		{"Reykjavík", "", "The correct one: Oslo or Reykjavík? The solution: Reykjavík", true},
		{"Reykjavík", "data/solution.txt", "Reykjavík", true},
		{"Reykjavík", "data/dissolutions.txt", "Reykjavík", false},
		{"The function Plan decides it.", "", "See: the function\n// plan decides it!", true},
		{"The function Plan decides it.", "", "the function planned decides it", false},
		{"Reykjavík", "", "İ: the answer is Reykjavík.", true}, // its lower case is longer
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			assert.Equal(t, tt.told, lint.Told(tt.want, tt.name, tt.text))
		})
	}
}

func TestTestFiles(t *testing.T) {
	for path, want := range map[string]bool{
		"plan_test.go": true, "a/b.spec.ts": true, "test_a.py": true, "tests/a.rs": true, "src/TestPlan.java": true,
		"plan.go": false, "latest/a.go": false, "contest.py": false, "src/Greatest.java": false, "attest_a.py": false,
	} {
		assert.Equal(t, want, lint.IsTest(path), path)
	}
}
