package archtest

import (
	"os"
	"regexp"
	"testing"

	"github.com/sdd-eval/sdd-eval/internal/engine"
)

// TestVersion holds the newest heading of the changelog to the version that files and agents are told.
func TestVersion(t *testing.T) {
	data, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	newest := regexp.MustCompile(`(?m)^## ([0-9.]+)`).FindSubmatch(data)
	if newest == nil || string(newest[1]) != engine.Version {
		t.Errorf("CHANGELOG.md begins with %q, and engine.Version is %s", newest, engine.Version)
	}
}
