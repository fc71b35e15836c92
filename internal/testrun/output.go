package testrun

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
)

// outputDir is where output goes, below the module's root.
const outputDir = "test-output"

// maxName bounds the name that a test gives to a directory, in bytes.
const maxName = 120

// unusual matches what is replaced in the names of tests, which are their authors' and may hold anything.
var unusual = lazyregexp.New(`[^A-Za-z0-9_.=+-]+`)

// MakeOutput makes a new directory for the output of a test whose package is in dir,
// <module root>/test-output/<run id>/<package's directory>/<test's name>, and returns its path. If there is one already, of
// an earlier run with this id or of a test that was repeated, the new one gets a number, -2 and so on: no two calls return
// the same one, whichever processes they are in. Git ignores test-output.
func MakeOutput(dir, runID, test string) (string, error) {
	root, err := ModuleRoot(dir)
	if err != nil {
		return "", err
	}
	pkg, err := filepath.Rel(root, dir)
	if err != nil {
		return "", err
	}
	if err := MakeIgnored(filepath.Join(root, outputDir)); err != nil {
		return "", err
	}
	parent := filepath.Join(root, outputDir, runID, pkg)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", err
	}
	name := unusual.ReplaceAllString(strings.ReplaceAll(test, "/", "."), "_")
	path := filepath.Join(parent, name[:min(len(name), maxName)])
	for wanted, n := path, 2; ; n++ {
		err := os.Mkdir(path, 0o755)
		if !errors.Is(err, fs.ErrExist) {
			return path, err
		}
		path = fmt.Sprintf("%s-%d", wanted, n)
	}
}
