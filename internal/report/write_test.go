package report

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWriteTwiceIsTheSame(t *testing.T) {
	run := openRun(t)
	read := func() map[string]string {
		written, err := Write(run, Names())
		require.NoError(t, err)
		require.Len(t, written, len(Formats))
		files := make(map[string]string)
		for _, name := range written {
			data, err := os.ReadFile(filepath.Join(run.Dir(), name))
			require.NoError(t, err)
			files[name] = string(data)
		}
		return files
	}
	require.Equal(t, read(), read())
}

func TestWriteUnknownFormat(t *testing.T) {
	run := openRun(t)
	_, err := Write(run, []string{"md", "pdf"})
	require.EqualError(t, err, `unknown report format "pdf": want one of md, json, html, junit`)
	require.NoFileExists(t, filepath.Join(run.Dir(), "report.md"), "it is all or nothing")
}
