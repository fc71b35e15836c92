// Package usermodule makes go.mod, go.sum and tools.mod of a user's Go module that uses this one by its directory, so
// that nothing is downloaded.
package usermodule

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

const own = "github.com/sdd-eval/sdd-eval"

// Write writes the files into dir, for a module of that name. tools.mod has some of our tools: sdd-eval, gotestsum.
// root is the directory of this module. The go directive is ours; requirements that the user's module does not need do
// no harm.
func Write(dir, root, name string, tools ...string) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	gomod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return err
	}
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		return err
	}
	parts := regexp.MustCompile(`(?ms)^go \S+\n|^require \(.*?^\)\n`).FindAllString(string(gomod), -1)
	var text strings.Builder
	fmt.Fprintf(&text, "module %s\n\n%s\nrequire %[3]s v0.0.0\n\nreplace %[3]s => %s\n",
		name, strings.Join(parts, "\n"), own, root)
	paths := map[string]string{"sdd-eval": own + "/cmd/sdd-eval", "gotestsum": "gotest.tools/gotestsum"}
	files := map[string]string{"go.mod": text.String(), "go.sum": string(sums)}
	for _, tool := range tools {
		fmt.Fprintf(&text, "\ntool %s\n", paths[tool])
		files["tools.mod"], files["tools.sum"] = text.String(), string(sums)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
