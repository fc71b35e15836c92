// Package secrettest writes secrets as programs write them and finds them however they are written, for tests of output
// that must not show any.
//
//	for _, form := range secrettest.Forms(secret) {
//		... // put it where the product could write it down
//	}
//	found, err := secrettest.ScanDir(dir, secret)
//
// Package secret encodes the secrets that it looks for. This package decodes the text that it searches, and shares no
// code with secret, so that a mistake in one is not hidden by the same mistake in the other.
package secrettest

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Forms returns how a text can be written: as it is, in JSON with and without escapes for HTML, in JSON inside a string
// of JSON, in HTML, as Python's repr, in queries and paths of URLs, in base64 at each of its three alignments, in that
// for URLs, and in hex.
func Forms(text string) []string {
	inJSON := quoted(text, false)
	all := []string{
		text, inJSON, quoted(text, true), quoted(inJSON, true), html.EscapeString(text),
		repr(text), url.QueryEscape(text), url.PathEscape(text),
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

// repr returns a text as Python does, between single quotes.
func repr(text string) string {
	return strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\t", `\t`, "'", `\'`).Replace(text)
}

// quoted returns a text as a JSON string without its quotes.
func quoted(text string, forHTML bool) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(forHTML)
	if err := e.Encode(text); err != nil {
		panic(err) // a string can always be encoded
	}
	line := bytes.TrimSpace(b.Bytes())
	return string(line[1 : len(line)-1])
}

// Scan returns which of the texts are in data, in any of their [Forms], and escaped once more in HTML or JSON. In
// base64 and hex it finds texts of at least 8 bytes.
func Scan(data string, texts ...string) []string {
	var found []string
	for _, view := range views(data) {
		for _, text := range texts {
			if strings.Contains(view, text) && !slices.Contains(found, text) {
				found = append(found, text)
			}
		}
	}
	return found
}

// ScanDir is [Scan] for everything below dir: the contents and names of files, and the targets of links. It returns a
// line for each text that it found, with the place.
func ScanDir(dir string, texts ...string) (found []string, err error) {
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		body, err := content(path, e)
		if err != nil {
			return err
		}
		for what, data := range map[string]string{"in the name": e.Name(), "in the content": body} {
			for _, text := range Scan(data, texts...) {
				found = append(found, fmt.Sprintf("%q %s of %q", text, what, rel))
			}
		}
		return nil
	})
	slices.Sort(found)
	return found, err
}

// content returns the content of a file, or the target of a link.
func content(path string, e fs.DirEntry) (string, error) {
	switch {
	case e.Type()&fs.ModeSymlink != 0:
		return os.Readlink(path)
	case e.Type().IsRegular():
		data, err := os.ReadFile(path)
		return string(data), err
	}
	return "", nil
}

// views returns data as it is, and decoded as JSON, as a URL and as HTML, and what each of these has in base64 and hex.
func views(data string) []string {
	path := unescapePath(data)
	query := unescapePath(strings.ReplaceAll(data, "+", " "))
	escaped := []string{data, html.UnescapeString(data), path, query}
	for _, view := range slices.Clone(escaped) {
		once := unescapeJSON(view)
		escaped = append(escaped, once, unescapeJSON(once), html.UnescapeString(once))
	}
	slices.Sort(escaped)
	all := slices.Compact(escaped)
	for _, view := range slices.Clone(all) {
		for _, e := range encodings {
			all = append(all, e.decoded(view)...)
		}
	}
	return all
}

var (
	percent    = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)
	jsonEscape = regexp.MustCompile(`\\u[0-9A-Fa-f]{4}|\\["'\\/bfnrt]`)
)

func unescapePath(s string) string {
	return percent.ReplaceAllStringFunc(s, func(escape string) string {
		n, _ := strconv.ParseUint(escape[1:], 16, 8) // the expression matches only hex digits
		return string([]byte{byte(n)})
	})
}

func unescapeJSON(s string) string {
	return jsonEscape.ReplaceAllStringFunc(s, func(escape string) string {
		if escape == `\/` || escape == `\'` {
			return escape[1:]
		}
		meaning, err := strconv.Unquote(`"` + escape + `"`)
		if err != nil {
			return escape // half a pair of surrogates
		}
		return meaning
	})
}

// encoding is an encoding of bytes in the characters of an alphabet.
type encoding struct {
	alphabet string
	size     int // characters that are decoded together
	least    int // characters that 8 bytes take at least
	decode   func(string) []byte
}

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

var encodings = []encoding{
	{alphabet: letters + "0123456789+/-_", size: 4, least: 11, decode: decodeBase64},
	{alphabet: "0123456789abcdefABCDEF", size: 2, least: 16, decode: decodeHex},
}

// decoded returns the runs of the alphabet in text, decoded from each place at which a text could begin.
func (e encoding) decoded(text string) (all []string) {
	for _, run := range strings.FieldsFunc(text, func(r rune) bool { return !strings.ContainsRune(e.alphabet, r) }) {
		if len(run) < e.least {
			continue
		}
		for at := range e.size {
			all = append(all, string(e.decode(run[at:])))
		}
	}
	return all
}

var standard = strings.NewReplacer("-", "+", "_", "/")

func decodeBase64(run string) []byte {
	run = standard.Replace(run)
	if len(run)%4 == 1 {
		run = run[:len(run)-1]
	}
	data, _ := base64.RawStdEncoding.DecodeString(run) // the run has only characters of the alphabet
	return data
}

func decodeHex(run string) []byte {
	data, _ := hex.DecodeString(run[:len(run)/2*2])
	return data
}

// Secrets are the secrets of an account, by the names of their variables: one that every writer has to escape, one that
// can be a file's name, a part of that one, one that overlaps it, and one of two lines.
var Secrets = map[string]string{
	"ANTHROPIC_AUTH_TOKEN": "sk-" + `test-q"uo\te/plus+é<&>'and spaces`,
	"SERVICE_TOKEN":        "sk-" + "test-file-name-0123456789",
	"INNER_TOKEN":          "name-0123456",
	"OVERLAP_TOKEN":        "0123456789-and-further",
	"SIGNING_KEY":          "first line of a key\nsecond line of a key",
}

// Settings are the account's variables that are not secrets. Where they are shown, not everything is masked.
var Settings = map[string]string{
	"X": "1", "ANTHROPIC_MODEL": "claude-test-model-4", "ANTHROPIC_BASE_URL": "http://127.0.0.1:1/base/v1",
}

// Preset returns the account as a preset for Claude, in TOML.
func Preset(name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[groups.%s]\n", name)
	for _, variables := range []map[string]string{Secrets, Settings} {
		for _, name := range slices.Sorted(maps.Keys(variables)) {
			fmt.Fprintf(&b, "%s = %s\n", name, strconv.Quote(variables[name]))
		}
	}
	return b.String()
}

// Texts returns the texts that may be shown nowhere: the secrets, the lines of those with several, and the halves of
// long ones, because a text that is cut before it is masked shows part of a secret.
func Texts() (all []string) {
	for _, value := range Secrets {
		all = append(all, value)
		if lines := strings.Split(value, "\n"); len(lines) > 1 {
			all = append(all, lines...)
		}
		if n := len(value); n >= 24 {
			all = append(all, value[:n/2], value[n/2:])
		}
	}
	return all
}

// AllForms returns all secrets in all their forms, and the settings, in one text of many lines.
func AllForms() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(Secrets)) {
		for _, form := range Forms(Secrets[name]) {
			fmt.Fprintf(&b, "%s (%s)\n", form, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(Settings)) {
		fmt.Fprintf(&b, "%s=%s\n", name, Settings[name])
	}
	return b.String()
}
