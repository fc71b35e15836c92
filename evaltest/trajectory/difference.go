package trajectory

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/google/go-cmp/cmp"
)

// show returns the difference as it stands on both sides of a table.
func (d difference) show() (had, want []string) {
	switch {
	case d.name == "":
		return nil, []string{"no such arguments"}
	case d.want == nil:
		return []string{assign(d.name, show(d.got))}, []string{"no " + label(d.name)}
	case !d.has:
		return nil, []string{assign(d.name, d.want.String()) + " (missing)"}
	case d.want.name != "equals":
		return []string{assign(d.name, show(d.got))}, []string{assign(d.name, d.want.String())}
	}
	all := leaves(d.name, d.want.param, d.got)
	for i, l := range all {
		if i == maxArgs {
			return had, append(want, fmt.Sprintf("%d more in %s", len(all)-i, label(d.name)))
		}
		switch {
		case l.want == nothing:
			had = append(had, assign(l.path, show(l.got)))
			want = append(want, "no "+label(l.path))
		case l.got == nothing:
			want = append(want, assign(l.path, show(l.want))+" (missing)")
		default:
			a, b := showApart(l.want, l.got)
			want = append(want, assign(l.path, a))
			had = append(had, assign(l.path, b))
		}
	}
	return had, want
}

// nothing stands for a value that is not there on one side.
var nothing any = struct{}{}

// leaf is a place in a nested value where two values part, e.g. opts.lines[1].
type leaf struct {
	path      string
	want, got any // canonical, or nothing
}

// leaves returns where two different canonical values part, as go-cmp walks them.
func leaves(name string, want, got any) []leaf {
	var r leafReporter
	// Lists as maps by index: go-cmp aligns slices by a search whose direction is random, and failure texts are not.
	indexed := cmp.Transformer("indexed", func(list []any) map[int]any {
		m := make(map[int]any, len(list))
		for i, v := range list {
			m[i] = v
		}
		return m
	})
	cmp.Equal(map[string]any{name: want}, map[string]any{name: got}, indexed, cmp.Reporter(&r))
	return r.leaves
}

// leafReporter collects leaves; it implements the reporter of go-cmp.
type leafReporter struct {
	path   cmp.Path
	leaves []leaf
}

func (r *leafReporter) PushStep(s cmp.PathStep) { r.path = append(r.path, s) }

func (r *leafReporter) PopStep() { r.path = r.path[:len(r.path)-1] }

func (r *leafReporter) Report(result cmp.Result) {
	if result.Equal() {
		return
	}
	var path strings.Builder
	for _, step := range r.path {
		at, ok := step.(cmp.MapIndex)
		if !ok {
			continue
		}
		if at.Key().CanInt() {
			path.WriteString("[" + strconv.FormatInt(at.Key().Int(), 10) + "]")
			continue
		}
		if path.Len() > 0 {
			path.WriteByte('.')
		}
		path.WriteString(at.Key().String())
	}
	l := leaf{path: path.String(), want: nothing, got: nothing}
	want, got := r.path.Last().Values()
	if want.IsValid() {
		l.want = want.Interface()
	}
	if got.IsValid() {
		l.got = got.Interface()
	}
	r.leaves = append(r.leaves, l)
}
