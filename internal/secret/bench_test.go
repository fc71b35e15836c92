package secret_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/secret"
	"github.com/sdd-eval/sdd-eval/internal/testkit/soak"
)

// fiftySecrets returns secrets as accounts have them: most are random, some have several lines or characters that must
// be escaped.
func fiftySecrets() map[string]string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	r := rand.New(rand.NewPCG(1, 2))
	random := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = letters[r.IntN(len(letters))]
		}
		return string(b)
	}
	all := make(map[string]string)
	for i := range 50 {
		value := random(16 + r.IntN(64))
		switch i % 10 {
		case 0:
			value = "sk-" + "test-" + value
		case 1:
			value = random(12) + "/" + value + "+=\"\\&" + random(4)
		case 2:
			value = random(40) + "\n" + value
		}
		all[fmt.Sprintf("TOKEN_%02d", i)] = value
	}
	return all
}

func newSet(secrets map[string]string) *secret.Set {
	var s secret.Set
	for name, value := range secrets {
		s.Add(name, value)
	}
	return &s
}

// sessionLog returns size bytes of a session log, lines of JSON as agents send them, with a secret every 64 KiB or so.
func sessionLog(size int, secrets map[string]string) []byte {
	r := rand.New(rand.NewPCG(3, 4))
	words := strings.Fields("the agent reads main.go func return err != nil if package import \"testing\" token key " +
		"value session update tool_call content text and then writes a file with tests ----- | a | b | " +
		"http://localhost:8080/v1")
	prose := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteString(words[r.IntN(len(words))])
			b.WriteString([]string{" ", " ", " ", "\n", "\n\t"}[r.IntN(5)])
		}
		return b.String()
	}
	var b bytes.Buffer
	next := 1 << 16
	for b.Len() < size {
		text := prose(5 + r.IntN(200))
		if b.Len() > next {
			text += secrets[fmt.Sprintf("TOKEN_%02d", r.IntN(50))]
			next += 1 << 16
		}
		line, err := json.Marshal(map[string]any{
			"jsonrpc": "2.0", "method": "session/update", "at_us": r.IntN(1 << 30), "params": map[string]any{
				"sessionId": fmt.Sprintf("%016x", r.Uint64()), "update": map[string]any{
					"sessionUpdate": "agent_message_chunk", "content": map[string]any{"type": "text", "text": text},
				},
			},
		})
		if err != nil {
			panic(err)
		}
		b.Write(line)
		b.WriteByte('\n')
	}
	return b.Bytes()[:size]
}

// plainPairs returns texts and their replacements for simple replacers: the forms except those of JSON and of URLs,
// without regard to words and overlaps.
func plainPairs(secrets map[string]string) (pairs []string) {
	for name, value := range secrets {
		mask := "[REDACTED:" + name + "]"
		pairs = append(pairs, value, mask, hex.EncodeToString([]byte(value)), mask)
		for before := range 3 {
			all := base64.RawStdEncoding.EncodeToString([]byte("   "[:before] + value))
			pairs = append(pairs, all[(before*8+5)/6:(before+len(value))*8/6], mask)
		}
	}
	return pairs
}

// BenchmarkMask masks a session log of 100 MB with 50 secrets, and compares that with the standard library, which needs
// the whole text in memory.
func BenchmarkMask(b *testing.B) {
	const size = 100_000_000
	secrets := fiftySecrets()
	set := newSet(secrets)
	log := sessionLog(size, secrets)
	b.Run("whole", func(b *testing.B) {
		b.SetBytes(size)
		for b.Loop() {
			set.Bytes(log)
		}
	})
	stream := func(newWriter func(io.Writer) io.WriteCloser) func(b *testing.B) {
		return func(b *testing.B) {
			b.SetBytes(size)
			b.ReportAllocs()
			for b.Loop() {
				w := newWriter(io.Discard)
				for part := log; len(part) > 0; part = part[min(len(part), 4096):] {
					w.Write(part[:min(len(part), 4096)])
				}
				w.Close()
			}
		}
	}
	b.Run("stream", stream(func(w io.Writer) io.WriteCloser { return set.Writer(w) }))
	b.Run("lines", stream(func(w io.Writer) io.WriteCloser { return set.Lines(w) }))
	b.Run("strings.Replacer", func(b *testing.B) {
		r := strings.NewReplacer(plainPairs(secrets)...)
		text := string(log)
		b.SetBytes(size)
		for b.Loop() {
			r.WriteString(io.Discard, text)
		}
	})
	b.Run("bytes.ReplaceAll", func(b *testing.B) {
		pairs := plainPairs(secrets)
		b.SetBytes(size)
		for b.Loop() {
			text := log
			for pair := range slices.Chunk(pairs, 2) {
				text = bytes.ReplaceAll(text, []byte(pair[0]), []byte(pair[1]))
			}
		}
	})
}

func BenchmarkCompile(b *testing.B) {
	secrets := fiftySecrets()
	for b.Loop() {
		newSet(secrets).String("")
	}
}

// TestSoakMemory masks many MiB and counts all bytes that are allocated for it.
func TestSoakMemory(t *testing.T) {
	secrets := fiftySecrets()
	part := sessionLog(1<<20, secrets)
	for name, newWriter := range map[string]func(*secret.Set) io.WriteCloser{
		"Writer": func(s *secret.Set) io.WriteCloser { return s.Writer(io.Discard) },
		"Lines":  func(s *secret.Set) io.WriteCloser { return s.Lines(io.Discard) },
	} {
		t.Run(name, func(t *testing.T) {
			allocated := func(parts int) int64 {
				var before, after runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&before)
				w := newWriter(newSet(secrets))
				for range parts {
					_, err := w.Write(part)
					require.NoError(t, err)
				}
				require.NoError(t, w.Close())
				runtime.ReadMemStats(&after)
				return int64(after.TotalAlloc - before.TotalAlloc)
			}
			parts := soak.Size(16, 1000)
			one, many := allocated(1), allocated(parts)
			require.Less(t, many-one, int64(parts)<<20/16, "no more than a sixteenth of what is masked")
			t.Logf("allocated %d KiB for 1 MiB, %d KiB for %d MiB", one>>10, many>>10, parts)
		})
	}
}
