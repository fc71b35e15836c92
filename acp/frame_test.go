package acp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// transcript is a recorded session of a real agent.
type transcript struct {
	name   string
	frames []Frame
	size   int64
}

func readTranscripts(tb testing.TB) []transcript {
	tb.Helper()
	paths, err := filepath.Glob("testdata/transcripts/*.ndjson")
	require.NoError(tb, err)
	require.Len(tb, paths, 20)
	var all []transcript
	for _, path := range paths {
		all = append(all, readTranscript(tb, path))
	}
	return all
}

func readTranscript(tb testing.TB, path string) transcript {
	tb.Helper()
	file, err := os.Open(path)
	require.NoError(tb, err)
	defer file.Close()
	t := transcript{name: strings.TrimSuffix(filepath.Base(path), ".ndjson")}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var entry struct {
			Dir string
			Msg json.RawMessage
		}
		require.NoError(tb, json.Unmarshal(lines.Bytes(), &entry))
		if entry.Dir == "exit" {
			continue
		}
		t.frames = append(t.frames, Frame{Direction: Direction(entry.Dir), Raw: entry.Msg})
		t.size += int64(len(entry.Msg))
	}
	require.NoError(tb, lines.Err())
	return t
}

// TestNothingIsLost changes every leaf of every frame and the name of every member, one at a time, and expects another
// view each time.
func TestNothingIsLost(t *testing.T) {
	session := regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	var tested sync.Map // frames without their session ids: many are the same in all sessions with an agent
	for _, transcript := range readTranscripts(t) {
		t.Run(transcript.name, func(t *testing.T) {
			t.Parallel()
			var decoder Decoder
			for i, frame := range transcript.frames {
				requests := maps.Clone(decoder.requests)
				view, err := decoder.View(frame)
				require.NoError(t, err)
				require.NotContains(t, view.Unknown, "jsonrpc")
				if _, again := tested.LoadOrStore(session.ReplaceAllString(string(frame.Raw), "id"), true); again {
					continue
				}
				for _, changed := range changes(t, frame.Raw) {
					d := Decoder{requests: maps.Clone(requests)}
					got, err := d.View(Frame{Direction: frame.Direction, Raw: changed})
					if err == nil && reflect.DeepEqual(got, view) {
						t.Fatalf("frame %d: lost: this has the same view\n%s\nas\n%s", i, changed, frame.Raw)
					}
				}
			}
		})
	}
}

// changes returns variants of a JSON text: each leaf with another value, each leaf with a value of another type, each
// member with another name.
func changes(t *testing.T, text []byte) [][]byte {
	t.Helper()
	var all [][]byte
	replace := func(token []byte, end int64, by string) {
		start := end - int64(len(token))
		require.Equal(t, string(token), string(text[start:end]))
		all = append(all, slices.Concat(text[:start], []byte(by), text[end:]))
	}
	tokens := json.NewDecoder(bytes.NewReader(text))
	tokens.UseNumber()
	var inObject []bool // by depth
	name := false       // the next token is a member's name
	for {
		before := tokens.InputOffset()
		token, err := tokens.Token()
		if err == io.EOF {
			return all
		}
		require.NoError(t, err)
		end := tokens.InputOffset()
		raw := bytes.TrimLeft(text[before:end], " ,:\t")
		switch token := token.(type) {
		case json.Delim:
			if token == '{' || token == '[' {
				inObject = append(inObject, token == '{')
			} else {
				inObject = inObject[:len(inObject)-1]
			}
			name = len(inObject) > 0 && inObject[len(inObject)-1]
			continue
		case string:
			replace(raw, end, string(raw[:len(raw)-1])+`x"`)
			if !name {
				replace(raw, end, "7")
			}
			if !name && token != "" {
				replace(raw, end, `""`)
			}
		case json.Number:
			replace(raw, end, strings.Replace("1"+string(raw), "1-", "-1", 1))
			replace(raw, end, `"`+string(raw)+`"`)
		case bool:
			replace(raw, end, strconv.FormatBool(!token))
			replace(raw, end, "null")
		case nil:
			replace(raw, end, "true")
			replace(raw, end, `{}`)
		}
		name = !name && len(inObject) > 0 && inObject[len(inObject)-1]
	}
}

// BenchmarkDecodeTranscripts decodes all recorded sessions: to typed views, and as encoding/json decodes the same
// frames into an any, for comparison.
func BenchmarkDecodeTranscripts(b *testing.B) {
	transcripts := readTranscripts(b)
	var size int64
	for _, t := range transcripts {
		size += t.size
	}
	b.Run("views", func(b *testing.B) {
		b.SetBytes(size)
		b.ReportAllocs()
		for b.Loop() {
			for _, t := range transcripts {
				var d Decoder
				for _, f := range t.frames {
					_, err := d.View(f)
					require.NoError(b, err)
				}
			}
		}
	})
	b.Run("any", func(b *testing.B) {
		b.SetBytes(size)
		b.ReportAllocs()
		for b.Loop() {
			for _, t := range transcripts {
				for _, f := range t.frames {
					var v any
					require.NoError(b, json.Unmarshal(f.Raw, &v))
				}
			}
		}
	})
}
