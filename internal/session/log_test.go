package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/secret"
)

const key = "sk-" + "0123456789abcdef"

// openLog returns a log whose file is in dir, and what gets its notes.
func openLog(t *testing.T, dir string) (*Log, *strings.Builder) {
	t.Helper()
	secrets, notes := new(secret.Set), new(strings.Builder)
	secrets.Mark("KEY", key)
	l := NewLog(secrets, "bench/a/b/1", notes, func() time.Time { return time.Unix(0, 0).UTC() })
	l.Keep(func() (string, error) { return dir, nil })
	return l, notes
}

func readLog(t *testing.T, dir string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, rundir.SessionLog))
	require.NoError(t, err)
	return string(data)
}

func chunk(kind, text string) acp.Frame {
	const update = `{"n":1.0,"params":{"update":{"sessionUpdate":%q,"content":{"text":%q}}}}`
	return acp.Frame{Direction: acp.ToClient, Raw: fmt.Appendf(nil, update, kind, text)}
}

// TestLogChunks holds that a secret which the agent says in several chunks does not stand in the log once it is closed.
func TestLogChunks(t *testing.T) {
	dir := t.TempDir()
	l, notes := openLog(t, dir)
	l.frame(chunk("agent_message_chunk", "it is "+key[:9]))
	l.frame(chunk("agent_thought_chunk", "nothing "))
	l.frame(chunk("agent_message_chunk", key[9:]+"!"))
	l.frame(chunk("agent_thought_chunk", "to see"))
	l.frame(acp.Frame{Raw: []byte(`{"params":{"update":{"sessionUpdate":"agent_message_chunk","content":{}}}}`)})
	require.NoError(t, l.Close(func() error { return nil }))
	require.NoError(t, l.Close(nil), "it is closed")
	log := readLog(t, dir)
	assert.NotContains(t, log, key[9:])
	assert.Contains(t, log, "it is [REDACTED:KEY]!")
	assert.Contains(t, log, `"text":""`, "the text of the second stands in the first")
	assert.Contains(t, log, `"nothing "`, "what shows no secret stays as it was said")
	assert.Contains(t, log, `"n":1.0`, "numbers stay as they were written")
	assert.Empty(t, notes.String(), "frames are no notes")
}

// TestLogMasks holds that no line shows a secret, not even while the log is open.
func TestLogMasks(t *testing.T) {
	dir := t.TempDir()
	l, notes := openLog(t, dir)
	l.frame(chunk("agent_message_chunk", "it is "+key))
	l.frame(acp.Frame{Direction: acp.ToClient, Raw: []byte("no JSON: " + key), Err: errors.New("invalid")})
	l.denied(errors.New("read " + key))
	l.Notef("the key is %s", key)
	l.frame(chunk("agent_message_chunk", "OTHER_API_KEY=of-nobody-4711 postgres://user:of-nobody@host"))
	log := readLog(t, dir)
	assert.NotContains(t, log, key)
	assert.NotContains(t, log, "of-nobody", "in logs, what looks like a credential by its name is masked, too")
	assert.Equal(t, 4, strings.Count(log, "[REDACTED:KEY]"))
	assert.Equal(t, "bench/a/b/1: read [REDACTED:KEY]\nbench/a/b/1: the key is [REDACTED:KEY]\n", notes.String())
	require.NoError(t, l.Close(func() error { return nil }))
}

// TestLogLater holds that what became a secret while the log was open does not stand in it once it is closed, also
// where writing it failed in the middle of a line.
func TestLogLater(t *testing.T) {
	dir := t.TempDir()
	l, _ := openLog(t, dir)
	l.tell("stderr", "it is later-0123456789")
	_, err := l.file.WriteString(`{"text": "it was later-0123456789`)
	require.NoError(t, err)
	l.err = errors.New("the disk is full")
	l.Notef("nothing follows what is broken")
	l.secrets.Mark("LATER", "later-0123456789")
	require.ErrorContains(t, l.Close(func() error { return nil }), "the disk is full")
	assert.Equal(t, 2, strings.Count(readLog(t, dir), "[REDACTED:LATER]"))
	assert.NotContains(t, readLog(t, dir), "0123456789")
	assert.NotContains(t, readLog(t, dir), "nothing follows")
}

// TestLogReplaced holds that nothing is done to a file for which an agent may have put another.
func TestLogReplaced(t *testing.T) {
	dir := t.TempDir()
	l, _ := openLog(t, dir)
	l.frame(chunk("agent_message_chunk", key[:9]))
	l.frame(chunk("agent_message_chunk", key[9:]))
	require.NoError(t, l.Close(func() error { return errors.New("replaced") }))
	require.Contains(t, readLog(t, dir), key[9:])
}

// stderrOf returns what a log has of these writes to standard error, a text a line, and the agent's last words.
func stderrOf(t *testing.T, writes ...string) (texts []string, last string) {
	t.Helper()
	dir := t.TempDir()
	l, notes := openLog(t, dir)
	w := l.stderr()
	for _, text := range writes {
		n, err := w.Write([]byte(text))
		require.NoError(t, err)
		require.Equal(t, len(text), n)
	}
	said := w.explain(errors.New("it ended")).Error()
	require.NoError(t, w.Close())
	require.NoError(t, l.Close(func() error { return nil }))
	for line := range strings.Lines(readLog(t, dir)) {
		var l logLine
		require.NoError(t, json.Unmarshal([]byte(line), &l))
		texts = append(texts, l.Text)
	}
	require.NotContains(t, notes.String(), key)
	require.LessOrEqual(t, notes.Len(), maxStderr+100)
	return texts, strings.TrimPrefix(said, "it ended, and said: ")
}

// TestLogStderr holds that what the agent writes to standard error is logged by lines, and masked.
func TestLogStderr(t *testing.T) {
	tests := []struct {
		name, reason string
		writes, want []string
	}{
		{"lines", "a line is one wherever it was cut", []string{"one\nt", "wo\n"}, []string{"one", "two"}},
		{"no end", "the last one counts, too", []string{"one\ntwo"}, []string{"one", "two"}},
		{
			"secret", "also one that was cut",
			[]string{"it is " + key[:5], key[5:] + "\n"},
			[]string{"it is [REDACTED:KEY]"},
		},
		{"no text", "the log is JSON", []string{"\xff\n"}, []string{"\uFFFD"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			texts, last := stderrOf(t, tt.writes...)
			require.Equal(t, tt.want, texts, tt.reason)
			require.Equal(t, strings.Join(tt.want, "\n"), last)
		})
	}
}

// TestLogStderrBounds holds that an agent which writes for hours does not fill the log.
func TestLogStderrBounds(t *testing.T) {
	line := strings.Repeat("x", maxStderrLine-1) + "\n"
	texts, last := stderrOf(t, strings.Repeat(line, maxStderr/len(line)+1), "the end")
	more := len(texts) - 1
	assert.Equal(t, "the agent wrote more to stderr, which is not kept", texts[more])
	assert.InDelta(t, maxStderr, len(strings.Join(texts[:more], "\n")), 1)
	assert.Len(t, last, lastWordsSize)
	assert.Equal(t, "xxx\nthe end", last[len(last)-11:], "the last words often say why")
}

// TestLogBounds: a log that grows without end is an error, and what came before stays.
func TestLogBounds(t *testing.T) {
	dir := t.TempDir()
	l, _ := openLog(t, dir)
	l.Notef("first")
	before := readLog(t, dir)
	l.size = maxLog - 50
	l.Notef("second")
	l.size = 0
	l.Notef("third")
	require.ErrorContains(t, l.Close(func() error { return nil }), "the agent has sent more than 256 MiB")
	require.Equal(t, before, readLog(t, dir))
}
