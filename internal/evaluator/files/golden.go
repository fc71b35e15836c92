package files

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/tree"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/spec"
)

const (
	maxCompared  = 512 << 10 // bytes of a file that is compared line by line
	maxDiffLines = 40        // lines of a difference that are shown
	maxDiffLine  = 200       // runes of each
)

// golden is a file that another is to equal.
type golden struct {
	name string // as people know it
	want string
}

// compileGolden returns the check for a golden file. It is read at once, so that one that is missing is an error of the
// playbook and not of a unit.
func compileGolden(n *doc.Node, name string) check {
	data, err := readGolden(n, name)
	if err != nil {
		n.Errorf("", "%v", err)
		return check{}
	}
	g := golden{name: name, want: string(data)}
	return check{"equals " + name, func(c content) string {
		if string(c.data) == g.want {
			return ""
		}
		return g.difference(string(c.data)) + "\nto accept it, copy the file from the unit's workspace over " + shown(n, name) +
			"; `sdd-eval run` and EVALTEST_RUN_DIR keep workspaces"
	}}
}

func readGolden(n *doc.Node, name string) ([]byte, error) {
	file, err := spec.File(n, name)
	if err != nil {
		return nil, err
	}
	in, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, tree.MaxSize+1))
	if err == nil && len(data) > tree.MaxSize {
		err = fmt.Errorf("%s is larger than the %d MiB that are looked at", name, tree.MaxSize>>20)
	}
	return data, err
}

// shown returns the golden file's path as it is from where the playbook's path is relative to.
func shown(n *doc.Node, name string) string {
	file, err := spec.File(n, name)
	if err != nil || filepath.IsAbs(name) {
		return name
	}
	rel, err := filepath.Rel(spec.Dir(n), file)
	if err != nil {
		return name
	}
	return path.Join(path.Dir(filepath.ToSlash(n.Position().File)), filepath.ToSlash(rel))
}

// difference tells how a text differs from the golden one.
func (g golden) difference(got string) string {
	switch {
	case isBinary(got) || isBinary(g.want):
		at := 0
		for at < min(len(got), len(g.want)) && got[at] == g.want[at] {
			at++
		}
		return fmt.Sprintf("they differ from byte %d on: %d bytes, want %d", at, len(got), len(g.want))
	case onlyLineEnds(g.want, got):
		return otherLineEnds
	case max(len(got), len(g.want)) > maxCompared:
		return firstDifference(strings.SplitAfter(g.want, "\n"), strings.SplitAfter(got, "\n"))
	}
	diff, err := udiff.ToUnifiedDiff("want", "got", g.want, udiff.Lines(g.want, got), udiff.DefaultContextLines)
	if err != nil {
		panic(fmt.Sprintf("files: compare with %s: %v", g.name, err)) // the edits are its own
	}
	return "they differ\n" + readable(diff.String())
}

func isBinary(text string) bool { return strings.IndexByte(text, 0) >= 0 || !utf8.ValidString(text) }

// readable bounds a difference, and shows what a terminal would act upon.
func readable(diff string) string {
	lines := strings.Split(strings.TrimSuffix(diff, "\n"), "\n")
	more := len(lines) - maxDiffLines
	var b bytes.Buffer
	for _, line := range lines[:min(len(lines), maxDiffLines)] {
		b.WriteString(excerpt.Visible(line, maxDiffLine))
		b.WriteByte('\n')
	}
	if more > 0 {
		fmt.Fprintf(&b, "… %d more lines\n", more)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
