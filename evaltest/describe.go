package evaltest

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"
)

// Describe runs the playbooks that match glob, a pattern relative to the test's directory in which ** stands for any number
// of directories, as subtests <playbook>/<case>/<variant>/<evaluator> of t. Trials run inside the variant's subtest, which fails once, by
// the playbook's pass rule. Jobs outside the matrix are subtests <playbook>/jobs/<job>.
//
// No match, a playbook that cannot be loaded, and one that expects nothing fail the test.
func Describe(t *testing.T, glob string, opts ...Option) {
	t.Helper()
	h, err := newHarness(opts...)
	if err != nil {
		t.Fatalf("evaltest.Describe: %v", err)
	}
	files, err := doublestar.FilepathGlob(glob, doublestar.WithFilesOnly())
	if err != nil {
		t.Fatalf("evaltest.Describe: pattern %q: %v", glob, err)
	}
	if len(files) == 0 {
		t.Fatalf("evaltest.Describe: no playbook matches %q in %s\nnext: correct the pattern, or write a playbook there", glob, h.dir)
	}
	seen := make(map[string]string)
	for _, file := range files {
		pb, err := h.load(file)
		if err != nil {
			t.Errorf("evaltest.Describe: %v", err)
			continue
		}
		if other, dup := seen[pb.Name]; dup {
			t.Errorf("evaltest.Describe: %s and %s have the same name, %q: their subtests could not be told apart", other, file, pb.Name)
			continue
		}
		stem := strings.TrimSuffix(file, filepath.Ext(file))
		if other, dup := seen[stem]; dup {
			t.Errorf("evaltest.Describe: %s and %s differ in nothing but their extension: they would share their cassettes", other, file)
			continue
		}
		seen[pb.Name], seen[stem] = file, file
		t.Run(pb.Name, func(t *testing.T) {
			t.Helper()
			h.describe(t, pb)
		})
	}
}
