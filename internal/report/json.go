package report

import (
	"bytes"
	"encoding/json"
)

// JSON returns report.json, which docs/reports.md describes.
func (rep *Report) JSON() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(rep); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
