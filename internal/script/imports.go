package script

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
	"github.com/sdd-eval/sdd-eval/internal/plan"
)

// maxFile is how many bytes a file may have in which imports are looked for.
const maxFile = 1 << 20

// Files returns the files that the words of a script in a playbook name, absolute, each once: the program, the script,
// arguments, and the Go files of a directory, as in `go run ./judge`. What does not exist is not among them.
func Files(n *doc.Node, argv []string) (files []string) {
	for _, word := range argv {
		found, err := plan.File(n, word)
		switch {
		case err == nil && !slices.Contains(files, found):
			files = append(files, found)
		case err != nil && strings.HasPrefix(word, ".") && plan.Dir(n) != "":
			files = append(files, goFiles(filepath.Join(plan.Dir(n), filepath.FromSlash(word)))...)
		}
	}
	return files
}

// WithImports returns the files of a script, and behind them those that they import, as far as their texts say so.
func WithImports(files []string) []string {
	all, known := slices.Clone(files), make(map[string]bool)
	for _, file := range files {
		known[file] = true
	}
	for i := 0; i < len(all); i++ {
		for _, file := range imports(all[i]) {
			if !known[file] {
				known[file] = true
				all = append(all, file)
			}
		}
	}
	return all
}

func goFiles(dir string) (files []string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".go") {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	return files
}

// The ways in which scripts name files beside them.
var (
	importsPython = lazyregexp.New(`(?m)^\s*(?:from\s+\.?([\w.]+)\s+import|import\s+([\w.]+))`)
	importsJS     = lazyregexp.New(`(?:from\s+|import\s*\(?\s*|require\(\s*)["'](\.{1,2}/[^"']+)["']`)
	importsShell  = lazyregexp.New(`(?m)^\s*(?:\.|source)\s+["']?(?:\$\(dirname[^)]*\)/|\$\{?\w+\}?/)?([\w./-]+)`)
)

// imports returns the files beside a script that it imports, as far as its text says so.
func imports(file string) (files []string) {
	text, err := disk.ReadRegular(file, maxFile)
	if err != nil {
		return nil
	}
	dir := filepath.Dir(file)
	add := func(name string, suffixes ...string) {
		for _, suffix := range suffixes {
			candidate := filepath.Join(dir, filepath.FromSlash(name+suffix))
			if info, err := os.Stat(candidate); err == nil && info.Mode().IsRegular() {
				files = append(files, candidate)
				return
			}
		}
	}
	switch path.Ext(file) {
	case ".py":
		for _, m := range importsPython.FindAllStringSubmatch(string(text), -1) {
			module := strings.ReplaceAll(strings.Join(m[1:], ""), ".", "/")
			add(module, ".py", "/__init__.py")
		}
	case ".js", ".mjs", ".cjs", ".ts", ".mts", ".tsx", ".jsx":
		for _, m := range importsJS.FindAllStringSubmatch(string(text), -1) {
			add(m[1], "", ".ts", ".js", ".mjs", ".json", "/index.ts", "/index.js")
			add(strings.TrimSuffix(m[1], ".js"), ".ts")
		}
	case ".sh", ".bash":
		for _, m := range importsShell.FindAllStringSubmatch(string(text), -1) {
			add(m[1], "")
		}
	case ".go":
		return goFiles(dir)
	}
	return files
}
