package evaltest

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// keepOutOfCache makes sure that go test never serves the running test from its cache. The go command caches no test
// that opened a file below the module root which is younger than two seconds when the test ends, so one file of a far
// future will do for every test, however long it takes.
func keepOutOfCache(moduleRoot string) error {
	dir := filepath.Join(moduleRoot, ".evaltest")
	name := filepath.Join(dir, "never-cached")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("keep this run out of go test's cache: %w", err)
	}
	for path, text := range map[string]string{
		filepath.Join(dir, ".gitignore"): "*\n",
		name:                             "go test caches no test that opens this file: its time is in the future.\n",
	} {
		if err := createOnce(path, text); err != nil {
			return fmt.Errorf("keep this run out of go test's cache: %w", err)
		}
	}
	future := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := os.Chtimes(name, future, future); err != nil {
		return fmt.Errorf("keep this run out of go test's cache: %w", err)
	}
	f, err := os.Open(name) // the go command learns of it here
	if err != nil {
		return fmt.Errorf("keep this run out of go test's cache: %w", err)
	}
	return f.Close()
}

func createOnce(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if os.IsExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := f.WriteString(text); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
