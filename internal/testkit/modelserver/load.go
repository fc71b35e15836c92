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

// Model is all that the model knows to say.
type Model struct {
	Scripts []Script
	Judges  []Judge
}

// scriptFile is a YAML file with what is said to one prompt.
type scriptFile struct {
	Prompt  *regexp.Regexp `yaml:"prompt,required"`
	Scripts []Script       `yaml:"scripts"`
	Judges  []Judge        `yaml:"judges"`
}

// Load reads all files NAME.yaml in dir. A file has one `prompt` and either, under `scripts`, a script for each set of
// tools, or, under `judges`, a reply for each model that judges; they are called "NAME/key". The error has every problem of
// every file.
func Load(dir string) (Model, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return Model{}, fmt.Errorf("read scripts: %w", err)
	}
	var m Model
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
		found, err := decode(name, d)
		if err != nil {
			errs = append(errs, err)
		}
		m.Scripts, m.Judges = append(m.Scripts, found.Scripts...), append(m.Judges, found.Judges...)
	}
	if m.empty() && errs == nil {
		errs = append(errs, fmt.Errorf("read scripts: %s holds no .yaml files", dir))
	}
	if errs != nil {
		return Model{}, errors.Join(errs...)
	}
	return m, nil
}

func (m Model) empty() bool { return len(m.Scripts)+len(m.Judges) == 0 }

// decode returns the content of a file whose name, without extension, is given.
func decode(name string, d *doc.Document) (Model, error) {
	var file scriptFile
	if d.Root.Decode(&file) && (len(file.Scripts) == 0) == (len(file.Judges) == 0) {
		d.Root.Errorf("", "must have either scripts or judges")
	}
	for i := range file.Scripts {
		s := &file.Scripts[i]
		s.check(d.Root.Get("scripts").Get(s.Name).Errorf)
		s.Name = name + "/" + s.Name
		s.Prompt = file.Prompt
	}
	for i := range file.Judges {
		j := &file.Judges[i]
		j.check(d.Root.Get("judges").Get(j.Model).Errorf)
		j.Name = name + "/" + j.Model
		j.Prompt = file.Prompt
	}
	if err := d.Err(); err != nil {
		return Model{}, err
	}
	return Model{file.Scripts, file.Judges}, nil
}
