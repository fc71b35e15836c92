package cassette

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

// plainBody is how encoding/json decodes the fields of an event.
func plainBody(name, fields string) (trajectory.Body, error) {
	return trajectory.DecodeBody(name, func(v any) error {
		d := json.NewDecoder(strings.NewReader(fields))
		d.UseNumber()
		d.DisallowUnknownFields()
		if err := d.Decode(v); err != nil {
			return err
		}
		_, err := d.Token()
		if err == nil || d.More() {
			return bytes.ErrTooLarge // anything: there is more than one value
		}
		return nil
	})
}

// quickSeeds are fields of events, and whether they are decoded by hand.
var quickSeeds = []struct {
	name, event, fields string
	quick               bool
}{
	{"text", "prompt", `{"text":"Do it."}`, true},
	{"escapes", "message", `{"text":"a\"b\\c\n\t\u001b[0m\u2028ü"}`, true},
	{"an escaped quote at the end", "message", `{"text":"\""}`, true},
	{"a pair of surrogates", "message", `{"text":"\ud83d\ude00"}`, false},
	{"half a pair", "message", `{"text":"\ud83d"}`, false},
	{"white space", "message", `{"text": "a"}`, false},
	{"an unknown field", "message", `{"texts":"a"}`, false},
	{"a field in capitals", "message", `{"Text":"a"}`, false},
	{"null", "message", `{"text":null}`, false},
	{"not UTF-8", "message", "{\"text\":\"\xff\"}", false},
	{"a line break in a string", "message", "{\"text\":\"\n\"}", false},
	{"no end", "message", `{"text":"a`, false},
	{"more than one value", "message", `{"text":"a"}{}`, false},
	{"a field twice", "message", `{"text":"a","text":"b"}`, false},
	{"a key of an input twice", "tool_call", `{"id":"c","input":{"a":1,"a":2}}`, false},
	{"a field too few", "tool_result", `{"id":"c","output":1}`, false},
	{
		"a call", "tool_call",
		`{"id":"c","parent":"b","name":"Read","kind":"read","title":"t",` +
			`"input":{"a":[1,-2.5e3,true,null,{}],"b":"x"},"locations":[{"path":"p","line":7},{"path":"q"}]}`, true,
	},
	{"no location", "tool_call", `{"id":"c","locations":[]}`, true},
	{
		"locations twice", "tool_call", `{"id":"c","locations":[{"path":"p","line":7}],"locations":[{"path":"q"}]}`,
		false,
	},
	{"a comma too many", "tool_call", `{"id":"c","input":[1,]}`, false},
	{"a number with a space", "tool_call", `{"id":"c","input":[ 1]}`, false},
	{"a number with a zero before it", "tool_call", `{"id":"c","input":01}`, false},
	{"half a number", "tool_call", `{"id":"c","input":1.}`, false},
	{"a word that is none", "tool_call", `{"id":"c","input":nul}`, false},
	{
		"nested too deep", "tool_call",
		`{"id":"c","input":` + strings.Repeat("[", maxNested) + strings.Repeat("]", maxNested) + `}`, false,
	},
	{
		"a result", "tool_result",
		`{"id":"c","status":"completed","output":{"content":[{"type":"text","text":"x"}]},` +
			`"printed":"p","exit_code":-1}`, true,
	},
	{"an exit code that is no whole number", "tool_result", `{"id":"c","status":"failed","exit_code":1.0}`, false},
	{"a result with diffs", "tool_result", `{"id":"c","status":"completed","diffs":[{"path":"p","new":"n"}]}`, false},
	{"a file that is read", "file_read", `{"path":"p","line":1,"limit":2,"text":"t","error":"e"}`, true},
	{"a file that is written", "file_write", `{"path":"p","text":"t","error":"e"}`, true},
	{"a kind that is rare", "stop", `{"reason":"end_turn"}`, false},
	{"no fields", "message", `{}`, false},
	{"with its line break", "message", "{\"text\":\"a\"}\n", true},
	{"many lists", "tool_call", `{"id":"c","input":[` + strings.Repeat("[],", 2*maxNested) + `[]]}`, true},
	{"no value", "tool_call", `{"id":"c","input":}`, false},
	{"no end of a number", "tool_call", `{"id":"c","input":1`, false},
	{"no value of an unknown field", "file_write", `{"path":"p","x":}`, false},
	{"an unknown escape", "message", `{"text":"a\xb"}`, false},
	{"two texts with escapes", "file_write", `{"path":"a\n","text":"b\n"}`, true},
	{"a control character in a longer text", "message", "{\"text\":\"0123\x024567\"}", false},
	{"a control character as the eighth", "message", "{\"text\":\"0123456\x1f789abcdef\"}", false},
}

func TestQuick(t *testing.T) {
	for _, tt := range quickSeeds {
		t.Run(tt.name, func(t *testing.T) { require.Equal(t, tt.quick, checkQuick(t, tt.event, tt.fields)) })
	}
}

func FuzzQuick(f *testing.F) {
	for _, s := range quickSeeds {
		f.Add(s.event, s.fields)
	}
	f.Fuzz(func(t *testing.T, event, fields string) { checkQuick(t, event, fields) })
}

// checkQuick reports whether quick decodes an event. It fails the test if the result differs from encoding/json's.
func checkQuick(t *testing.T, event, fields string) bool {
	got, ok := new(quick).body(event, []byte(fields))
	if ok {
		want, err := plainBody(event, fields)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	return ok
}

// TestQuickKeeps reads the same text twice: it is in memory once.
func TestQuickKeeps(t *testing.T) {
	text := strings.Repeat("a line of a file\n", 100)
	c := sample()
	c.Turns[0].Events = slices.Insert(c.Turns[0].Events, 1,
		trajectory.Event{Turn: 1, Body: trajectory.FileRead{Path: "a", Text: text}},
		trajectory.Event{Turn: 1, Body: trajectory.FileRead{Path: "b", Text: strings.ToUpper(text)}},
		trajectory.Event{Turn: 1, Body: trajectory.FileWrite{Path: "b", Text: text}},
	)
	got, err := scan(bytes.NewReader(encoded(t, c)), maxFile, nil)
	require.NoError(t, err)
	events := got.Turns[0].Events
	one, two := events[1].Body.(trajectory.FileRead).Text, events[3].Body.(trajectory.FileWrite).Text
	assert.Equal(t, text, one)
	assert.Same(t, unsafe.StringData(one), unsafe.StringData(two))
}
