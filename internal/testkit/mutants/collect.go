package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mutant is a function with one change.
type mutant struct {
	// ID is made of the file, the function, the operator, the line and the change, not of a line number.
	ID       string
	Operator string
	File     string // name in the package
	Func     string
	From, To string // lines of the source, before and after

	number   int // that activates it; 0 is none
	mark     int // of the statement around it
	function *function
	body     string // of the function, with the change
	digest   string // of body
	offset   int    // of what is changed
	line     int
}

// function is a function or a literal outside of functions.
type function struct {
	file     *file
	name     string
	results  string // as written, or empty
	body     *ast.BlockStmt
	from, to int // offsets of body, with its braces
}

// file is a source of a package.
type file struct {
	name   string
	source []byte
	syntax *ast.File
	tokens *token.File
}

func (f *file) offset(p token.Pos) int { return f.tokens.Offset(p) }

func (f *file) text(from, to token.Pos) string { return string(f.source[f.offset(from):f.offset(to)]) }

// parse reads the named files of a directory.
func parse(fset *token.FileSet, dir string, names []string) ([]*file, error) {
	var files []*file
	for _, name := range names {
		source, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		syntax, err := parser.ParseFile(fset, name, source, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			return nil, err
		}
		files = append(files, &file{name: name, source: source, syntax: syntax, tokens: fset.File(syntax.FileStart)})
	}
	return files, nil
}

// collect returns all mutants of files, chosen first those that the seed puts first. Some may not compile.
func collect(files []*file, seed string) []*mutant {
	var all []*mutant
	for _, f := range files {
		for _, fn := range f.functions() {
			all = append(all, fn.mutants()...)
		}
	}
	counts := make(map[string]int)
	bodies := make(map[string]bool)
	all = slices.DeleteFunc(all, func(m *mutant) bool { // two operators may do the same
		key := m.File + m.Func + m.body
		defer func() { bodies[key] = true }()
		return bodies[key]
	})
	for _, m := range all {
		content := strings.Join([]string{m.File, m.Func, m.Operator, m.From, m.To}, "\x00")
		counts[content]++
		m.ID = digest(fmt.Sprint(content, counts[content]))[:10]
		m.digest = digest(m.body)[:16]
	}
	slices.SortFunc(all, func(a, b *mutant) int {
		return strings.Compare(digest(seed+a.ID), digest(seed+b.ID))
	})
	return all
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// functions returns the functions of a file, and the literals that are in no other function.
func (f *file) functions() []*function {
	var found []*function
	add := func(name string, kind *ast.FuncType, body *ast.BlockStmt) {
		results := ""
		if kind.Results != nil {
			results = f.text(kind.Results.Pos(), kind.Results.End())
		}
		found = append(found, &function{
			file: f, name: name, results: results, body: body, from: f.offset(body.Pos()), to: f.offset(body.End()),
		})
	}
	for _, d := range f.syntax.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Body != nil {
				add(funcName(d), d.Type, d.Body)
			}
		case *ast.GenDecl:
			ast.Inspect(d, func(n ast.Node) bool {
				lit, ok := n.(*ast.FuncLit)
				if ok {
					add("var", lit.Type, lit.Body)
				}
				return !ok
			})
		}
	}
	return found
}

func funcName(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return d.Name.Name
	}
	return "(" + types.ExprString(d.Recv.List[0].Type) + ")." + d.Name.Name
}

// mutants returns all mutants of a function.
func (fn *function) mutants() []*mutant {
	var found []*mutant
	var around []ast.Node
	kinds := []*ast.FieldList{fn.kind().Results}
	visit := func(n ast.Node) bool {
		if n == nil {
			if _, ok := around[len(around)-1].(*ast.FuncLit); ok {
				kinds = kinds[:len(kinds)-1]
			}
			around = around[:len(around)-1]
			return true
		}
		if lit, ok := n.(*ast.FuncLit); ok {
			kinds = append(kinds, lit.Type.Results)
		}
		s := site{Node: n, text: fn.file.text, results: kinds[len(kinds)-1]}
		if len(around) > 0 {
			s.parent = around[len(around)-1]
		}
		around = append(around, n)
		for _, op := range operators {
			for _, e := range op.find(s) {
				found = append(found, fn.apply(op.name, e))
			}
		}
		return true
	}
	// The function itself comes first, since early looks at it.
	root := &ast.FuncDecl{Type: &ast.FuncType{Results: fn.kind().Results}, Body: fn.body}
	s := site{Node: root, text: fn.file.text, results: root.Type.Results}
	for _, e := range early(s) {
		found = append(found, fn.apply("early", e))
	}
	ast.Inspect(fn.body, visit)
	return found
}

// kind returns a function's type, of which only the results count.
func (fn *function) kind() *ast.FuncType {
	for _, d := range fn.file.syntax.Decls {
		if d, ok := d.(*ast.FuncDecl); ok && d.Body == fn.body {
			return d.Type
		}
	}
	var kind *ast.FuncType
	ast.Inspect(fn.file.syntax, func(n ast.Node) bool {
		if lit, ok := n.(*ast.FuncLit); ok && lit.Body == fn.body {
			kind = lit.Type
		}
		return kind == nil
	})
	return kind
}

// apply makes a mutant of an edit.
func (fn *function) apply(op string, e edit) *mutant {
	f := fn.file
	from, to := f.offset(e.pos), f.offset(e.end)
	source := string(f.source)
	lineFrom := strings.LastIndexByte(source[:from], '\n') + 1
	lineTo := len(source)
	if i := strings.IndexByte(source[to:], '\n'); i >= 0 {
		lineTo = to + i
	}
	return &mutant{
		Operator: op, File: f.name, Func: fn.name,
		From:     strings.TrimSpace(source[lineFrom:lineTo]),
		To:       strings.TrimSpace(source[lineFrom:from] + e.text + source[to:lineTo]),
		function: fn, body: source[fn.from:from] + e.text + source[to:fn.to],
		offset: from, line: f.tokens.Position(e.pos).Line,
	}
}

// insertion is a text that goes into a source, before the offset.
type insertion struct {
	at   int
	text string
}

// marks returns what says which parts of a function run, and gives its mutants the marks that tell whether they can
// change anything: that of the innermost statement, or the one of a condition that has the other value. Next is the
// number of the next mark.
func (fn *function) marks(mutants []*mutant, next *int) []insertion {
	var found []insertion
	f := fn.file
	statements := func(list []ast.Stmt) {
		for _, s := range list {
			switch s.(type) {
			case *ast.EmptyStmt, *ast.CaseClause, *ast.CommClause:
				continue
			}
			from, to := f.offset(s.Pos()), f.offset(s.End())
			found = append(found, insertion{from, fmt.Sprintf("reachedMark(%d); ", *next)})
			for _, m := range mutants {
				if from <= m.offset && m.offset < to {
					m.mark = *next
				}
			}
			*next++
		}
	}
	conditions := make(map[*mutant]int)
	condition := func(cond ast.Expr) {
		if cond == nil {
			return
		}
		from := f.offset(cond.Pos())
		found = append(found, insertion{from, fmt.Sprintf("reachedCondition(%d, ", *next)},
			insertion{f.offset(cond.End()), ")"})
		for _, m := range mutants {
			if m.Operator == "condition" && m.offset == from {
				conditions[m] = *next
				if strings.HasPrefix(m.body[m.offset-fn.from:], always) {
					conditions[m]++
				}
			}
		}
		*next += 2
	}
	for _, m := range mutants { // of what comes before the first statement
		m.mark = *next
	}
	ast.Inspect(fn.body, func(n ast.Node) bool { // an outer statement before those in it
		switch n := n.(type) {
		case *ast.BlockStmt:
			statements(n.List)
		case *ast.CaseClause:
			statements(n.Body)
		case *ast.CommClause:
			statements(n.Body)
		case *ast.IfStmt:
			condition(n.Cond)
		case *ast.ForStmt:
			condition(n.Cond)
		}
		return true
	})
	for m, mark := range conditions {
		m.mark = mark
	}
	slices.SortStableFunc(found, func(a, b insertion) int { return a.at - b.at })
	return found
}
