package human

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
)

const (
	anonymous = "anonymous"
	maxRater  = 256    // bytes
	maxNotes  = 20_000 // bytes for one variant
)

// parseScores reads a file of scores, strictly. Its error joins all that is wrong, each with file, line and key.
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
		default:
			p.fail(at, "unknown key; known are file, run_id, rater and variants")
		}
	})
	if !seen {
		p.errs = append(p.errs, fmt.Errorf("%s: variants: missing", file))
	}
	if len(p.errs) == 0 && s.untouched() {
		p.errs = append(p.errs, fmt.Errorf("%s: every score is 0 and there are no notes: this looks like the template as it was; "+
			"if you mean it, say why in the notes of a variant", file))
	}
	if err := errors.Join(p.errs...); err != nil {
		return Scores{}, err
	}
	return s, nil
}

// untouched reports whether nothing suggests that a person filled in the scores.
func (s Scores) untouched() bool {
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
		p.fail(at, "a name has no control characters")
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
			p.fail(at, "unknown variant; the run has %s", strings.Join(ids, ", "))
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

func (p *parser) rating(at value) Rating {
	var rating Rating
	scored := false
	ok := p.members(at, at.key+".", func(at value, key string) {
		switch key {
		case "score":
			scored = true
			if err := json.Unmarshal(at.raw, &rating.Score); err != nil || string(at.raw) == "null" {
				p.fail(at, "%s is not a number from 0 to 10", at.raw[:min(len(at.raw), 40)])
			} else if !inRange(rating.Score) {
				p.fail(at, "%s is outside 0..10", at.raw)
			}
		case "notes":
			rating.Notes, _ = p.text(at, maxNotes)
		default:
			p.fail(at, "unknown key; known are score and notes")
		}
	})
	if ok && !scored {
		p.fail(at, "score is missing")
	}
	return rating
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
	at  int    // where it begins, in bytes
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

// members calls visit for each member of an object. A value that is no object is a failure.
func (p *parser) members(of value, prefix string, visit func(at value, key string)) bool {
	decoder := json.NewDecoder(bytes.NewReader(of.raw))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		p.fail(of, "not an object")
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
		p.fail(at, "not a text")
		return "", false
	}
	if len(*text) > limit {
		p.fail(at, "more than %d bytes", limit)
		return "", false
	}
	return *text, true
}
