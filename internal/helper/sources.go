package helper

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

//go:generate env UPDATE_GOLDEN=1 go test -count=1 -run ^TestSources$ .

// sources has the sum of the sources that the helper is built from and, line by line, the packages that they are.
//
//go:embed generated/sources.txt
var sources string

// Key identifies the helper that this package belongs to: both were built from the same sources.
func Key() string {
	key, _, _ := strings.Cut(sources, "\n")
	return key
}

// sourcesKey returns what [Key] would be if it were renewed now, as long as the sources are where they were compiled.
// Tests of people who work on sdd-eval, as their main module or by a replace directive, have to see their changes.
func sourcesKey() string {
	_, file, _, _ := runtime.Caller(0)
	if !filepath.IsAbs(file) || strings.Contains(file, "sdd-eval@") { // by -trimpath, or in the module cache
		return Key()
	}
	_, packages, _ := strings.Cut(sources, "\n")
	sum, err := sum(filepath.Join(filepath.Dir(file), "..", ".."), strings.Fields(packages))
	if err != nil { // they are not on this machine
		return Key()
	}
	return sum
}

// sum returns the sum of the sources of packages, by their directories below the module's root: all files but those of
// tests.
func sum(root string, packages []string) (string, error) {
	h := sha256.New()
	for _, pkg := range packages {
		entries, err := os.ReadDir(filepath.Join(root, filepath.FromSlash(pkg)))
		if err != nil {
			return "", err
		}
		for _, e := range entries {
			if !e.Type().IsRegular() || strings.HasSuffix(e.Name(), "_test.go") {
				continue
			}
			data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(pkg), e.Name()))
			if err != nil {
				return "", err
			}
			fmt.Fprintf(h, "%s/%s %d\n%s", pkg, e.Name(), len(data), data)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8]), nil
}
