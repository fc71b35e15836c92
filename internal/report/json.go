package report

import "github.com/sdd-eval/sdd-eval/internal/jsonvalue"

// JSON returns report.json, which docs/reports.md describes.
func (rep *Report) JSON() ([]byte, error) {
	data, err := jsonvalue.MarshalIndent(rep, "", "  ")
	return append(data, '\n'), err
}
