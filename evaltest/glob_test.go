package evaltest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAlternatives(t *testing.T) {
	for pattern, want := range map[string]string{
		"a/*.yaml":                     "",
		"{a,b}/*.yaml":                 "a/*.yaml b/*.yaml",
		"{a,b}/x.{yaml,yml}":           "a/x.{yaml,yml} b/x.{yaml,yml} {a,b}/x.yaml {a,b}/x.yml",
		"x/{a,b{1,2}}.yaml":            "x/a.yaml x/b1.yaml x/b2.yaml",
		"{a,}b":                        "ab b",
		`\{a,b\}`:                      "",
		"[{]a,b[}]":                    "",
		`{a\,b,c}`:                     `a\,b c`,
		"{a":                           "",
		"a}":                           "",
		strings.Repeat("{", 50) + "a,": "",
	} {
		assert.Equal(t, want, strings.Join(alternatives(pattern), " "), pattern)
	}
}

func FuzzAlternatives(f *testing.F) {
	f.Add("{a,b{1,2}}/x.{yaml,yml}")
	f.Add(`[{\]}]{\,,}`)
	f.Fuzz(func(t *testing.T, pattern string) {
		if strings.Count(pattern, "{") > 6 {
			return
		}
		for _, a := range alternatives(pattern) {
			require.Less(t, len(a), len(pattern), "braces are gone")
		}
	})
}

// write writes playbooks, named by their paths, and other files into the working directory.
func write(t *testing.T, names ...string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for _, name := range names {
		text := "name: x\nworkflow: {}\n"
		if strings.Contains(name, "data") {
			text = "rows: [workflow]\n"
		}
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
	}
}

// What a pattern does not find is not judged, so each part of it must find something.
func TestPlaybooks(t *testing.T) {
	write(t, "a/x.yaml", "b/x.yml", "data.yaml")
	for pattern, want := range map[string]string{
		"*/x.y*":             "",
		"{a,b}/x.{yaml,yml}": "",
		"a/x.{yaml,yml}":     `no playbook matches "a/x.yml" in here, which is a part of the pattern "a/x.{yaml,yml}"`,
		"{a,c}/*.y*":         `no playbook matches "c/*.y*" in here`,
		"{a,{b,c}}/*.y*":     `no playbook matches "c/*.y*" in here`,
		"c/*.yaml":           `no playbook matches "c/*.yaml" in here`,
		"a[":                 `pattern "a[": syntax error in pattern`,
	} {
		files, err := playbooks(pattern, "here")
		if want == "" {
			require.NoError(t, err, pattern)
			assert.Equal(t, []string{"a/x.yaml", "b/x.yml"}, files, pattern)
			continue
		}
		require.ErrorContains(t, err, want, pattern)
	}
	require.NoError(t, os.Symlink("loop", "loop"))
	for _, pattern := range []string{"loop/*.yaml", "{a,loop}/x.yaml"} {
		_, err := playbooks(pattern, "here")
		require.ErrorContains(t, err, `too many levels of symbolic links`, pattern)
	}
}

func TestOverlooked(t *testing.T) {
	write(t, "a/x.yaml", "a/x.yml", "a/data.yaml", "a/deep/y.yaml", "b/z.yaml", "w.yaml", "data.yml")
	files, err := playbooks("a/*.yaml", ".")
	require.NoError(t, err)
	others, err := overlooked("a/*.yaml", files)
	require.NoError(t, err)
	assert.Equal(t, []string{"a/x.yml"}, others)

	files, err = playbooks("*/z.yaml", ".")
	require.NoError(t, err)
	others, err = overlooked("*/z.yaml", files)
	require.NoError(t, err)
	assert.Equal(t, []string{"w.yaml"}, others)

	others, err = overlooked("a/x.yml", []string{"a/x.yml"})
	require.NoError(t, err)
	assert.Empty(t, others, "an earlier pattern matched the other")
}
