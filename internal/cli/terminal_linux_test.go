package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// openTerminal returns a terminal of that size.
func openTerminal(t *testing.T, columns, lines uint16) *os.File {
	t.Helper()
	_, terminal := openPair(t, columns, lines)
	return terminal
}

// openPair returns a terminal of that size, and who sits at it: what is written to keys is typed, and what is read from
// it is what the terminal shows.
func openPair(t *testing.T, columns, lines uint16) (keys, terminal *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	require.NoError(t, err)
	t.Cleanup(func() { master.Close() })
	fd := int(master.Fd())
	require.NoError(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: lines}))
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { slave.Close() })
	return master, slave
}

// TestScreenOf tests which files count as terminals, and when colours are wanted.
func TestScreenOf(t *testing.T) {
	terminal := openTerminal(t, 57, 13)
	file, err := os.Create(t.TempDir() + "/log")
	require.NoError(t, err)
	defer file.Close()
	tests := []struct {
		name        string
		w           *os.File
		env         map[string]string
		live, color bool
	}{
		{"terminal", terminal, map[string]string{"TERM": "xterm-256color"}, true, true},
		{"without colours", terminal, map[string]string{"TERM": "xterm", "NO_COLOR": "1"}, true, false},
		{"NO_COLOR that is empty", terminal, map[string]string{"TERM": "xterm", "NO_COLOR": ""}, true, true},
		{"dumb", terminal, map[string]string{"TERM": "dumb"}, false, false},
		{"unknown", terminal, nil, false, false},
		{"file", file, map[string]string{"TERM": "xterm"}, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := screenOf(tt.w, func(name string) string { return tt.env[name] }, time.Now)
			require.Equal(t, tt.live, s.size != nil)
			require.Equal(t, tt.color, s.color)
			app := App{Stdout: &checkedWriter{w: tt.w}, Getenv: func(name string) string { return tt.env[name] }}
			require.Equal(t, paint(tt.color), newPaint(&app), "as commands see it")
			if tt.live {
				columns, lines := s.size()
				require.Equal(t, []int{57, 13}, []int{columns, lines})
			}
		})
	}
}

// TestPaged: what is longer than the terminal is shown by the pager, harmless; what fits, and what goes into a file, is
// printed.
func TestPaged(t *testing.T) {
	dir := t.TempDir()
	pager := dir + "/pager"
	require.NoError(t, os.WriteFile(pager, []byte("#!/bin/sh\ncat > "+dir+"/paged\n"), 0o755))
	for _, tt := range []struct {
		name, pager string
		lines       int
		paged       bool
	}{
		{"long", pager, 20, true},
		{"short", pager, 5, false},
		{"without a pager", dir + "/none", 20, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.NoError(t, os.RemoveAll(dir+"/paged"))
			var out bytes.Buffer
			env := map[string]string{"TERM": "xterm", "PAGER": tt.pager}
			a := App{Getenv: func(name string) string { return env[name] }, Now: time.Now}
			write := func(w io.Writer, columns int) error {
				require.Equal(t, 57, columns)
				_, err := io.WriteString(w, strings.Repeat("a line\x1b[2J\n", tt.lines))
				return err
			}
			a.Stdout = &door{w: &checkedWriter{w: openTerminal(t, 57, 13)}}
			require.NoError(t, a.paged(t.Context(), write))
			paged, err := os.ReadFile(dir + "/paged")
			require.Equal(t, tt.paged, err == nil)
			require.Equal(t, tt.paged, strings.Count(string(paged), "a line") == tt.lines)
			require.NotContains(t, string(paged), "\x1b")

			a.Stdout = &out
			require.NoError(t, a.paged(t.Context(), func(w io.Writer, columns int) error {
				require.Zero(t, columns)
				_, err := io.WriteString(w, "to a file\n")
				return err
			}))
			require.Equal(t, "to a file\n", out.String())
		})
	}
}
