// Package passing has a test of a tool, as people write them.
package passing

import (
	"testing"

	"github.com/sdd-eval/sdd-eval/evaltest/clitest"
)

func TestStock(t *testing.T) {
	tool := clitest.Build(t, "./stock")
	var items []struct {
		Name  string `json:"name"`
		Count int    `json:"count"`
	}
	clitest.Command(t, tool).Run().JSON(&items)
	if len(items) != 1 || items[0].Count != 3 {
		t.Errorf("the stock is %v", items)
	}
}
