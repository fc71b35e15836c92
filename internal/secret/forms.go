package secret

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// forms returns the forms in which a value may be written, the value itself included, without duplicates. word means
// that the value is found only as a whole word; in base64 it must then be encoded by itself.
func forms(value string, word bool) []string {
	inHex := hex.EncodeToString([]byte(value))
	all := append(escapedForms(value), inHex, strings.ToUpper(inHex))
	for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		if word {
			all = append(all, e.EncodeToString([]byte(value)))
			continue
		}
		for before := range 3 {
			all = append(all, base64Form(e, value, before))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// base64Form returns the characters of base64 that depend only on the value, if that many bytes, modulo 3, are encoded
// before it.
func base64Form(e *base64.Encoding, value string, before int) string {
	all := e.EncodeToString(append(make([]byte, before), value...))
	first := (before*8 + 5) / 6
	last := (before + len(value)) * 8 / 6
	return all[first:last]
}

// escapedForms returns the value and its escaped forms.
func escapedForms(value string) []string {
	inJSON := distinct(append(jsonForms(value), value))
	all := slices.Concat(urlForms(value), reprForms(value))
	for _, once := range inJSON {
		all = append(all, jsonForms(once)...) // JSON in a string of JSON
		all = append(all, htmlForms(once)...) // and in a page
	}
	for _, once := range distinct(append(htmlForms(value), reprForms(value)...)) {
		all = append(all, jsonForms(once)...)
	}
	return append(all, inJSON...)
}

func distinct(all []string) []string {
	slices.Sort(all)
	return slices.Compact(all)
}

// htmlForms returns a text as it is escaped for XML and HTML: by Go, by others, and where quotes need no escape.
func htmlForms(text string) []string {
	if !strings.ContainsAny(text, "&<>\"'\r\n\t") {
		return []string{text}
	}
	var inXML strings.Builder
	_ = xml.EscapeText(&inXML, []byte(text)) // a Builder takes everything
	return []string{inXML.String(), html.EscapeString(text), named.Replace(text), plainHTML.Replace(text)}
}

var (
	named     = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#x27;")
	plainHTML = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
)

// reprForms returns a text as Python's repr writes it between the quotes, and as those of other languages do that use
// single quotes.
func reprForms(text string) []string {
	escaped := reprEscapes.Replace(text)
	all := []string{escaped, strings.ReplaceAll(escaped, "'", `\'`)}
	for _, s := range slices.Clone(all) {
		all = append(all, hexBytes(s))
	}
	return all
}

var reprEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`)

// hexBytes writes the bytes beyond ASCII as the repr of bytes does.
func hexBytes(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if s[i] < 0x80 {
			b.WriteByte(s[i])
		} else {
			fmt.Fprintf(&b, `\x%02x`, s[i])
		}
	}
	return b.String()
}

// jsonForms returns a text as writers of JSON, and Go's %q, write it between the quotes.
func jsonForms(text string) []string {
	escapeHTML, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string can always be marshalled
	}
	html := unquoted(string(escapeHTML))
	plain := unquoted(string(appendQuoted(nil, []byte(text))))
	slashes := strings.ReplaceAll(plain, "/", `\/`)
	return []string{
		html, plain, slashes,
		ascii(html, `\u%04x`), ascii(plain, `\u%04x`), ascii(slashes, `\u%04x`),
		ascii(html, `\u%04X`), dotNet.Replace(ascii(plain, `\u%04X`)),
		unquoted(strconv.Quote(text)), unquoted(strconv.QuoteToASCII(text)),
	}
}

// dotNet escapes the characters that .NET escapes in JSON although it need not.
var dotNet = strings.NewReplacer(
	`\"`, `\u0022`, "&", `\u0026`, "'", `\u0027`, "+", `\u002B`, "<", `\u003C`, ">", `\u003E`, "`", `\u0060`,
)

func unquoted(s string) string { return s[1 : len(s)-1] }

// ascii replaces characters beyond ASCII by escapes in the format.
func ascii(s, format string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r < 0x80:
			b.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&b, format, r)
		default:
			r -= 0x10000
			fmt.Fprintf(&b, format+format, 0xd800+r>>10, 0xdc00+r&0x3ff)
		}
	}
	return b.String()
}

// urlForms returns a text as it is escaped for URLs: by Go for queries and paths, by JavaScript's encodeURIComponent
// and by Python's quote, each with hex digits of either case.
func urlForms(text string) []string {
	query := url.QueryEscape(text)
	spaces := strings.ReplaceAll(query, "+", "%20")
	all := []string{
		query, spaces, url.PathEscape(text), strings.ReplaceAll(spaces, "%2F", "/"),
		strings.NewReplacer("%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*").Replace(spaces),
	}
	for _, s := range slices.Clone(all) {
		all = append(all, lowerEscapes(s))
	}
	return all
}

// lowerEscapes writes the hex digits of %XX in lower case.
func lowerEscapes(s string) string {
	b := []byte(s)
	for i := range b {
		if i > 0 && b[i-1] == '%' || i > 1 && b[i-2] == '%' {
			b[i] |= 0x20 // digits have that bit
		}
	}
	return string(b)
}
