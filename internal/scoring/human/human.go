// Package human lets people score the variants of a run without knowing which is which, and keeps their scores. What a
// sample of the work shows, and which names it hides, belongs in package blind.
package human

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
)

const (
	scoresFile = "human-scores.json"
	maxScores  = 64 << 20
)

// Rating is one person's score for one variant.
type Rating struct {
	Score float64 `json:"score"` // 0..10
	Notes string  `json:"notes"`
}

// Label is one person's word on one unit, to compare judges with.
type Label struct {
	Solved bool   `json:"solved"`
	Notes  string `json:"notes,omitempty"`
}

// Scores are one person's ratings of all variants of a run, and labels of units. There may be none of either.
type Scores struct {
	Rater    string            `json:"rater"`
	Variants map[string]Rating `json:"variants"`        // by id
	Units    map[string]Label  `json:"units,omitempty"` // by case/variant/trial
	// Replaced is true if Import replaced earlier scores of the same rater.
	Replaced bool `json:"-"`
}

// stored is human-scores.json.
type stored struct {
	Version int      `json:"version"`
	Raters  []Scores `json:"raters"` // sorted by name
}

// Load returns the scores that were imported into a run, sorted by rater. A file of scores that was damaged is an
// error.
func Load(r *rundir.Run) ([]Scores, error) {
	var s stored
	err := r.ReadJSON(scoresFile, maxScores, &s)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := s.check(r.Manifest()); err != nil {
		return nil, fmt.Errorf("read %s: %w", filepath.Join(r.Dir(), scoresFile), err)
	}
	return s.Raters, nil
}

func (s *stored) check(m rundir.Manifest) error {
	variants, units := m.Variants, unitNames(m)
	if s.Version != 1 {
		return fmt.Errorf("unsupported version %d", s.Version)
	}
	last := ""
	for _, one := range s.Raters {
		if one.Rater <= last {
			return fmt.Errorf("duplicate, unsorted or unnamed rater %q", one.Rater)
		}
		last = one.Rater
		for name := range one.Units {
			if !units[name] {
				return fmt.Errorf("rater %q labelled the unit %q, which the run does not have", one.Rater, name)
			}
		}
		if len(one.Variants) == 0 && len(one.Units) > 0 {
			continue
		}
		if len(one.Variants) != len(variants) {
			return fmt.Errorf("rater %q scored %d variants, but the run has %d", one.Rater, len(one.Variants),
				len(variants))
		}
		for _, v := range variants {
			rating, ok := one.Variants[v.ID]
			if !ok {
				return fmt.Errorf("rater %q did not score variant %q", one.Rater, v.ID)
			}
			if !inRange(rating.Score) {
				return fmt.Errorf("rater %q: variant %q: score %v is outside 0..10", one.Rater, v.ID, rating.Score)
			}
		}
	}
	return nil
}

// unitNames are the names of a run's units, without that of the playbook.
func unitNames(m rundir.Manifest) map[string]bool {
	names := make(map[string]bool, len(m.Units))
	for _, id := range m.Units {
		u := parseUnit(id)
		names[u.String()] = true
	}
	return names
}

func inRange(score float64) bool { return score >= 0 && score <= 10 }

// maxFile is the size of the largest file of one person's scores, in bytes.
const maxFile = 4 << 20

// Import adds a file of one person's scores to those of the run. The file was saved by the page, or is a filled-in
// template. It replaces earlier scores of the same rater. If anything in the file is wrong, Import changes nothing and
// returns an error that lists all problems.
func Import(r *rundir.Run, file string) (Scores, error) {
	data, err := disk.ReadRegular(file, maxFile)
	if err != nil {
		return Scores{}, fmt.Errorf("import scores: %w", err)
	}
	scores, err := parseScores(file, data, r.Manifest())
	if err != nil {
		return Scores{}, fmt.Errorf("import scores: %w", err)
	}
	if err := scores.add(r); err != nil {
		return Scores{}, fmt.Errorf("import scores: %w", err)
	}
	return scores, nil
}

// add stores the scores. Several people may import at the same time without losing scores.
func (s *Scores) add(r *rundir.Run) (err error) {
	unlock, err := lockScores(r)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	all, err := Load(r)
	if err != nil {
		return err
	}
	i, found := slices.BinarySearchFunc(all, s.Rater, func(have Scores, rater string) int {
		return strings.Compare(have.Rater, rater)
	})
	s.Replaced = found
	if found {
		all[i] = *s
	} else {
		all = slices.Insert(all, i, *s)
	}
	return writeJSON(r, scoresFile, stored{Version: 1, Raters: all})
}

// maxWait is how long an import waits for another one, which takes milliseconds.
const maxWait = 5 * time.Second

// lockScores blocks other imports until unlock. It does not use the run's lock, since people score runs that are still
// going on.
func lockScores(r *rundir.Run) (unlock func() error, err error) {
	run, path := disk.Tree(r.Dir()), filepath.Join(r.Dir(), "."+scoresFile+".lock")
	for end := time.Now().Add(maxWait); ; time.Sleep(10 * time.Millisecond) {
		file, err := run.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err == nil {
			return func() error { return errors.Join(file.Close(), run.Remove(path)) }, nil
		}
		if !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrPermission) { // Windows: it is just being removed
			return nil, err
		}
		if time.Now().After(end) {
			return nil, fmt.Errorf("another import holds %s; if none is running, remove that file: %w",
				path, err)
		}
	}
}

const (
	anonymous = "anonymous"
	maxRater  = 256    // bytes
	maxNotes  = 20_000 // bytes for one variant
)

// parseScores reads a file of scores strictly. Its error lists all problems, each with file, line and key.
func parseScores(file string, data []byte, m rundir.Manifest) (Scores, error) {
	p := &parser{file: file, data: bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))}
	if err := jsonvalue.DecodeStrict(p.data, new(json.RawMessage), 0); err != nil {
		return Scores{}, jsonvalue.In(file, err)
	}
	s := Scores{Rater: anonymous, Variants: make(map[string]Rating)}
	seen := false
	p.members(p.root(), "", func(at value, key string) {
		switch key {
		case "file": // for people
			p.text(at, len(p.data))
		case "run_id":
			if id, ok := p.text(at, maxRater); ok && id != m.RunID {
				p.fail(at, "these are scores of run %s, not of %s", id, m.RunID)
			}
		case "rater":
			p.rater(at, &s)
		case "variants":
			seen = true
			p.variants(at, &s, m)
		case "units":
			seen = true
			p.units(at, &s, m)
		default:
			p.fail(at, "unknown key; available: file, run_id, rater, variants, units")
		}
	})
	if !seen || len(p.errs) == 0 && len(s.Variants)+len(s.Units) == 0 {
		p.errs = append(p.errs, fmt.Errorf("%s: variants: missing", file))
	}
	if len(p.errs) == 0 && s.untouched() {
		p.errs = append(p.errs,
			fmt.Errorf("%s: every score is 0 and there are no notes, as in the template; "+
				"if you mean it, say why in the notes of a variant", file))
	}
	if err := errors.Join(p.errs...); err != nil {
		return Scores{}, err
	}
	return s, nil
}

// untouched reports whether the scores are those of the template.
func (s Scores) untouched() bool {
	if len(s.Units) > 0 {
		return false
	}
	for _, rating := range s.Variants {
		if rating.Score != 0 || strings.TrimSpace(rating.Notes) != "" {
			return false
		}
	}
	return true
}

func (p *parser) rater(at value, s *Scores) {
	text, ok := p.text(at, maxRater)
	if !ok {
		return
	}
	text = strings.TrimSpace(text)
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		p.fail(at, "must not contain control characters")
		return
	}
	if text != "" {
		s.Rater = text
	}
}

func (p *parser) variants(at value, s *Scores, m rundir.Manifest) {
	known := make(map[string]bool)
	var ids []string
	for _, v := range m.Variants {
		known[v.ID] = true
		ids = append(ids, v.ID)
	}
	given := make(map[string]bool)
	ok := p.members(at, "variants.", func(at value, id string) {
		if !known[id] {
			p.fail(at, "unknown variant; available: %s", strings.Join(ids, ", "))
			return
		}
		given[id] = true
		s.Variants[id] = p.rating(at)
	})
	if !ok {
		return
	}
	for _, id := range ids {
		if !given[id] {
			p.fail(at, "variant %q is missing", id)
		}
	}
}

func (p *parser) units(at value, s *Scores, m rundir.Manifest) {
	s.Units = make(map[string]Label)
	known := unitNames(m)
	p.members(at, "units.", func(at value, name string) {
		if !known[name] {
			p.fail(at, "unknown unit; want case/variant/trial of one of this run")
			return
		}
		s.Units[name] = p.label(at)
	})
}

func (p *parser) label(at value) (l Label) {
	l.Notes = p.opinion(at, "solved", func(raw json.RawMessage) string {
		if err := json.Unmarshal(raw, &l.Solved); err != nil || string(raw) == "null" {
			return "is not true or false"
		}
		return ""
	})
	return l
}

func (p *parser) rating(at value) (r Rating) {
	r.Notes = p.opinion(at, "score", func(raw json.RawMessage) string {
		if err := json.Unmarshal(raw, &r.Score); err != nil || string(raw) == "null" {
			return "is not a number from 0 to 10"
		}
		if !inRange(r.Score) {
			return "is outside 0..10"
		}
		return ""
	})
	return r
}

// opinion reads an object that must have a key, for which read says what is wrong with its value, and may have notes,
// which it returns.
func (p *parser) opinion(at value, needed string, read func(json.RawMessage) string) (notes string) {
	given := false
	ok := p.members(at, at.key+".", func(at value, key string) {
		switch key {
		case needed:
			given = true
			if wrong := read(at.raw); wrong != "" {
				p.fail(at, "%s %s", at.raw[:min(len(at.raw), 40)], wrong)
			}
		case "notes":
			notes, _ = p.text(at, maxNotes)
		default:
			p.fail(at, "unknown key; available: %s, notes", needed)
		}
	})
	if ok && !given {
		p.fail(at, "%s is missing", needed)
	}
	return notes
}

// parser reads JSON with positions and collects errors.
type parser struct {
	file string
	data []byte
	errs []error
}

// value is a value in the file.
type value struct {
	key string // path of keys, empty at the top
	at  int    // offset in bytes
	raw json.RawMessage
}

func (p *parser) line(offset int) int {
	return 1 + bytes.Count(p.data[:min(offset, len(p.data))], []byte("\n"))
}

func (p *parser) fail(at value, format string, args ...any) {
	where := fmt.Sprintf("%s:%d: ", p.file, p.line(at.at))
	if at.key != "" {
		where += at.key + ": "
	}
	p.errs = append(p.errs, errors.New(where+fmt.Sprintf(format, args...)))
}

func (p *parser) root() value {
	raw := bytes.TrimSpace(p.data)
	return value{at: bytes.Index(p.data, raw), raw: raw}
}

// members calls visit for each member of an object. It reports false if the value is not an object.
func (p *parser) members(of value, prefix string, visit func(at value, key string)) bool {
	decoder := json.NewDecoder(bytes.NewReader(of.raw))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		p.fail(of, "must be an object")
		return false
	}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			p.fail(of, "%v", err)
			return false
		}
		key, _ := token.(string)
		member := value{key: prefix + excerpt.Name(key, 80)}
		if err := decoder.Decode(&member.raw); err != nil {
			p.fail(of, "%v", err)
			return false
		}
		member.at = of.at + int(decoder.InputOffset()) - len(member.raw)
		visit(member, key)
	}
	return true
}

// text reads a string of at most limit bytes.
func (p *parser) text(at value, limit int) (string, bool) {
	var text *string
	if err := json.Unmarshal(at.raw, &text); err != nil || text == nil {
		p.fail(at, "must be a string")
		return "", false
	}
	if len(*text) > limit {
		p.fail(at, "must not exceed %d bytes", limit)
		return "", false
	}
	return *text, true
}
