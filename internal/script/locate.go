package script

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
	"github.com/sdd-eval/sdd-eval/internal/spec"
)

// Locate returns the words of a script in a playbook with those that name files made absolute as far as that is needed:
// the program, if it is a path, and the script's file, which is the first word behind the program with a slash or an
// extension that names an existing file. File is its path, empty if no word looks like the name of a file. N is the
// mapping that has argv under the key script; what is wrong with it is reported there: a program that does not exist, and
// names of files of which none does.
func Locate(n *doc.Node, argv []string) (located []string, file string) {
	if len(argv) == 0 {
		return nil, "" // reported
	}
	located = slices.Clone(argv)
	if strings.ContainsAny(argv[0], `/\`) {
		path, err := spec.File(n, argv[0])
		if err != nil {
			n.Errorf("script[0]", "%v", err)
		}
		located[0], file = path, path
	}
	var missing error
	for i, word := range argv[1:] {
		if !namesFile(word) {
			continue
		}
		path, err := spec.File(n, word)
		if err == nil {
			located[i+1] = path
			return located, path
		}
		if missing == nil {
			missing = err
		}
	}
	if file == "" && errors.Is(missing, fs.ErrNotExist) {
		n.Errorf("script", "no word of it names a file: %v", missing)
	}
	return located, file
}

// namesFile reports whether a word may name a file: no flag, and no program of a shell's.
func namesFile(word string) bool {
	return !strings.HasPrefix(word, "-") && !strings.ContainsAny(word, " \t\n") &&
		(strings.ContainsAny(word, `/\`) || extension.MatchString(word))
}

var extension = lazyregexp.New(`\.[A-Za-z][A-Za-z0-9]*$`)
