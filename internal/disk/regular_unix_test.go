//go:build unix

package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRegular(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), []byte("text"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "empty"), nil, 0o600))
	require.NoError(t, os.Symlink("file", filepath.Join(dir, "link")))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "dir"), 0o700))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
	require.NoError(t, os.Symlink("fifo", filepath.Join(dir, "link-to-fifo")))
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()
	tests := []struct {
		name  string // of the test and, up to the first space, of the file
		limit int64
		want  string
		err   string // DIR is the directory
		is    error
	}{
		{name: "file", limit: 4, want: "text"},
		{name: "link", limit: 100, want: "text"},
		{name: "empty", limit: 0, want: ""},
		{name: "file that is too large", limit: 3, err: "DIR/file: 4 bytes exceed the limit of 3"},
		{name: "none", err: "stat DIR/none: no such file or directory", is: fs.ErrNotExist},
		{name: "dir", err: "open DIR/dir: not a regular file", is: ErrNotRegular},
		{name: "fifo", err: "open DIR/fifo: not a regular file", is: ErrNotRegular},
		{name: "link-to-fifo", err: "open DIR/link-to-fifo: not a regular file", is: ErrNotRegular},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			name, _, _ := strings.Cut(tt.name, " ")
			got, err := ReadRegular(filepath.Join(dir, name), tt.limit)
			require.Equal(t, tt.want, string(got))
			f, errIn := OpenRegularIn(root, name)
			if errIn == nil {
				require.NoError(t, f.Close())
			}
			if tt.err == "" {
				require.NoError(t, err)
				require.NoError(t, errIn)
				return
			}
			require.EqualError(t, err, strings.ReplaceAll(tt.err, "DIR", dir))
			if tt.is == nil { // it is too large, and can be opened
				_, large := errors.AsType[*SizeError](err)
				require.True(t, large)
				return
			}
			require.ErrorIs(t, err, tt.is)
			require.ErrorIs(t, errIn, tt.is)
		})
	}
}
