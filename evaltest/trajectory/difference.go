package trajectory

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
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

// nothing stands for a value that is missing on one side.
var nothing any = struct{}{}

// leaf is a place in a nested value where two values part, e.g. opts.lines[1].
type leaf struct {
	path      string
	want, got any // decoded JSON, or nothing
}

// leaves returns where two different values part, by name and index.
func leaves(path string, want, got any) (all []leaf) {
	if jsonvalue.Equal(want, got) {
		return nil
	}
	wants, isObject := want.(map[string]any)
	gots, isObjectToo := got.(map[string]any)
	if isObject && isObjectToo {
		both := maps.Clone(wants)
		maps.Copy(both, gots)
		for _, name := range slices.Sorted(maps.Keys(both)) {
			all = append(all, leaves(path+"."+name, member(wants, name), member(gots, name))...)
		}
		return all
	}
	wantList, isList := want.([]any)
	gotList, isListToo := got.([]any)
	if isList && isListToo {
		for i := range max(len(wantList), len(gotList)) {
			all = append(all, leaves(path+"["+strconv.Itoa(i)+"]", element(wantList, i), element(gotList, i))...)
		}
		return all
	}
	return []leaf{{path, want, got}}
}

func member(object map[string]any, name string) any {
	if value, ok := object[name]; ok {
		return value
	}
	return nothing
}

func element(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return nothing
}
