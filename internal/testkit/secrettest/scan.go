package secrettest

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"html"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Scan returns which of the texts are in data, in any of their [Forms], and escaped once more in HTML or JSON. In base64
// and hex it finds texts of at least 8 bytes.
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

// ScanDir is [Scan] for everything below dir: what files hold, what they are called, and where links lead. What it
// returns says for each text that it found where that is.
func ScanDir(dir string, texts ...string) (found []string, err error) {
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		held, err := content(path, e)
		if err != nil {
			return err
		}
		for what, data := range map[string]string{"in the name": e.Name(), "in the content": held} {
			for _, text := range Scan(data, texts...) {
				found = append(found, fmt.Sprintf("%q %s of %q", text, what, rel))
			}
		}
		return nil
	})
	slices.Sort(found)
	return found, err
}

// content returns what a file holds, or where a link leads.
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

// views returns data and what it means if it is text of JSON, a URL or HTML, and what stands in base64 and hex in each of
// these.
func views(data string) []string {
	path := unescapePath(data)
	query := unescapePath(strings.ReplaceAll(data, "+", " "))
	escaped := []string{data, html.UnescapeString(data), path, query}
	for _, view := range slices.Clone(escaped) {
		once := unescapeJSON(view)
		escaped = append(escaped, once, unescapeJSON(once))
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
	jsonEscape = regexp.MustCompile(`\\u[0-9A-Fa-f]{4}|\\["\\/bfnrt]`)
)

func unescapePath(s string) string {
	return percent.ReplaceAllStringFunc(s, func(escape string) string {
		n, _ := strconv.ParseUint(escape[1:], 16, 8) // the expression lets nothing else in
		return string([]byte{byte(n)})
	})
}

func unescapeJSON(s string) string {
	return jsonEscape.ReplaceAllStringFunc(s, func(escape string) string {
		if escape == `\/` {
			return "/"
		}
		meaning, err := strconv.Unquote(`"` + escape + `"`)
		if err != nil {
			return escape // half a pair of surrogates
		}
		return meaning
	})
}

// encoding is one that hides a text among characters of an alphabet.
type encoding struct {
	alphabet string
	size     int // characters that belong together
	least    int // characters that 8 bytes need, wherever they begin
	decode   func(string) []byte
}

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

var encodings = []encoding{
	{alphabet: letters + "0123456789+/-_", size: 4, least: 11, decode: decodeBase64},
	{alphabet: "0123456789abcdefABCDEF", size: 2, least: 16, decode: decodeHex},
}

// decoded returns what the runs of the alphabet in text mean, wherever in them the text begins.
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
	data, _ := base64.RawStdEncoding.DecodeString(run) // the alphabet lets nothing else in
	return data
}

func decodeHex(run string) []byte {
	data, _ := hex.DecodeString(run[:len(run)/2*2])
	return data
}
