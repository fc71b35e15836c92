package archtest

import (
	"go/ast"
	"go/constant"
	"regexp"
	"testing"
)

// TestLazyRegexps compiles what nobody may ever use in a test: a mistake in it would be a panic in front of a user.
func TestLazyRegexps(t *testing.T) {
	found := 0
	load(t, func(_ string, s *source) {
		for _, f := range s.files {
			ast.Inspect(f, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || called(call) == nil || fullName(s.info.Uses[called(call)]) != "internal/lazyregexp.New" {
					return true
				}
				found++
				at, text := s.fset.Position(call.Pos()), s.info.Types[call.Args[0]].Value
				if text == nil {
					t.Errorf("%s: the expression is no constant", at)
				} else if _, err := regexp.Compile(constant.StringVal(text)); err != nil {
					t.Errorf("%s: %v", at, err)
				}
				return true
			})
		}
	})
	if found == 0 {
		t.Error("found none: does the test look for the right name?")
	}
}
