package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"strconv"
	"strings"
)

// edit replaces the source from pos to end.
type edit struct {
	pos, end token.Pos
	text     string
}

// site is a node that operators look at.
type site struct {
	ast.Node

	parent  ast.Node
	text    func(from, to token.Pos) string // the source
	results *ast.FieldList                  // of the innermost function around the node
}

// operators are the ways to change a function, by name. A change that does not compile is dropped later.
var operators = []struct {
	name string
	find func(site) []edit
}{
	{"condition", condition},
	{"boundary", swap(map[token.Token]token.Token{
		token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	})},
	{"opposite", swap(map[token.Token]token.Token{
		token.LSS: token.GEQ, token.LEQ: token.GTR, token.GTR: token.LEQ, token.GEQ: token.LSS,
		token.EQL: token.NEQ, token.NEQ: token.EQL,
	})},
	{"logic", swap(map[token.Token]token.Token{token.LAND: token.LOR, token.LOR: token.LAND})},
	{"arithmetic", swap(map[token.Token]token.Token{
		token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL, token.REM: token.MUL,
		token.AND: token.OR, token.OR: token.AND, token.SHL: token.SHR, token.SHR: token.SHL,
		token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN, token.MUL_ASSIGN: token.QUO_ASSIGN,
		token.OR_ASSIGN: token.AND_ASSIGN, token.INC: token.DEC, token.DEC: token.INC,
	})},
	{"not", not},
	{"constant", constant},
	{"statement", statement},
	{"case", dropCase},
	{"jump", jump},
	{"result", result},
	{"early", early},
}

// swap replaces operators by others.
func swap(by map[token.Token]token.Token) func(site) []edit {
	return func(s site) []edit {
		var pos token.Pos
		var tok token.Token
		switch n := s.Node.(type) {
		case *ast.BinaryExpr:
			pos, tok = n.OpPos, n.Op
		case *ast.AssignStmt:
			pos, tok = n.TokPos, n.Tok
		case *ast.IncDecStmt:
			pos, tok = n.TokPos, n.Tok
		default:
			return nil
		}
		if to, ok := by[tok]; ok {
			return []edit{{pos: pos, end: pos + token.Pos(len(tok.String())), text: to.String()}}
		}
		return nil
	}
}

// always and never stand before a condition that does not count any more.
const (
	always = "true ||"
	never  = "false &&"
)

// condition makes the condition of an if or a loop always or never true.
func condition(s site) []edit {
	var cond ast.Expr
	values := []string{always, never}
	switch n := s.Node.(type) {
	case *ast.IfStmt:
		cond = n.Cond
	case *ast.ForStmt:
		cond, values = n.Cond, values[1:] // one that never ends would only cost time
	}
	if cond == nil {
		return nil
	}
	var edits []edit
	for _, value := range values {
		text := value + " (" + s.text(cond.Pos(), cond.End()) + ")"
		edits = append(edits, edit{pos: cond.Pos(), end: cond.End(), text: text})
	}
	return edits
}

// not removes the negation of a condition, and negates what is one but no comparison.
func not(s site) []edit {
	switch n := s.Node.(type) {
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			return []edit{{pos: n.OpPos, end: n.OpPos + 1, text: ""}}
		}
	case *ast.IfStmt:
		switch n.Cond.(type) {
		case *ast.CallExpr, *ast.Ident, *ast.SelectorExpr, *ast.IndexExpr:
			return []edit{{pos: n.Cond.Pos(), end: n.Cond.Pos(), text: "!"}}
		}
	}
	return nil
}

// constant replaces true and false by each other, integers by the next, and words by other words. It leaves texts with
// a space, which are messages to people; what is returned beside an error; tags; and octal numbers, which are modes of
// files, and whose last bit a umask hides.
func constant(s site) []edit {
	if _, tag := s.parent.(*ast.Field); tag || besideError(s) {
		return nil
	}
	switch n := s.Node.(type) {
	case *ast.Ident:
		if opposite := map[string]string{"true": "false", "false": "true"}[n.Name]; opposite != "" {
			return []edit{{pos: n.Pos(), end: n.End(), text: opposite}}
		}
	case *ast.BasicLit:
		switch n.Kind {
		case token.INT:
			if i, err := strconv.ParseInt(n.Value, 0, 64); err == nil && !strings.HasPrefix(n.Value, "0o") {
				return []edit{{pos: n.Pos(), end: n.End(), text: strconv.FormatInt(i+1, 10)}}
			}
		case token.STRING:
			switch text, err := strconv.Unquote(n.Value); {
			case err != nil || strings.Contains(text, " "):
			case text == "":
				return []edit{{pos: n.Pos(), end: n.End(), text: `"mutant"`}}
			default:
				return []edit{{pos: n.Pos(), end: n.End(), text: `""`}}
			}
		}
	}
	return nil
}

// besideError reports whether a node is returned together with an error.
func besideError(s site) bool {
	n, ok := s.parent.(*ast.ReturnStmt)
	if !ok || len(n.Results) < 2 {
		return false
	}
	kinds := resultTypes(s)
	if len(n.Results) != len(kinds) {
		return false // a literal of a function has the results of its own
	}
	last, isName := n.Results[len(n.Results)-1].(*ast.Ident)
	return kinds[len(kinds)-1] == "error" && (!isName || last.Name != "nil")
}

// statement drops a call, an assignment or a send.
func statement(s site) []edit {
	switch n := s.Node.(type) {
	case *ast.AssignStmt:
		if n.Tok == token.DEFINE {
			return nil
		}
	case *ast.ExprStmt, *ast.IncDecStmt, *ast.SendStmt, *ast.DeferStmt:
	default:
		return nil
	}
	return []edit{{pos: s.Pos(), end: s.End(), text: "{}"}}
}

// dropCase drops a case, so that its values go to default.
func dropCase(s site) []edit {
	if n, ok := s.Node.(*ast.CaseClause); ok && n.List != nil {
		return []edit{{pos: n.Pos(), end: n.End(), text: ""}}
	}
	return nil
}

// jump turns continue into break, and break into continue.
func jump(s site) []edit {
	n, ok := s.Node.(*ast.BranchStmt)
	if !ok {
		return nil
	}
	if to, ok := map[token.Token]string{token.CONTINUE: "break", token.BREAK: "continue"}[n.Tok]; ok {
		return []edit{{pos: n.TokPos, end: n.TokPos + token.Pos(len(n.Tok.String())), text: to}}
	}
	return nil
}

// result replaces one of the values that a return has by the zero value.
func result(s site) []edit {
	n, ok := s.Node.(*ast.ReturnStmt)
	if !ok || s.results == nil {
		return nil
	}
	kinds := resultTypes(s)
	if len(n.Results) != len(kinds) {
		return nil // none, or those of one call
	}
	var edits []edit
	for i, r := range n.Results {
		if zero := zeroOf(kinds[i]); !isZero(r) {
			edits = append(edits, edit{pos: r.Pos(), end: r.End(), text: zero})
		}
	}
	return edits
}

// early returns at once.
func early(s site) []edit {
	var body *ast.BlockStmt
	switch n := s.Node.(type) {
	case *ast.FuncDecl:
		body = n.Body
	case *ast.FuncLit:
		body = n.Body
	default:
		return nil
	}
	if body == nil || len(body.List) == 0 {
		return nil
	}
	if _, returns := body.List[0].(*ast.ReturnStmt); returns {
		return nil // result does that
	}
	var zeros []string
	for _, kind := range resultTypes(s) {
		zeros = append(zeros, zeroOf(kind))
	}
	// A condition keeps the rest of the body reachable for go/types, which then finds no unused variables.
	text := "if true { return " + strings.Join(zeros, ", ") + " }; "
	return []edit{{pos: body.Lbrace + 1, end: body.Lbrace + 1, text: text}}
}

// resultTypes returns a type for each result of the function around a node, as written.
func resultTypes(s site) []string {
	if s.results == nil {
		return nil
	}
	var kinds []string
	for _, f := range s.results.List {
		for range max(1, len(f.Names)) {
			kinds = append(kinds, types.ExprString(f.Type))
		}
	}
	return kinds
}

// zeroOf returns an expression for the zero value of a type.
func zeroOf(kind string) string {
	switch {
	case kind == "error" || kind == "any" || strings.HasPrefix(kind, "[]") || strings.HasPrefix(kind, "*") ||
		strings.HasPrefix(kind, "map["):
		return "nil"
	case kind == "string":
		return `""`
	case kind == "bool":
		return "false"
	case kind == "int":
		return "0"
	}
	return "*new(" + kind + ")"
}

// isZero reports whether an expression is a zero value, or a constant that another operator changes to one.
func isZero(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name == "nil" || e.Name == "true" || e.Name == "false"
	case *ast.BasicLit:
		return e.Value == "0" || e.Kind == token.STRING
	case *ast.CompositeLit:
		_, named := e.Type.(*ast.Ident)
		_, imported := e.Type.(*ast.SelectorExpr)
		return len(e.Elts) == 0 && (named || imported)
	}
	return false
}
