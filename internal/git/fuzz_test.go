package git

import (
	"bufio"
	"io/fs"
	"strings"
	"testing"
)

// FuzzList holds that no path that a commit is said to have leads out of the work tree, however the lines are cut.
func FuzzList(f *testing.F) {
	id := strings.Repeat("a", 40)
	f.Add("100644 blob "+id+"     12\tdir/a b\x00120000 blob "+id+" 3\tlink\x00160000 commit "+id+" -\tsub\x00", 7)
	f.Add("100644 blob "+id+" 1\t../x\x00", 3)
	f.Fuzz(func(t *testing.T, text string, cut int) {
		var parts, all []Entry
		l, whole := intoEntries(&parts), intoEntries(&all)
		cut = max(0, min(cut, len(text)))
		_, err := l.Write([]byte(text[:cut]))
		if err == nil {
			_, err = l.Write([]byte(text[cut:]))
		}
		_, wholeErr := whole.Write([]byte(text))
		if (err == nil) != (wholeErr == nil) || len(parts) != len(all) {
			t.Fatalf("cut at %d: %v, %v", cut, err, wholeErr)
		}
		for _, e := range all {
			if strings.ToValidUTF8(e.Path, "") == e.Path && !fs.ValidPath(e.Path) || e.Path == "." {
				t.Fatalf("the path %q", e.Path)
			}
		}
	})
}

// FuzzReadBatch holds that only what was asked for is read.
func FuzzReadBatch(f *testing.F) {
	id := strings.Repeat("a", 40)
	f.Add(id + " blob 3\nabc\n")
	f.Add(id + " missing\n")
	f.Fuzz(func(t *testing.T, text string) {
		err := readBatch(bufio.NewReader(strings.NewReader(text)), []Entry{{ID: id, Size: 3}},
			func(_ Entry, data []byte) error {
				if want := id + " blob 3\n" + string(data); !strings.HasPrefix(text, want) {
					t.Fatalf("%q of %q", data, text)
				}
				return nil
			})
		if err == nil && !strings.HasPrefix(text, id+" blob 3\n") {
			t.Fatalf("%q is read", text)
		}
	})
}
