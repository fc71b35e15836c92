package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/result"
)

func TestMarkdownIsInert(t *testing.T) {
	text := string(reportOf(t, hostileSource(t)).Markdown())
	// Only the report's own elements are left.
	ours := regexp.MustCompile(`</?(code|details|summary|sub)>`)
	require.NotContains(t, ours.ReplaceAllString(text, ""), "<")
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "|") {
			require.Regexp(t, `^\|.*\|$`, line, "a row is one line")
		}
	}
}

func TestEscape(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"plain", "go test ./...", "go test ./..."},
		{"names", "end_turn in_order", "end_turn in_order"},
		{"emphasis", "_a_ *b* ~~c~~ __init__", `\_a\_ \*b\* \~\~c\~\~ \_\_init\_\_`},
		{"code", "`a` \\`", "\\`a\\` \\\\\\`"},
		{"markup", "<b>&amp;", "&lt;b&gt;&amp;amp;"},
		{"cells and lines", "a|b\nc\r\nd", "a&#124;b ⏎ c ⏎ d"},
		{"mentions and references", "@all #1 x@y.z", `\@all \#1 x\@y.z`},
		{"links", "[a](b) ![c](d) https://e.f www.g.h", `\[a\](b) \!\[c\](d) https\://e.f www\.g.h`},
		{"control characters", "\x1b[31m\x00", `␛\[31m␀`},
		{"text that turns around", "a\u202eb", "a\ufffdb"},
		{"no Unicode", "a\xffb", "a\ufffdb"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, escape(tt.text))
		})
	}
}

func TestMarkdownIsBounded(t *testing.T) {
	s := sample(t, 4, 60, 1)
	for i := range s.units {
		u := &s.units[i]
		u.Outcome, u.Evaluations = result.Error, nil
		u.Reason = strings.Repeat("the model answered <529> | ", 20)
	}
	text := reportOf(t, s).Markdown()
	require.LessOrEqual(t, utf8.RuneCount(text), 65_536)
	require.Greater(t, len(text), 60_000, "there is room for more")
	require.Regexp(t, `\n\*Cut here: [\d,]+ lines more\. report\.html and report\.json have everything\.\*\n$`,
		string(text))
	require.Equal(t, bytes.Count(text, []byte("<details>")), bytes.Count(text, []byte("</details>")))
}

func TestJUnitIsValid(t *testing.T) {
	s := hostileSource(t)
	s.units[0].Steps[0].Output = "]]> \x00\x1b[31m \xff"
	data, err := reportOf(t, s).JUnit()
	require.NoError(t, err)
	var text strings.Builder
	for dec := xml.NewDecoder(bytes.NewReader(data)); ; {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if chars, ok := token.(xml.CharData); ok {
			text.Write(chars)
		}
	}
	require.Contains(t, text.String(), "]]> ␀␛[31m \ufffd")
}

func TestJSONOfQuietRun(t *testing.T) {
	s := sample(t, 1, 1, 1)
	s.units = nil
	data, err := reportOf(t, s).JSON()
	require.NoError(t, err)
	var got map[string]any
	require.NoError(t, json.Unmarshal(data, &got))
	for _, list := range []string{"notes", "variants", "cases", "results", "jobs", "units"} {
		require.IsType(t, []any{}, got[list], "%s is a list, although it is empty", list)
	}
	require.Equal(t, "not_run", got["outcome"])
	variant := got["variants"].([]any)[0].(map[string]any)
	require.Nil(t, variant["cost"], "unknown is null")
	require.Nil(t, variant["score"])
	require.Nil(t, variant["tokens"].(map[string]any)["total"].(map[string]any)["sum"])
}

func TestDuration(t *testing.T) {
	tests := []struct {
		name string
		ms   float64
		want string
	}{
		{"milliseconds", 999, "999ms"},
		{"seconds", 1234, "1.2s"},
		{"nearly a minute", 59_980, "1m00s"},
		{"minutes", 245_000, "4m05s"},
		{"nearly an hour", 3_599_700, "1h00m"},
		{"hours", 7_800_000, "2h10m"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, Sum{Sum: &tt.ms, Known: 1, Of: 1}.time())
		})
	}
}

func TestScore(t *testing.T) {
	for value, want := range map[float64]string{
		0: "0", 0.756: "0.76", 0.996: "0.996", 0.99999: "0.99999", 1: "1", 7.5: "7.5",
	} {
		require.Equal(t, want, score(&value))
	}
	require.Equal(t, unknown, score(nil))
}

func TestThousands(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567", -999: "-999"} {
		require.Equal(t, want, thousands(n))
	}
}
