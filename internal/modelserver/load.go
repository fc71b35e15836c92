package modelserver

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/doc"
)

// scriptFile is a YAML file with the scripts of one prompt.
type scriptFile struct {
	Prompt  *regexp.Regexp `yaml:"prompt,required"`
	Scripts []Script       `yaml:"scripts,required"`
}

// Load reads the scripts of all files NAME.yaml in dir. A file has one `prompt` and, under `scripts`, a script for each
// set of tools, which is called "NAME/key". The error has every problem of every file.
func Load(dir string) ([]Script, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read scripts: %w", err)
	}
	var scripts []Script
	var errs []error
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".yaml")
		if !ok {
			continue
		}
		path := filepath.Join(dir, e.Name())
		d, err := doc.Load(path, path)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		found, err := decodeScripts(name, d)
		if err != nil {
			errs = append(errs, err)
		}
		scripts = append(scripts, found...)
	}
	if len(scripts) == 0 && errs == nil {
		errs = append(errs, fmt.Errorf("read scripts: %s holds no .yaml files", dir))
	}
	if errs != nil {
		return nil, errors.Join(errs...)
	}
	return scripts, nil
}

// decodeScripts returns the scripts of a file whose name, without extension, is given.
func decodeScripts(name string, d *doc.Document) ([]Script, error) {
	var file scriptFile
	d.Root.Decode(&file)
	for i := range file.Scripts {
		s := &file.Scripts[i]
		s.check(d.Root.Get("scripts").Get(s.Name).Errorf)
		s.Name = name + "/" + s.Name
		s.Prompt = file.Prompt
	}
	if err := d.Err(); err != nil {
		return nil, err
	}
	return file.Scripts, nil
}
