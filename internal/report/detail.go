package report

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// What the page holds of one unit is bounded; all of it is in the unit's artifacts.
const (
	maxDetail = 256 << 10 // bytes of JSON that are shown uncut
	maxText   = 16 << 10  // bytes of one text in what is larger
	maxEvents = 2000
	maxDiff   = 512 << 10
)

// detail is what the page shows of a unit when it is opened.
type detail struct {
	Result  json.RawMessage `json:"result"` // a result.Unit, null if it has not run
	Task    *Case           `json:"task,omitempty"`
	Run     json.RawMessage `json:"run,omitempty"` // a trajectory.Run
	Diff    string          `json:"diff,omitempty"`
	AI      []AIScore       `json:"ai,omitempty"`
	Paths   Paths           `json:"paths"`
	Missing []string        `json:"missing,omitempty"`
	// TooLarge names artifacts that were not read at all, Cut what was left out of those that were.
	TooLarge []string `json:"too_large,omitempty"`
	Cut      []string `json:"cut,omitempty"`
}

// pack returns the unit's detail as the page holds it.
func pack(u Unit, task *Case, files artifacts) ([]byte, error) {
	d := detail{Task: task, AI: u.AI, Paths: u.Paths, Missing: u.Missing, TooLarge: u.TooLarge}
	var err error
	if d.Run, err = d.shorten(files.run); err != nil {
		return nil, fmt.Errorf("unit %s: trajectory: %w", u.ID, err)
	}
	res, err := json.Marshal(u.Result)
	if err != nil {
		return nil, fmt.Errorf("unit %s: %w", u.ID, err)
	}
	if d.Result, err = d.shorten(res); err != nil {
		return nil, fmt.Errorf("unit %s: %w", u.ID, err)
	}
	d.Diff = strings.ToValidUTF8(files.diff, "\uFFFD")
	if whole := d.Diff; len(whole) > maxDiff {
		d.Diff = whole[:strings.LastIndexByte(whole[:maxDiff], '\n')+1]
		d.Cut = append(d.Cut, fmt.Sprintf("the diff after %s of %s", size(int64(len(d.Diff))), size(int64(len(whole)))))
	}
	text, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("unit %s: %w", u.ID, err)
	}
	return compress(text)
}

// compressors are large and used once a unit.
var compressors = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

func compress(text []byte) ([]byte, error) {
	z := compressors.Get().(*gzip.Writer)
	defer compressors.Put(z)
	var b bytes.Buffer
	z.Reset(&b)
	if _, err := z.Write(text); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// shorten cuts long texts and lists of events in a JSON value that is large, and notes that it did.
func (d *detail) shorten(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) <= maxDetail {
		return raw, nil
	}
	var v any
	if err := jsonvalue.Decode(raw, &v); err != nil {
		return nil, err
	}
	texts := 0
	if run, ok := v.(map[string]any); ok {
		if events, ok := run["events"].([]any); ok && len(events) > maxEvents {
			run["events"] = events[:maxEvents]
			d.Cut = append(d.Cut, fmt.Sprintf("%s of %s", plural(len(events)-maxEvents, "event"), thousands(int64(len(events)))))
		}
	}
	v = shortenTexts(v, &texts)
	if texts > 0 {
		d.Cut = append(d.Cut, fmt.Sprintf("the end of %s of more than %s", plural(texts, "text"), size(maxText)))
	}
	return json.Marshal(v)
}

func shortenTexts(v any, texts *int) any {
	switch v := v.(type) {
	case string:
		if len(v) > maxText {
			*texts++
		}
		return excerpt.Bytes(v, maxText)
	case []any:
		for i := range v {
			v[i] = shortenTexts(v[i], texts)
		}
	case map[string]any:
		for k := range v {
			v[k] = shortenTexts(v[k], texts)
		}
	}
	return v
}
