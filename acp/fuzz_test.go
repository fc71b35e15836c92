package acp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"reflect"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// FuzzLines compares the lines read with those of bytes.Split.
func FuzzLines(f *testing.F) {
	f.Add([]byte("{}\n\r\n\n{\"a\":1}\r\n"), uint8(20))
	f.Add([]byte("no line end"), uint8(20))
	f.Add([]byte("0123456789012345\n01234567890123456\r\n012345678901234567890\nnext\n"), uint8(16))
	f.Add([]byte("\r\r\n\r"), uint8(0))
	f.Fuzz(func(t *testing.T, input []byte, limit uint8) {
		l := &lineReader{r: bufio.NewReaderSize(iotest.OneByteReader(bytes.NewReader(input)), 16), max: int(limit) + 1}
		want := bytes.Split(input, []byte("\n"))
		if last := len(want) - 1; len(want[last]) == 0 {
			want = want[:last] // what Split sees after the last line end
		}
		for _, line := range want {
			got, err := l.next()
			if line = bytes.TrimSuffix(line, []byte("\r")); len(line) > l.max {
				require.Equal(t, ErrLineTooLong, err)
				require.True(t, bytes.HasPrefix(line, got))
				continue
			}
			require.NoError(t, err)
			require.Equal(t, string(line), string(got))
		}
		_, err := l.next()
		require.Equal(t, io.EOF, err)
	})
}

// FuzzView decodes anything, and checks that what is encoded again decodes to what encodes to the same.
func FuzzView(f *testing.F) {
	for _, transcript := range readTranscripts(f)[:3] {
		for _, frame := range transcript.frames {
			if len(frame.Raw) < 1000 {
				f.Add([]byte(frame.Raw))
			}
		}
	}
	for method := range methods {
		f.Add([]byte(`{"method":"` + method + `","params":{"sessionId":"s","path":"p","x":[1,{}]}}`))
	}
	f.Add([]byte(`{"id":null,"error":"x","result":[]}`))
	f.Add([]byte(`{"method":"session/update",` +
		`"params":{"sessionId":"s","update":{"sessionUpdate":"plan","entries":[7]}}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		for method := range methods {
			d := Decoder{requests: map[requestKey]string{{ToAgent, "1"}: method}}
			v, err := d.View(Frame{Direction: ToClient, Raw: line})
			if err != nil || v.Body == nil || !utf8.Valid(line) {
				return
			}
			once, err := json.Marshal(v.Body)
			require.NoError(t, err)
			again := reflect.New(reflect.TypeOf(v.Body))
			require.NoError(t, json.Unmarshal(once, again.Interface()), "%s", once)
			twice, err := json.Marshal(again.Elem().Interface())
			require.NoError(t, err)
			require.Equal(t, string(once), string(twice))
			if !v.Response {
				return
			}
		}
	})
}

// FuzzScanner compares the members of objects with those that encoding/json finds.
func FuzzScanner(f *testing.F) {
	f.Add([]byte(` { "a" : 1 , "b\\"" : [ 1 , { "x" : "]}" } ] , "c":{},"d":"\\\\","e":null } `))
	f.Add([]byte(`{"a":-1e5,"b":true,"":"","\u0041":[[],[{}]]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var want map[string]json.RawMessage
		if !utf8.Valid(text) || json.Unmarshal(text, &want) != nil || want == nil {
			return
		}
		got := map[string]json.RawMessage{}
		s := scanner{data: text}
		for s.more('}') {
			key := string(s.key())
			got[key] = s.value()
		}
		require.Equal(t, want, got)
		for key, value := range want {
			require.Equal(t, string(value), string((&scanner{data: text}).member(key)))
		}
	})
}
