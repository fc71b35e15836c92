package workspace

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
)

// TooLargeError says that the changed files of one turn are larger than a cassette may keep.
type TooLargeError struct {
	Total, Limit int64 // in bytes
	Biggest      []Entry
}

func (e *TooLargeError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "changed files have %s, which exceeds the limit of %s (cassette.max_delta); the largest:",
		size(e.Total), size(e.Limit))
	for i, entry := range e.Biggest {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, " %s (%s)", excerpt.Visible(entry.Path, maxShown), size(entry.Size))
	}
	return b.String()
}

// biggest returns the n entries at the top that have most of what is in files, with slashes at the end of directories.
// If nearly all of a directory is at one place below it, that place is named.
func biggest(files []Entry, n int) []Entry {
	top := grouped(files, "")
	slices.SortFunc(top, bySize)
	top = top[:min(n, len(top))]
	for i := range top {
		for strings.HasSuffix(top[i].Path, "/") {
			inner := slices.MinFunc(grouped(files, top[i].Path), bySize)
			if inner.Size < top[i].Size/10*9 {
				break
			}
			top[i] = inner
		}
	}
	return top
}

// bySize sorts the largest first.
func bySize(a, b Entry) int { return cmp.Or(cmp.Compare(b.Size, a.Size), cmp.Compare(a.Path, b.Path)) }

// grouped adds files up by what is directly below a directory, empty for the workspace, else with a slash at its end.
func grouped(files []Entry, dir string) []Entry {
	groups := make(map[string]Entry)
	for _, f := range files {
		rest, ok := strings.CutPrefix(f.Path, dir)
		if !ok {
			continue
		}
		name, _, deeper := strings.Cut(rest, "/")
		if deeper {
			name += "/"
		}
		g := groups[name]
		g.Path, g.Size = dir+name, g.Size+f.Size
		groups[name] = g
	}
	return slices.Collect(maps.Values(groups))
}
