package acp

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkDecodeTranscripts decodes all recorded sessions: to typed views, and as encoding/json decodes the same frames
// into an any, for comparison.
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
