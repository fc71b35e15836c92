package lazyregexp_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
)

func TestLiteral(t *testing.T) {
	for expr, want := range map[string]string{
		`(?m)^func Refund\(order Order\) \w+`: "func Refund(order Order) ",
		`a|bcd`:                               "", `(?i)abc`: "", `x*abc(def)+`: "abc", `a{2}b`: "a", `(`: "",
		`go test`: "go test", `^src/12\.(go|rs)$`: "src/12.", `x*yy`: "yy", `(abc)+d`: "abc", `[ab]`: "", `(?:)`: "",
		`(a|b)cd?e`: "c",
	} {
		assert.Equal(t, want, lazyregexp.Literal(expr), expr)
	}
}
