package baseline

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/compare"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/secret"
)

// Finder finds arms by the words that people call them: a run's id or the beginning of one, latest, latest~1, a run's
// directory, a report in JSON, or the name of a baseline; :VARIANT behind it selects one variant.
type Finder struct {
	// Root is that of the project, Dir the directory that paths are relative to.
	Root, Dir string
	// Runs is the root below which runs are kept; empty: Root.
	Runs string
	Mask *secret.Set
}

// Two pairs the variants of two sources: the ones that are named, else those of the same id, else the only ones.
func (f Finder) Two(first, second string) ([]compare.Arms, error) {
	base, err := f.source(first)
	if err != nil {
		return nil, err
	}
	head, err := f.source(second)
	if err != nil {
		return nil, err
	}
	if base.variant != "" || head.variant != "" || len(base.IDs()) == 1 && len(head.IDs()) == 1 {
		x, err := base.only(head.variant)
		if err != nil {
			return nil, err
		}
		y, err := head.only(base.variant)
		return []compare.Arms{{Base: x, Head: y}}, err
	}
	var arms []compare.Arms
	for _, id := range base.IDs() {
		if y, ok := head.Arm(head.word, id); ok {
			x, _ := base.Arm(base.word, id)
			arms = append(arms, compare.Arms{Base: x, Head: y})
		}
	}
	if arms == nil {
		return nil, fmt.Errorf("%s has the variants %s and %s has %s: none is in both, so name two, such as %s:%s",
			base.word, strings.Join(base.IDs(), ", "), head.word, strings.Join(head.IDs(), ", "), head.word,
			head.IDs()[0])
	}
	return arms, nil
}

// One pairs the variant a of a source with those of b, which commas separate, or with all others if b is empty.
func (f Finder) One(word, a, b string) ([]compare.Arms, error) {
	s, err := f.source(word)
	if err != nil {
		return nil, err
	}
	if s.variant != "" {
		return nil, fmt.Errorf("compare: give HEAD, too, or --a %s instead of :%s", s.variant, s.variant)
	}
	if a == "" {
		return nil, fault.Advise(fmt.Errorf("compare: give HEAD, or with --a the variant of %s to compare the others "+
			"with: %s", word, strings.Join(s.IDs(), " or ")), "sdd-eval compare "+word+" --a "+s.IDs()[0])
	}
	others := slices.DeleteFunc(s.IDs(), func(id string) bool { return id == a })
	if b != "" {
		others = strings.Split(b, ",")
	}
	s.variant = a
	base, err := s.only("")
	if err != nil {
		return nil, err
	}
	var arms []compare.Arms
	for _, id := range others {
		if id == a {
			return nil, fmt.Errorf("compare: --a and --b both name %s", id)
		}
		s.variant = id
		head, err := s.only("")
		if err != nil {
			return nil, err
		}
		arms = append(arms, compare.Arms{Base: base, Head: head})
	}
	if arms == nil {
		return nil, fmt.Errorf("%s has one variant, %s, and no other to compare it with", word, a)
	}
	return arms, nil
}

// source is where arms come from.
type source struct {
	*Baseline
	word    string // as people call it, without the variant
	variant string // that they named, empty: none
}

// only returns the arm that is named, or that has an id, or the only one.
func (s source) only(id string) (compare.Arm, error) {
	switch {
	case s.variant != "":
		id = s.variant
	case len(s.IDs()) == 1:
		id = s.IDs()[0]
	case id == "":
		return compare.Arm{}, fmt.Errorf("%s has several variants: name one, such as %s:%s", s.word, s.word, s.IDs()[0])
	}
	arm, ok := s.Arm(s.word, id)
	if !ok {
		return arm, fmt.Errorf("%s has no variant %q, but %s", s.word, id, strings.Join(s.IDs(), " or "))
	}
	return arm, nil
}

// withVariant matches a source with the variant behind it. A drive of Windows is none.
var withVariant = lazyregexp.New(`^(..+):([a-zA-Z][a-zA-Z0-9_-]*)$`)

// source reads what a word stands for.
func (f Finder) source(word string) (source, error) {
	s := source{word: word}
	if m := withVariant.FindStringSubmatch(word); m != nil {
		s.word, s.variant = m[1], m[2]
	}
	var err error
	if s.Baseline, err = f.read(s.word); err == nil && len(s.IDs()) == 0 {
		err = fmt.Errorf("%s has no variants", s.word)
	}
	return s, err
}

// read reads a file, a run's directory, a baseline by its name, or a run.
func (f Finder) read(word string) (*Baseline, error) {
	path := word
	if !filepath.IsAbs(path) {
		path = filepath.Join(f.Dir, path)
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		f.Runs = filepath.Join(path, "..", "..", "..", "..")
		return f.Run(filepath.Base(path))
	case err == nil && filepath.Ext(path) == ".json":
		return Read(path)
	}
	if file, err := Path(word); err == nil {
		b, err := Read(filepath.Join(f.Root, file))
		if !errors.Is(err, fs.ErrNotExist) {
			return b, err
		}
	}
	id, err := rundir.Find(cmp.Or(f.Runs, f.Root), word)
	if err != nil {
		return nil, err
	}
	return f.Run(id)
}

// Run returns what the variants of a run came to.
func (f Finder) Run(id string) (*Baseline, error) {
	run, err := rundir.Open(cmp.Or(f.Runs, f.Root), id, f.Mask)
	if err != nil {
		return nil, err
	}
	defer run.Close()
	return OfRun(run)
}
