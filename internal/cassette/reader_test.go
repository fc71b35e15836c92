package cassette

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// seal returns lines with totals that fit them, as if we had written them.
func seal(t testing.TB, lines string, counts totals) []byte {
	t.Helper()
	l := checksums([]byte(lines))
	l.Totals = counts
	data, err := appendJSON([]byte(lines), l)
	require.NoError(t, err)
	return data
}

// decode reads a cassette from its bytes.
func decode(data []byte) (*Cassette, *CorruptError) {
	c, err := scan(bytes.NewReader(data), maxFile, nil)
	bad, ok := errors.AsType[*CorruptError](err)
	if err != nil && !ok {
		panic(err)
	}
	return c, bad
}

func TestReadErrors(t *testing.T) {
	good := string(encoded(t, sample()))
	lines := strings.SplitAfter(good, "\n")
	lines = lines[:len(lines)-1]
	n := len(lines)
	without := func(from, to int) string { return strings.Join(lines[:from-1], "") + strings.Join(lines[to:], "") }
	swap := func(i, j int) string {
		swapped := append([]string(nil), lines...)
		swapped[i-1], swapped[j-1] = swapped[j-1], swapped[i-1]
		return strings.Join(swapped, "")
	}
	tests := []struct {
		name string
		data string
		want string
	}{
		{"empty", "", "x:1: the cassette is empty"},
		{"blank", "\n\n", "x:1: not a cassette: the first line is empty"},
		{"something else", "{\"a\":1}\n", "x:1: not a cassette: there is no header"},
		{
			"another version", strings.Replace(good, `{"cassette":1,`, `{"cassette":2,`, 1),
			"x:1: the cassette has format version 2, but this program reads version 1",
		},
		{"header only", lines[0], "x:1: the cassette is truncated: it does not end with its totals line"},
		{
			"last line lost", without(n, n),
			fmt.Sprintf("x:%d: the cassette is truncated: it does not end with its totals line", n-1),
		},
		{
			"last line torn", good[:len(good)-20],
			fmt.Sprintf("x:%d: the cassette is truncated: it does not end with its totals line", n),
		},
		{
			"last newline lost", good[:len(good)-1],
			fmt.Sprintf("x:%d: the cassette is truncated: it does not end with its totals line", n),
		},
		{
			"line behind the end", good + lines[3],
			fmt.Sprintf("x:%d: the cassette was edited: it has 1 extra line after its totals", n+1),
		},
		{
			"empty lines behind the end", good + "\n\n",
			fmt.Sprintf("x:%d: the cassette was edited: it has 2 extra lines after its totals", n+1),
		},
		{
			"line ends of Windows", strings.ReplaceAll(good, "\n", "\r\n"),
			"x:1: the lines end with CRLF, probably converted by git: write `cassettes/** -text` in " +
				".gitattributes, remove the file and check it out again",
		},
		{
			"line edited", strings.Replace(good, "Let me look", "Let me see", 1),
			"x:4: the cassette was edited: this line is not the one that was recorded",
		},
		{
			"argument edited", strings.Replace(good, `"limit":2000`, `"limit":2001`, 1),
			"x:5: the cassette was edited: this line is not the one that was recorded",
		},
		{
			"header edited", strings.Replace(good, `"scripted"`, `"real"`, 1),
			"x:1: the cassette was edited: this line is not the one that was recorded",
		},
		{
			"line lost", without(6, 6),
			"x:6: the cassette is incomplete: 1 line is missing, and this is the first line that differs",
		},
		{
			"lines lost", without(6, 9),
			"x:6: the cassette is incomplete: 4 lines are missing, and this is the first line that differs",
		},
		{
			"lines lost before the totals", without(n-2, n-1),
			fmt.Sprintf("x:%d: the cassette is incomplete: 2 lines are missing, "+
				"and this is the first line that differs", n-2),
		},
		{
			"line doubled", strings.Replace(good, lines[6], lines[6]+lines[6], 1),
			"x:8: the cassette was edited: it has 1 extra line, and this is the first line that differs",
		},
		{"lines swapped", swap(4, 7), "x:4: the cassette was edited: this line is not the one that was recorded"},
		{
			"counts edited", strings.Replace(good, `"turns":2`, `"turns":3`, 1),
			fmt.Sprintf("x:%d: the cassette was edited: its totals do not match its content", n),
		},
		{
			"checksums edited", good[:len(good)-30] + "0" + good[len(good)-29:],
			fmt.Sprintf("x:%d: the cassette was edited: its totals do not match its content", n),
		},
		{
			"totals not JSON", good[:len(good)-2] + ",}\n",
			fmt.Sprintf("x:%d: the cassette was edited: its totals line is malformed: invalid character", n),
		},
		{
			"totals with more in it", good[:len(good)-2] + `,"x":1}` + "\n",
			fmt.Sprintf("x:%d: the cassette was edited: its totals line is malformed: json: unknown field", n),
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, bad := decode([]byte(tt.data))
			require.NotNil(t, bad)
			bad.Path = "x"
			assert.Contains(t, bad.Error(), tt.want)
		})
	}
}

// Files with fitting checksums that we cannot have written.
func TestReadForeign(t *testing.T) {
	header, _, _ := strings.Cut(string(encoded(t, sample())), "\n")
	header += "\n"
	const prompt, stop = "{\"event\":\"prompt\",\"text\":\"p\"}\n", "{\"event\":\"stop\",\"reason\":\"end_turn\"}\n"
	start := header + "{\"turn\":1}\n" + prompt
	head := func(old, new string) string {
		require.Contains(t, header, old)
		return strings.Replace(header, old, new, 1)
	}
	imports := sample()
	imports.Header.Origin, imports.Header.Endpoint, imports.Header.Sandbox = "imported from claude 2.1", "", ""
	imports.Header.Fingerprints, imports.Header.ProtocolVersion = imports.Header.Fingerprints.OfImport(), 0
	ofImport, _, _ := strings.Cut(string(encoded(t, imports)), "\n")
	ofImport += "\n"
	beforeFingerprints, _, _ := strings.Cut(ofImport, `"fingerprints":`)
	imported := func(old, new string) string {
		require.Contains(t, ofImport, old)
		return strings.Replace(ofImport, old, new, 1)
	}
	whole := start + stop + "{\"timings\":[0,0]}\n"
	end := "{\"timings\":[0]}\n"
	call, result := `{"event":"tool_call","id":"c"}`+"\n", `{"event":"tool_result","id":"c","status":"completed"}`+"\n"
	event := func(fields string) string { return start + `{"event":` + fields + "}\n" + end }
	change := `{"change":"added","path":"a","kind":"file","text":""}` + "\n"
	tests := []struct {
		name, lines, want string
	}{
		{"unknown event", start + `{"event":"dance","text":"p"}` + "\n" + end, `x:4: unknown event "dance"`},
		{
			"unknown field", start + `{"event":"message","text":"p","mood":1}` + "\n" + end,
			`x:4: event message: json: unknown field "mood"`,
		},
		{
			"field of another type", start + `{"event":"message","text":1}` + "\n" + end,
			`x:4: event message: json: cannot unmarshal number`,
		},
		{"event without a name", start + `{"event":1}` + "\n" + end, "x:4: an event without a name"},
		{"event cut in its name", start + `{"event":"mess` + "\n" + end, "x:4: an event without a name"},
		{"unknown kind of line", start + `{"song":"x"}` + "\n" + end, "x:4: unknown kind of line"},
		{"no line", start + "\n" + end, "x:4: unknown kind of line"},
		{
			"two values in a line", start + `{"event":"message","text":"p"} {}` + "\n" + end,
			"x:4: event message: more than one JSON value",
		},
		{
			"a value over two lines", start + "{\"event\":\"message\",\n\"text\":\"p\"}\n" + end,
			"x:4: event message: unexpected EOF",
		},
		{
			"unknown field in the header", strings.Replace(header, `"level"`, `"x":1,"level"`, 1) + end,
			`x:1: json: unknown field "x"`,
		},
		{"key twice", event(`"message","text":"p","text":"q"`), `x:4: event message: duplicate key "text"`},
		{"key in another case", event(`"message","Text":"p"`), `x:4: event message: unknown key "Text": write "text"`},
		{"key missing", event(`"message"`), `x:4: event message: the key "text" is missing`},
		{"null for a text", event(`"message","text":null`), "x:4: event message: null stands where a value must be"},
		{"key of an input twice", event(`"tool_call","id":"c","input":{"a":1,"a":2}`), `x:4: event tool_call: dup`},
		{"status", event(`"tool_result","id":"c","status":"done"`), `x:4: unknown status "done"`},
		{
			"decision", event(`"permission","id":"c","options":[{"id":"a","kind":"allow_once"}],"decision":"b"`),
			`x:4: the decision "b" is none of the options`,
		},
		{
			"result of no call", event(`"tool_result","id":"c","status":"completed"`),
			`x:4: a result of the tool call "c", which was not made`,
		},
		{
			"call twice", start + call + call + "{\"timings\":[0,0,0]}\n",
			`x:5: the tool call "c" begins twice`,
		},
		{
			"result twice", start + call + result + result + "{\"timings\":[0,0,0,0]}\n",
			`x:6: the tool call "c" ends twice`,
		},
		{
			"permission for no call", event(`"permission","id":"c","options":[],"decision":"cancelled"`),
			`x:4: a request for permission for the tool call "c", which was not made`,
		},
		{
			"kind of agent", head(`"agent":{"kind":"claude-code-acp"`, `"agent":{"kind":"codex-acp"`) + end,
			`x:1: the agent's kind is "codex-acp"`,
		},
		{"stop reason", event(`"stop","reason":"fine"`), `x:4: unknown stop reason "fine"`},
		{"usage", event(`"stop","reason":"end_turn","usage":{"input":-1}`), "x:4: usage: -1 is negative"},
		{"cost", event(`"state","cost":{"amount":-1,"currency":"USD"}`), "x:4: the cost is negative"},
		{"negative time", start + "{\"timings\":[-1]}\n", "x:4: a time is negative"},
		{"turn twice", header + `{"turn":2,"turn":1}` + "\n" + prompt + end, `x:2: duplicate key "turn"`},
		{"timings twice in a line", start + `{"timings":[1],"timings":[0]}` + "\n", `x:4: duplicate key "timings"`},
		{"header key twice", head(`"level":"run"`, `"level":"mcp","level":"run"`) + end, `x:1: duplicate key "level"`},
		{"header key missing", head(`"sandbox":"none",`, "") + end, `x:1: the key "sandbox" is missing`},
		{"header key in another case", head(`"unit":`, `"Unit":`) + end, `x:1: unknown key "Unit": write "unit"`},
		{"endpoint", head(`"endpoint":"scripted"`, `"endpoint":"none"`) + end, `x:1: unknown endpoint "none"`},
		{"no origin", head(`"origin":"recorded"`, `"origin":""`) + end, `x:1: unknown origin ""`},
		{"origin", head(`"origin":"recorded"`, `"origin":"importedly"`) + end, `x:1: unknown origin "importedly"`},
		{
			"import from nowhere", head(`"origin":"recorded"`, `"origin":"imported by me"`) + end,
			`x:1: unknown origin "imported by me"`,
		},
		{
			"recording as an import", head(`"origin":"recorded"`, `"origin":"imported from claude 2.1"`) + end,
			`x:1: the origin is "imported from claude 2.1", but the header has the endpoint`,
		},
		{
			"time of recording", head("2026-03-14T09:26:53Z", "0001-01-01T00:00:00Z") + end,
			"x:1: recorded_at is not set",
		},
		{"limit", head(`"max_tool_calls":20`, `"max_tool_calls":-1`) + end, "x:1: fingerprints: max_tool_calls is -1"},
		{"timeout", head(`"timeout":"30m0s"`, `"timeout":"-5m0s"`) + end, `x:1: fingerprints: the timeout is "-5m0s"`},
		{"limit of tokens", head(`"timeout":`, `"max_tokens":-1,"timeout":`) + end, "want 0 or more"},
		{"limit of cost", head(`"timeout":`, `"max_cost_usd":-1,"timeout":`) + end, "want 0 or more"},
		{"no kind", strings.ReplaceAll(header, `"kind":"claude-code-acp"`, `"kind":""`) + end, "the kind is empty"},
		{"import with an endpoint", imported(`"endpoint":""`, `"endpoint":"real"`) + end, "but the header has the"},
		{"import with a limit", imported(`"timeout":""`, `"timeout":"5m0s"`) + end, "but the header has the"},
		{
			"import of an older version",
			beforeFingerprints + `"fingerprints":{"kind":"","permissions":null,"timeout":"",` +
				`"workspace":{"digest":""}}}` + "\n" + end,
			"x:1: the session was imported by an older version",
		},
		{"import with a sandbox", imported(`"sandbox":""`, `"sandbox":"none"`) + end, "but the header has the"},
		{"line without its beginning", start + `turn":2}` + "\n" + end, "x:4: unknown kind of line"},
		{"digest", head(sample().Header.Fingerprints.Workspace.Digest, "") + end, "x:1: fingerprints: the digest of"},
		{
			"another level", strings.Replace(header, `"level":"run"`, `"level":"wire"`, 1) + end,
			`x:1: unknown level "wire"; this program reads run, client, mcp, client+mcp`,
		},
		{
			"event before the first turn", header + `{"event":"state"}` + "\n" + end,
			"x:2: unexpected line before the first turn",
		},
		{"turn skipped", start + "{\"turn\":3}\n" + end, "x:4: found turn 3, want turn 2"},
		{
			"event behind a change", start + change + `{"event":"state"}` + "\n" + end,
			"x:5: unexpected event after the turn's changes",
		},
		{
			"unknown change", start + `{"change":"moved","path":"a","kind":"file"}` + "\n" + end,
			`x:4: unknown change "moved"`,
		},
		{
			"unknown kind", start + `{"change":"added","path":"a","kind":"fifo"}` + "\n" + end,
			`x:4: unknown kind "fifo"`,
		},
		{"change twice", start + change + change + end, "x:5: the turn's changes are not sorted by path"},
		{
			"no content", start + `{"change":"added","path":"a","kind":"file"}` + "\n" + end,
			"x:4: the new content of a file must be either text or base64",
		},
		{
			"content twice", start + `{"change":"added","path":"a","kind":"file","text":"","base64":""}` + "\n" + end,
			"x:4: the new content of a file must be either text or base64",
		},
		{
			"content of a link", start + `{"change":"added","path":"a","kind":"symlink","target":"b","text":""}` +
				"\n" + end,
			"x:4: the new content of a file must be either text or base64",
		},
		{
			"content of a deletion", start + `{"change":"deleted","path":"a","kind":"file","base64":""}` + "\n" + end,
			"x:4: the new content of a file must be either text or base64",
		},
		{
			"bad base64", start + `{"change":"added","path":"a","kind":"file","base64":"!"}` + "\n" + end,
			"x:4: illegal base64 data",
		},
		{"no timings", start, "x:3: the timings are missing"},
		{"too few timings", start + "{\"timings\":[]}\n", "x:4: there are 0 timings for 1 events"},
		{"too many timings", start + "{\"timings\":[1,2]}\n", "x:4: there are 2 timings for 1 events"},
		{"timings that are no numbers", start + "{\"timings\":[1.5]}\n", "x:4: json: cannot unmarshal number 1.5"},
		{"timings twice", start + end + end, "x:5: unexpected line after the timings"},
		{"line after the timings", start + end + change, "x:5: unexpected line after the timings"},
		{"wrong counts", whole, "x:6: the cassette was edited: its totals do not match its content"},
		{"no stop", start + end, "x: turn 1 is malformed: 0 stops, want 1"},
		{"two prompts", start + prompt + stop + "{\"timings\":[0,0,0]}\n", "x: turn 1 is malformed: 2 prompts, want 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, bad := decode(seal(t, tt.lines, totals{}))
			require.NotNil(t, bad)
			bad.Path = "x"
			assert.Contains(t, bad.Error(), tt.want)
		})
	}
	_, bad := decode(seal(t, whole, totals{Turns: 1, Events: 2}))
	assert.Nil(t, bad, "the frame of these tests is a cassette")
	_, bad = decode(seal(t, strings.Replace(whole, header, ofImport, 1), totals{Turns: 1, Events: 2}))
	assert.Nil(t, bad, "an import")
	possible := `{"event":"tool_call","id":"c"}` + "\n" +
		`{"event":"permission","id":"c","options":[{"id":"a","kind":"allow_once"}],"decision":"a"}` + "\n" +
		`{"event":"stop","reason":"end_turn","usage":{"input":0}}` + "\n{\"timings\":[0,0,0,0]}\n"
	_, bad = decode(seal(t, start+possible, totals{Turns: 1, Events: 4, ToolCalls: 1}))
	assert.Nil(t, bad, "a choice, and no tokens")
}

func TestReadFiles(t *testing.T) {
	dir := t.TempDir()
	t.Run("missing", func(t *testing.T) {
		_, err := Read(filepath.Join(dir, "a.jsonl"))
		var missing *MissingError
		require.ErrorAs(t, err, &missing)
		require.ErrorIs(t, err, fs.ErrNotExist)
		assert.EqualError(t, err, filepath.Join(dir, "a.jsonl")+": there is no such cassette")
		assert.False(t, Exists(filepath.Join(dir, "a.jsonl")))
	})
	t.Run("a directory", func(t *testing.T) {
		_, err := Read(dir)
		assert.EqualError(t, err, dir+": not a cassette: this is not a regular file")
		assert.True(t, Exists(dir))
	})
	t.Run("cut", func(t *testing.T) {
		path := filepath.Join(dir, "cut.jsonl")
		require.NoError(t, os.WriteFile(path, encoded(t, sample())[:3000], 0o644))
		_, err := Read(path)
		var corrupt *CorruptError
		require.ErrorAs(t, err, &corrupt)
		assert.Equal(t, path, corrupt.Path)
		assert.Positive(t, corrupt.Line)
	})
	t.Run("too large", func(t *testing.T) {
		path := filepath.Join(dir, "large.jsonl")
		require.NoError(t, os.WriteFile(path, nil, 0o644))
		require.NoError(t, os.Truncate(path, maxFile+1))
		_, err := Read(path)
		assert.ErrorContains(t, err, "exceeds the limit of 536870912")
	})
}

// TestReadTruncated cuts a cassette at every byte.
func TestReadTruncated(t *testing.T) {
	good := encoded(t, sample())
	for i := range good {
		if _, bad := decode(bytes.Clone(good[:i])); bad == nil {
			t.Fatalf("cut after %d of %d bytes it still reads", i, len(good))
		}
	}
}

// TestReadFlipped changes every byte of a cassette, in each of its bits and to what JSON is made of.
func TestReadFlipped(t *testing.T) {
	good := encoded(t, sample())
	want := decoded(t, good)
	var same []string
	for i := 0; i < len(good); i += stride {
		for _, b := range []byte{
			good[i] ^ 1, good[i] ^ 2, good[i] ^ 4, good[i] ^ 8, good[i] ^ 16, good[i] ^ 32, good[i] ^ 64,
			good[i] ^ 128, '\n', '"', '{', '0',
		} {
			if b == good[i] {
				continue
			}
			data := bytes.Clone(good)
			data[i] = b
			if c, bad := decode(data); bad == nil {
				require.True(t, reflect.DeepEqual(want, c), "byte %d as %q", i, b)
				same = append(same, fmt.Sprintf("byte %d as %q", i, b))
			}
		}
	}
	assert.Empty(t, same, "changes that are not seen")
}

// TestReadRearranged leaves out, doubles and swaps lines.
func TestReadRearranged(t *testing.T) {
	lines := bytes.SplitAfter(encoded(t, sample()), []byte("\n"))
	lines = lines[:len(lines)-1]
	for i := range lines {
		for j := range lines {
			data := bytes.Join(lines[:i], nil)
			switch {
			case i == j:
				data = append(append(data, lines[i]...), bytes.Join(lines[i:], nil)...) // doubled
			case i < j:
				data = append(data, bytes.Join(lines[j:], nil)...) // left out
			default:
				swapped := append([][]byte(nil), lines...)
				swapped[i], swapped[j] = lines[j], lines[i]
				data = bytes.Join(swapped, nil)
			}
			_, bad := decode(data)
			require.NotNil(t, bad, "lines %d and %d", i+1, j+1)
		}
	}
}

func FuzzRead(f *testing.F) {
	good := encoded(f, sample())
	f.Add(good)
	f.Add(good[:len(good)/2])
	f.Add([]byte("{\"cassette\":1}\n{\"totals\":{}}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, bad := decode(bytes.Clone(data))
		if bad != nil {
			if bad.Line < 1 || bad.Reason == "" {
				t.Errorf("an error without a place or a reason: %v", bad)
			}
			return
		}
		requireStable(t, c)
	})
}

// FuzzReadSealed appends the right checksums to the lines that it makes up, so that all of them are decoded.
func FuzzReadSealed(f *testing.F) {
	good := encoded(f, sample())
	f.Add(string(good[:bytes.LastIndexByte(good[:len(good)-1], '\n')+1]), 2, 12, 2)
	f.Add("{\"cassette\":1,\"level\":\"run\"}\n{\"turn\":1}\n"+
		"{\"event\":\"notice\",\"data\":[1e9,{}]}\n{\"timings\":[5]}\n", 1, 1, 0)
	f.Fuzz(func(t *testing.T, lines string, turns, events, calls int) {
		if c, bad := decode(seal(t, lines, totals{turns, events, calls})); bad == nil {
			requireStable(t, c)
		}
	})
}

// requireStable requires that a cassette that was read is the same when it is written and read again.
func requireStable(t *testing.T, c *Cassette) {
	t.Helper()
	data, err := encode(c)
	if err != nil {
		return // such as a turn without a prompt
	}
	again := encoded(t, decoded(t, data))
	require.Equal(t, string(data), string(again))
}
