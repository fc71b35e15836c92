package scripted

import (
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
)

func TestReadLines(t *testing.T) {
	long := strings.Repeat("x", 100<<10)
	tests := []struct {
		name, in string
		want     []string
		err      string
	}{
		{name: "lines", in: "a\n\nb\n", want: []string{"a\n", "\n", "b\n"}},
		{name: "longer than the buffer", in: long + "\n", want: []string{long + "\n"}},
		{name: "cut off at the end", in: "a\nb", want: []string{"a\n"}},
		{
			name: "too long", in: "a\n" + long + long, want: []string{"a\n"},
			err: "scripted: the client wrote a line of more than 131072 bytes",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			err := readLines(iotest.HalfReader(strings.NewReader(tt.in)), 128<<10, func(line []byte) error {
				got = append(got, string(line))
				return nil
			})
			assert.Equal(t, tt.want, got)
			if tt.err == "" {
				assert.NoError(t, err)
			} else {
				assert.EqualError(t, err, tt.err)
			}
		})
	}
}
