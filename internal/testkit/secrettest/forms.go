// Package secrettest writes secrets as programs write them and finds them however they are written, for tests of output
// that must not show any.
//
//	for _, form := range secrettest.Forms(secret) {
//		... // put it where the product could write it down
//	}
//	found, err := secrettest.ScanDir(dir, secret)
//
// Package secret encodes what it looks for. This one decodes what it looks at, and shares no code with it, so that a
// mistake in one is not hidden by the same mistake in the other.
package secrettest

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// Forms returns how a text can be written: as it is, in JSON with and without escapes for HTML, in JSON inside a string
// of JSON, in queries and paths of URLs, in base64 at each of its three alignments, in that for URLs, and in hex.
func Forms(text string) []string {
	inJSON := quoted(text, false)
	all := []string{
		text, inJSON, quoted(text, true), quoted(inJSON, true), url.QueryEscape(text), url.PathEscape(text),
		hex.EncodeToString([]byte(text)), strings.ToUpper(hex.EncodeToString([]byte(text))),
	}
	for _, before := range []string{"", "x", "xy"} {
		all = append(all,
			base64.StdEncoding.EncodeToString([]byte(before+text+"after")),
			base64.RawURLEncoding.EncodeToString([]byte(before+text)))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// quoted returns a string of JSON without its quotes.
func quoted(text string, forHTML bool) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(forHTML)
	if err := e.Encode(text); err != nil {
		panic(err) // a string has always JSON
	}
	line := bytes.TrimSpace(b.Bytes())
	return string(line[1 : len(line)-1])
}
