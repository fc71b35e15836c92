package engine

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/spec"
)

// besidePlaybook returns the absolute path of what the playbook names relative to itself.
func (r *Runner) besidePlaybook(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	path = filepath.Join(filepath.Dir(r.pb.File), filepath.FromSlash(path))
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(r.cfg.Root, path)
}

// cassettes returns the directory of the cassettes.
func (r *Runner) cassettes() string {
	if filepath.IsAbs(r.cfg.Cassettes) {
		return r.cfg.Cassettes
	}
	return filepath.Join(r.cfg.Root, r.cfg.Cassettes)
}

// outside reports whether a directory is not below the root, where go test does not look for changes.
func (r *Runner) outside(dir string) bool {
	rel, err := filepath.Rel(r.cfg.Root, dir)
	return dir != "" && (err != nil || !filepath.IsLocal(rel))
}

// CassettePath returns where the cassette of a unit is, or would be.
func (r *Runner) CassettePath(u spec.Unit) string {
	return cassette.Path(r.cassettes(), r.stem(), u.Case.ID, u.Variant.ID, u.Trial)
}

// stem is the playbook's path without extension, by which cassettes are found; what is of a test in Go keeps that. A playbook
// outside the root has its name alone.
func (r *Runner) stem() string {
	stem := r.pb.File
	if ext := filepath.Ext(stem); ext != cassette.GoExt {
		stem = strings.TrimSuffix(stem, ext)
	}
	if filepath.IsAbs(stem) {
		return filepath.Base(stem)
	}
	return stem
}

// relCassette is the file of a unit's cassette for people.
func (r *Runner) relCassette(u spec.Unit) string { return r.rel(cassette.File(r.CassettePath(u))) }

// shorten names the cassette of a unit in an error as people know it.
func (r *Runner) shorten(err error, u spec.Unit) error {
	if missing, ok := errors.AsType[*cassette.MissingError](err); ok {
		missing.Path = r.relCassette(u)
	}
	if corrupt, ok := errors.AsType[*cassette.CorruptError](err); ok {
		corrupt.Path = r.relCassette(u)
	}
	return err
}

// rel is a path for people: relative to the root, if it is below it.
func (r *Runner) rel(path string) string {
	if rel, err := filepath.Rel(r.cfg.Root, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}
