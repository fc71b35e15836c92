package secret_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/secret"
)

// pem is a fake key, written so that no scanner takes it for one.
var pem = "-----BEGIN " + "RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA0000000000000000\n/+11111111==\n" +
	"-----END " + "RSA PRIVATE KEY-----"

func TestMask(t *testing.T) {
	fake := "sk-" + "test-0123456789abcdef01234567"
	tests := []struct {
		name, reason string
		add          [][2]string // name, value
		mark         [][2]string
		text, want   string
	}{
		{name: "nothing known", text: "plain text", want: "plain text"},
		{name: "empty text", add: [][2]string{{"A", "01234567"}}},
		{
			name: "anywhere", reason: "8 characters are masked in a word too",
			add: [][2]string{{"A", "abcdefgh"}}, text: "xabcdefghy abcdefgh", want: "x[REDACTED:A]y [REDACTED:A]",
		},
		{
			name: "short with the name of a credential", reason: "only as a whole word",
			add:  [][2]string{{"A_PASS", "hunter2"}},
			text: "hunter2 xhunter2 hunter2x _hunter2 -hunter2, éhunter2é hunter2",
			want: "[REDACTED:A_PASS] xhunter2 hunter2x _hunter2 -[REDACTED:A_PASS], é[REDACTED:A_PASS]é " +
				"[REDACTED:A_PASS]",
		},
		{
			name: "short after an escape", reason: "the letter of an escape is no word",
			add: [][2]string{{"DB_PASS", "hunter2"}}, text: `a\nhunter2 %3Dhunter2 \xhunter2 3Dhunter2`,
			want: `a\n[REDACTED:DB_PASS] %3D[REDACTED:DB_PASS] \xhunter2 3Dhunter2`,
		},
		{
			name: "short that does not begin with a letter", reason: "a word cannot go on beyond a sign",
			add: [][2]string{{"DB_PASS", "!ab?"}}, text: "x!ab?y", want: "x[REDACTED:DB_PASS]y",
		},
		{
			name: "short encoded", reason: "as a word too",
			add: [][2]string{{"DB_PASS", "hunter2"}}, text: "aHVudGVyMg== 68756e74657232 0x68756e74657232",
			want: "[REDACTED:DB_PASS]== [REDACTED:DB_PASS] 0x68756e74657232",
		},
		{name: "short without", add: [][2]string{{"COLOR", "crimson"}}, text: "crimson", want: "crimson"},
		{
			name: "short but marked", mark: [][2]string{{"COLOR", "red"}},
			text: "red reduce", want: "[REDACTED:COLOR] reduce",
		},
		{
			name: "plain but marked", mark: [][2]string{{"URL", "https://host"}},
			text: "https://host/v1", want: "[REDACTED:URL]/v1",
		},
		{
			name: "nothing", reason: "an empty value would be everywhere",
			mark: [][2]string{{"A", ""}, {"B", " \n"}}, text: "a b", want: "a b",
		},
		{name: "space around", mark: [][2]string{{"A", " abcdefgh\n"}}, text: "abcdefgh", want: "[REDACTED:A]"},
		{
			name: "one in another", reason: "nothing is left of the longer one",
			add:  [][2]string{{"A", "secret-long-secret"}, {"B", "long-secret"}},
			text: "secret-long-secret long-secret", want: "[REDACTED:A] [REDACTED:B]",
		},
		{
			name: "overlapping", reason: "nothing is left of either",
			add:  [][2]string{{"A", "aaaabbbb"}, {"B", "bbbbcccc"}},
			text: "aaaabbbbcccc bbbbcccc", want: "[REDACTED:A] [REDACTED:B]",
		},
		{
			name: "overlapping with itself",
			add:  [][2]string{{"A", "ababababab"}}, text: "abababababababa", want: "[REDACTED:A]a",
		},
		{
			name: "adjacent", add: [][2]string{{"A", "aaaabbbb"}, {"B", "ccccdddd"}},
			text: "aaaabbbbccccddddaaaabbbb", want: "[REDACTED:A][REDACTED:B][REDACTED:A]",
		},
		{
			name: "two names", reason: "the first in the alphabet, whatever the order",
			add:  [][2]string{{"B", "abcdefgh"}, {"A", "abcdefgh"}, {"C", "abcdefgh"}},
			text: "abcdefgh", want: "[REDACTED:A]",
		},
		{
			name: "several lines", reason: "a diff has each line by itself",
			add:  [][2]string{{"A", "first line\nshort\nthird line"}},
			text: "first line\nshort\nthird line\n+first line\r\n+short\r\n+third line",
			want: "[REDACTED:A]\n+[REDACTED:A]\r\n+short\r\n+[REDACTED:A]",
		},
		{
			name: "URL with a password", reason: "the password is a secret by itself",
			add:  [][2]string{{"URL", "postgres://user:p%40ssw0rd@host/db"}},
			text: "postgres://user:p%40ssw0rd@host/db or p@ssw0rd", want: "[REDACTED:URL] or [REDACTED:URL]",
		},
		{
			name: "URL of development", reason: "postgres would be masked in every other line",
			add:  [][2]string{{"URL", "postgres://postgres:postgres@host/db"}},
			text: "postgres://postgres:postgres@host/db postgres", want: "[REDACTED:URL] postgres",
		},
		{
			name: "name with strange characters", reason: "the placeholder may be in a string of JSON",
			mark: [][2]string{{"a\"b\\c é]", "abcdefgh"}, {"", "ijklmnop"}},
			text: "abcdefgh ijklmnop", want: "[REDACTED:a_b_c___] [REDACTED:secret]",
		},
		{
			name: "placeholder", reason: "masked text stays as it is, even if a secret is a part of it",
			mark: [][2]string{{"A", "REDACTED"}, {"B", "key"}},
			text: "[REDACTED:A] [REDACTED:B] [REDACTED:key] [REDACTED:C]",
			want: "[REDACTED:A] [REDACTED:B] [REDACTED:key] [[REDACTED:A]:C]",
		},
		{
			name: "named key", reason: "the name says more than the shape",
			add:  [][2]string{{"API_KEY", fake}},
			text: fake + " " + fake + "-and-more", want: "[REDACTED:API_KEY] [REDACTED:API_KEY]",
		},
		{name: "key in a URL", text: "?k=" + fake + "&x", want: "?k=[REDACTED:key]&x"},
		{
			name: "no key", reason: "it is inside a word, or too short",
			text: "task-" + fake[3:] + " sk-short", want: "task-" + fake[3:] + " sk-short",
		},
		{name: "sk-ant", text: "sk-" + "ant-api03-0123456789abcdef.", want: "[REDACTED:key]."},
		{name: "ghp", text: "ghp" + "_" + strings.Repeat("aB3", 12), want: "[REDACTED:key]"},
		{name: "github_pat", text: "github" + "_pat_" + strings.Repeat("aB3", 12), want: "[REDACTED:key]"},
		{name: "AKIA", text: "(AKI" + "A0123456789ABCDEF)", want: "([REDACTED:key])"},
		{name: "AKIA in lower case", text: "AKI" + "A0123456789abcdef", want: "AKI" + "A0123456789abcdef"},
		{name: "Slack", text: "xox" + "b-0123456789-abc", want: "[REDACTED:key]"},
		{name: "Google", text: "AI" + "za" + strings.Repeat("xy0Z-", 7), want: "[REDACTED:key]"},
		{
			name: "JWT",
			text: "Bearer ey" + "JhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl, next",
			want: "Bearer [REDACTED:key], next",
		},
		{
			name: "JSON in base64", reason: "it is no JWT",
			text: "eyJuYW1lIjoiYSIsInZhbHVlIjoiYiJ9", want: "eyJuYW1lIjoiYSIsInZhbHVlIjoiYiJ9",
		},
		{name: "PEM", text: "a\n" + pem + "\nb", want: "a\n[REDACTED:key]\nb"},
		{name: "PEM in JSON", text: strings.ReplaceAll(pem, "\n", `\n`) + `"`, want: `[REDACTED:key]"`},
		{name: "PEM in a diff", text: "+" + strings.ReplaceAll(pem, "\n", "\n+") + "\n+b", want: "+[REDACTED:key]\n+b"},
		{
			name: "PEM without an end", reason: "it ends at the first byte that no key has",
			text: pem[:70] + `", then`, want: `[REDACTED:key]", then`,
		},
		{
			name: "PEM in PEM", reason: "the end of the second counts",
			text: pem[:70] + "\n" + pem + "\nb", want: "[REDACTED:key]\nb",
		},
		{name: "PEM in prose", text: "`" + pem[:31] + "` begins it", want: "`" + pem[:31] + "` begins it"},
	}
	names := make(map[string]bool)
	for _, tt := range tests {
		require.False(t, names[tt.name], tt.name)
		names[tt.name] = true
		t.Run(tt.name, func(t *testing.T) {
			var s secret.Set
			for _, a := range tt.add {
				s.Add(a[0], a[1])
			}
			for _, m := range tt.mark {
				s.Mark(m[0], m[1])
			}
			assert.Equal(t, tt.want, s.String(tt.text), tt.reason)
			assert.Equal(t, tt.want, string(s.Bytes([]byte(tt.text))), tt.reason)
			assert.Equal(t, tt.want, string(s.JSON([]byte(tt.text))), "text is not JSON, or has nothing to mask")
		})
	}
}

// TestForms writes secrets as writers do, with something before and after them.
func TestForms(t *testing.T) {
	marshal := func(escape bool) func(string) string {
		return func(text string) string {
			var b strings.Builder
			e := json.NewEncoder(&b)
			e.SetEscapeHTML(escape)
			require.NoError(t, e.Encode(text))
			return b.String()
		}
	}
	ascii := func(s string) string { // as Python's json.dumps
		var b strings.Builder
		for _, unit := range marshal(false)(s) {
			if unit < 0x80 {
				b.WriteRune(unit)
			} else {
				fmt.Fprintf(&b, `\u%04x`, unit)
			}
		}
		return b.String()
	}
	repr := func(s string) string { // as Python's
		escaped := strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\t", `\t`).Replace(s)
		if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
			return `"` + escaped + `"`
		}
		return "'" + strings.ReplaceAll(escaped, "'", `\'`) + "'"
	}
	pythonHTML := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#x27;").Replace
	writers := map[string]func(string) string{
		"HTML of Python":         pythonHTML,
		"HTML in JSON":           func(s string) string { return marshal(false)(html.EscapeString(s)) },
		"HTML in JSON for HTML":  func(s string) string { return marshal(true)(html.EscapeString(s)) },
		"HTML of Python in JSON": func(s string) string { return ascii(pythonHTML(s)) },
		"JSON in HTML":           func(s string) string { return html.EscapeString(marshal(false)(s)) },
		"JSON in HTML's text": func(s string) string {
			return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(marshal(false)(s))
		},
		"JSON in HTML of Python": func(s string) string { return pythonHTML(ascii(s)) },
		"repr":                   repr,
		"repr in JSON":           func(s string) string { return marshal(true)(repr(s)) },
		"repr in JSON of Python": func(s string) string { return ascii(repr(s)) },
		"as such":                func(s string) string { return s },
		"JSON":                   marshal(false),
		"JSON for HTML":          marshal(true),
		"JSON in JSON":           func(s string) string { return marshal(true)(marshal(false)(s)) },
		"JSON, / escaped":        func(s string) string { return strings.ReplaceAll(marshal(false)(s), "/", `\/`) },
		"JSON in ASCII":          ascii,
		"JSON of .NET": func(s string) string {
			return strings.NewReplacer(`\"`, `\u0022`, "+", `\u002B`, "&", `\u0026`, "<", `\u003C`, ">", `\u003E`,
				"é", `\u00E9`, "ü", `\u00FC`, "ÿ", `\u00FF`, "'", `\u0027`).Replace(marshal(false)(s))
		},
		"%q":    func(s string) string { return fmt.Sprintf("%q", s) },
		"%+q":   func(s string) string { return fmt.Sprintf("%+q", s) },
		"XML":   func(s string) string { var b strings.Builder; xml.EscapeText(&b, []byte(s)); return b.String() },
		"HTML":  html.EscapeString,
		"query": url.QueryEscape,
		"path":  url.PathEscape,
		"query, lower hex": func(s string) string {
			return regexp.MustCompile(`%..`).ReplaceAllStringFunc(url.QueryEscape(s), strings.ToLower)
		},
		"component": func(s string) string {
			return strings.NewReplacer("+", "%20", "%27", "'").Replace(url.QueryEscape(s))
		},
		"base64":      func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
		"base64, URL": func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
		"hex":         func(s string) string { return hex.EncodeToString([]byte(s)) },
		"HEX":         func(s string) string { return fmt.Sprintf("%X", s) },
	}
	values := []string{
		"plain0123456789", "with/slash+plus=", "a\"quote\\and'more<&>", "two words é ü", "line one\nline two\tthree",
		"ÿÿÿ~~~???>>>", "percent%20and%2f",
		"it's & <that>",
	}
	for name, write := range writers {
		t.Run(name, func(t *testing.T) {
			for _, value := range values {
				var s secret.Set
				s.Add("A", value)
				for before := range 4 {
					for after := range 3 {
						text := write("!!!"[:before] + value + "!!"[:after])
						masked := s.String(text)
						assert.Equal(t, 1, strings.Count(masked, "[REDACTED:A]"), "%q became %q", text, masked)
						const limit = 12 + len("[REDACTED:A]") + 2*10
						assert.Less(t, len(masked), limit, "too much is left of %q: %q", text, masked)
					}
				}
			}
		})
	}
}

func TestPlain(t *testing.T) {
	fake := "sk-" + "test-0123456789abcdef01234567"
	tests := []struct {
		name, value string
		masked      bool
	}{
		{"X", "1", false},
		{"USE_BEDROCK_TOKEN", "true", false},
		{"API_KEY", "none", false},
		{"MODE", "disabled", false},
		{"ANTHROPIC_BASE_URL", "https://api.example.com/v1", false},
		{"ANTHROPIC_BASE_URL", "http://127.0.0.1:8080", false},
		{"ANTHROPIC_BASE_URL", "https://user:password@api.example.com/v1", true},
		{"ANTHROPIC_BASE_URL", "https://user@api.example.com/v1", true},
		{"ANTHROPIC_BASE_URL", "https://api.example.com/v1?key=0123", true},
		{"ANTHROPIC_BASE_URL", "https://api.example.com/0123456789abcdef01234567/v1", true},
		{"SLACK_WEBHOOK_URL", "https://hooks.example.com/T0/B0/x", true},
		{"ANTHROPIC_MODEL", "claude-sonnet-4-5-20250929", false},
		{"ANTHROPIC_DEFAULT_OPUS_MODEL", "vendor/claude-opus:free[1m]", false},
		{"OPENAI_MODEL", fake, true},
		{"AWS_REGION", "eu-central-1", false},
		{"CLAUDE_CODE_MAX_OUTPUT_TOKENS", "32000", false},
		{"CLAUDE_CODE_MAX_OUTPUT_TOKENS", "100000000", false},
		{"API_TIMEOUT_MS", "30000000", false},
		{"BUDGET", "10000000", true},
		{"API_TOKEN", "12345678", true},
		{"CLAUDE_CONFIG_DIR", "/home/user/.claude", false},
		{"SSH_AUTH_SOCK", "/run/user/1000/agent", false},
		{"GOOGLE_APPLICATION_CREDENTIALS", "/home/user/gcp.json", false},
		{"ANTHROPIC_CUSTOM_HEADERS", "X-Auth: 0123", true},
		{"ANTHROPIC_AUTH_TOKEN", "short", true},
		{"ANTHROPIC_AUTH_TOKEN", fake, true},
		{"ANYTHING", "something", true},
		{"ANYTHING", "some", false},
	}
	for _, tt := range tests {
		t.Run(tt.name+"="+tt.value, func(t *testing.T) {
			var s secret.Set
			s.Add(tt.name, tt.value)
			_, found := s.Contains([]byte(tt.value))
			assert.Equal(t, tt.masked, found)
		})
	}
}

func TestAddEnvironment(t *testing.T) {
	var s secret.Set
	s.AddEnvironment([]string{
		"PATH=/usr/bin:/bin", "OPENAI_API_KEY=0123456789", "EDITOR=something", "PROXY=http://u:password9@proxy",
		"=C:=x", "TOKEN", "GITHUB_TOKEN=", "DB_PASS=test",
	})
	assert.Equal(t, "/usr/bin:/bin [REDACTED:OPENAI_API_KEY] something [REDACTED:PROXY] [REDACTED:PROXY] test",
		s.String("/usr/bin:/bin 0123456789 something http://u:password9@proxy password9 test"))
}

func TestContains(t *testing.T) {
	var s secret.Set
	s.Add("A", "01234567")
	name, found := s.Contains([]byte("x MDEyMzQ1Njc= 01234567"))
	assert.True(t, found)
	assert.Equal(t, "A", name)
	for _, text := range []string{"", "0123456", "[REDACTED:A]", "sk-" + "test-abcdef0123456abcdef0123456"} {
		_, found = s.Contains([]byte(text))
		assert.False(t, found, "%q has no known secret", text)
	}
}

func TestNilSet(t *testing.T) {
	var s *secret.Set
	key := "sk-" + "test-0123456789abcdef01234567"
	assert.Equal(t, key, s.String(key))
	assert.Equal(t, key, string(s.JSON([]byte(key))))
	_, found := s.Contains([]byte(key))
	assert.False(t, found)
	findings, err := s.Sweep(t.Context(), t.TempDir())
	require.NoError(t, err)
	assert.Empty(t, findings)
	var b strings.Builder
	for _, w := range []interface {
		Write([]byte) (int, error)
		Close() error
	}{s.Writer(&b), s.Lines(&b)} {
		_, err := w.Write([]byte(key + "\n"))
		require.NoError(t, err)
		require.NoError(t, w.Close())
	}
	assert.Equal(t, key+"\n"+key+"\n", b.String())
}

// TestConcurrentUse is for -race: secrets are added while others are masked.
func TestConcurrentUse(t *testing.T) {
	var s secret.Set
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			value := fmt.Sprintf("secret-value-%d", i)
			var b strings.Builder
			w := s.Writer(&b)
			_, err := w.Write([]byte("before " + value[:5]))
			assert.NoError(t, err)
			s.Mark("A", value)
			_, err = w.Write([]byte(value[5:] + " after"))
			assert.NoError(t, err)
			assert.NoError(t, w.Close())
			assert.Equal(t, "[REDACTED:A]", s.String(value))
		})
	}
	all.Wait()
}

func TestLen(t *testing.T) {
	var none *secret.Set
	require.Zero(t, none.Len())
	s := new(secret.Set)
	s.Add("MODEL", "opus") // a plain setting
	require.Zero(t, s.Len())
	for range 2 {
		s.Mark("A", "a-value-that-is-secret")
		require.Equal(t, 1, s.Len())
	}
	s.Mark("B", "another-one")
	require.Equal(t, 2, s.Len())
}
