package human

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/scoring/blind"
)

var (
	//go:embed page/page.html
	pageHTML string
	//go:embed page/page.css
	pageCSS string
	//go:embed page/page.js
	pageJS string
)

const (
	maxPage = 24 << 20 // about how many bytes of work the page shows
	maxUnit = 256 << 10
	// minUnit is how many bytes a unit needs to be of use. Units for which there is less room are left out.
	minUnit = 8 << 10
)

// pageData is what the page's script works with.
type pageData struct {
	RunID string `json:"run_id"`
	Name  string `json:"name"`
	Tasks []Task `json:"tasks"`
	// Entries are the variants in the order of shuffled.
	Entries []entry `json:"entries"`
	// Key holds the variants' ids in that order: JSON in base64, so that they are not read by accident.
	Key string `json:"key"`
	// LeftOut counts the units for which there was no room.
	LeftOut int `json:"left_out"`
}

// entry is a variant without its name.
type entry struct {
	Units []shownUnit `json:"units"`
}

// shownUnit is the work of one unit, without its verdict.
type shownUnit struct {
	Case  string `json:"case"`
	Trial int    `json:"trial"`
	// Ended reports whether the unit ran to its end. If not, there is nothing to show.
	Ended bool `json:"ended"`
	blind.Sample
}

// shuffled returns the ids of the variants in an order that the run's id decides.
func shuffled(runID string, variants []rundir.Variant) []string {
	ids := make([]string, len(variants))
	rank := make(map[string][]byte)
	for i, v := range variants {
		ids[i] = v.ID
		sum := sha256.Sum256([]byte(runID + "\x00" + v.ID))
		rank[v.ID] = sum[:]
	}
	slices.SortFunc(ids, func(a, b string) int { return cmp.Or(bytes.Compare(rank[a], rank[b]), cmp.Compare(a, b)) })
	return ids
}

func renderPage(r *rundir.Run, units []result.Unit) ([]byte, error) {
	data, err := newPageData(r, units)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(data) // escapes what could end the script element
	if err != nil {
		return nil, err
	}
	policy := fmt.Sprintf("default-src 'none'; style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'",
		digest(pageCSS), digest(pageJS))
	page := []byte(pageHTML)
	for _, part := range []struct{ mark, text string }{
		{"{{policy}}", policy}, {"{{style}}", pageCSS}, {"{{script}}", pageJS}, {"{{data}}", string(text)},
	} {
		page = bytes.Replace(page, []byte(part.mark), []byte(part.text), 1)
	}
	return page, nil
}

// digest returns the source by which a content security policy allows an inline text.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

func newPageData(r *rundir.Run, units []result.Unit) (pageData, error) {
	m := r.Manifest()
	ended := make(map[string]result.Unit)
	for _, u := range units {
		ended[u.ID] = u
	}
	ids := shuffled(m.RunID, m.Variants)
	key, err := json.Marshal(ids)
	if err != nil {
		return pageData{}, err
	}
	data := pageData{RunID: m.RunID, Name: m.Name, Tasks: tasksOf(m), Key: base64.StdEncoding.EncodeToString(key)}
	// All variants show the same cases and trials, so that no variant has an advantage.
	room := max(1, maxPage/minUnit/max(1, len(ids)))
	limit := min(maxUnit, maxPage/max(1, min(len(m.Units), room*len(ids))))
	names := blind.NamesOf(m)
	for _, id := range ids {
		e := entry{Units: []shownUnit{}}
		for _, unit := range m.Units {
			name := parseUnit(unit)
			if name.variant != id {
				continue
			}
			if len(e.Units) == room {
				data.LeftOut++
				continue
			}
			shown, err := show(r, name, ended[unit], names, limit)
			if err != nil {
				return pageData{}, err
			}
			e.Units = append(e.Units, shown)
		}
		data.Entries = append(data.Entries, e)
	}
	return data, nil
}

// show returns the work of a unit; the zero unit is one that has not ended.
func show(r *rundir.Run, name unitName, u result.Unit, names *blind.Names, limit int) (shownUnit, error) {
	shown := shownUnit{Case: name.caseID, Trial: name.trial, Ended: u.ID != ""}
	if !shown.Ended {
		return shown, nil
	}
	var err error
	shown.Sample, err = blind.SampleOf(r, u, names, limit)
	return shown, err
}
