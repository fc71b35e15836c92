package secret_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/secret"
)

// vendorKeys are made-up keys of the sizes and alphabets that vendors use. A prefix is in two parts, so that no scanner
// takes a row for a key.
var vendorKeys = []struct {
	vendor   string
	prefix   [2]string
	alphabet string
	size     int // after the prefix
}{
	{"Anthropic", [2]string{"sk-", "ant-api03-"}, mixed + "-_", 95},
	{"Anthropic, OAuth", [2]string{"sk-", "ant-oat01-"}, mixed + "-_", 95},
	{"OpenAI", [2]string{"sk", "-"}, mixed, 48},
	{"OpenAI, a project's", [2]string{"sk-", "proj-"}, mixed + "-_", 148},
	{"OpenAI, a service account's", [2]string{"sk-", "svcacct-"}, mixed + "-_", 148},
	{"OpenRouter", [2]string{"sk-", "or-v1-"}, hexDigits, 64},
	{"Groq", [2]string{"gs", "k_"}, mixed, 52},
	{"xAI", [2]string{"xa", "i-"}, mixed, 80},
	{"Perplexity", [2]string{"ppl", "x-"}, mixed, 48},
	{"NVIDIA", [2]string{"nva", "pi-"}, mixed + "-_", 64},
	{"Replicate", [2]string{"r", "8_"}, mixed, 37},
	{"Hugging Face", [2]string{"h", "f_"}, mixed, 34},
	{"LangSmith", [2]string{"lsv2", "_pt_"}, hexDigits, 43},
	{"AWS", [2]string{"AK", "IA"}, capital, 16},
	{"AWS, a session's", [2]string{"AS", "IA"}, capital, 16},
	{"AWS, Bedrock", [2]string{"AB", "SK"}, mixed + "+/", 128},
	{"Google", [2]string{"AI", "za"}, mixed + "-_", 35},
	{"Google, OAuth", [2]string{"ya", "29."}, mixed + "-_", 100},
	{"Google, a client's", [2]string{"GOC", "SPX-"}, mixed + "-_", 28},
	{"DigitalOcean", [2]string{"dop", "_v1_"}, hexDigits, 64},
	{"Databricks", [2]string{"da", "pi"}, hexDigits, 32},
	{"Vault", [2]string{"hv", "s."}, mixed + "-_", 95},
	{"Vault, a short one", [2]string{"hv", "s."}, mixed, 24},
	{"Vault, a batch's", [2]string{"hv", "b."}, mixed + "-_", 140},
	{"Supabase", [2]string{"sb", "p_"}, hexDigits, 40},
	{"GitHub", [2]string{"gh", "p_"}, mixed, 36},
	{"GitHub, fine-grained", [2]string{"github", "_pat_"}, mixed + "_", 82},
	{"GitLab", [2]string{"glp", "at-"}, mixed + "-_", 20},
	{"GitLab, routable", [2]string{"glp", "at-"}, mixed + "-_.", 51},
	{"npm", [2]string{"np", "m_"}, mixed, 36},
	{"PyPI", [2]string{"pypi-", "AgEIcHlwaS5vcmc"}, mixed + "-_", 150},
	{"Docker", [2]string{"dckr", "_pat_"}, mixed + "-_", 27},
	{"Atlassian", [2]string{"ATA", "TT3x"}, mixed + "-_", 180},
	{"Stripe", [2]string{"sk", "_live_"}, mixed, 24},
	{"Stripe, a test's", [2]string{"sk", "_test_"}, mixed, 99},
	{"Stripe, restricted", [2]string{"rk", "_live_"}, mixed, 99},
	{"Stripe, a webhook's", [2]string{"wh", "sec_"}, mixed, 32},
	{"Shopify", [2]string{"shp", "at_"}, hexDigits, 32},
	{"SendGrid", [2]string{"S", "G."}, mixed + "-_.", 66},
	{"Slack, a bot's", [2]string{"xo", "xb-"}, "0123456789", 24},
	{"Slack, a user's", [2]string{"xo", "xp-"}, mixed + "-", 70},
	{"Slack, an app's", [2]string{"xa", "pp-1-"}, mixed + "-", 90},
	{"Slack, a webhook", [2]string{"hooks.slack.com", "/services/"}, mixed + "/", 44},
	{"Grafana", [2]string{"gl", "sa_"}, mixed + "_", 41},
	{"New Relic", [2]string{"NR", "AK-"}, capital, 27},
	{"age", [2]string{"AGE-SECRET", "-KEY-1"}, capital, 58},
	{"JWT", [2]string{"ey", "JhbGciOi"}, mixed + "-_.", 120},
}

const (
	capital   = "ABCDEFGHJKLMNPQRSTUVWXYZ234567"
	hexDigits = "0123456789abcdef"
	mixed     = "abcdefghijklmnopqrstuvwxyz" + capital
)

// madeOf returns a text of that size with characters of the alphabet, among them all that are not letters.
func madeOf(alphabet string, size int) string {
	var b strings.Builder
	for i := range size {
		b.WriteByte(alphabet[(len(alphabet)+(i-1)*7)%len(alphabet)])
	}
	return b.String()
}

// TestVendors: a key is masked as a whole, although no set knows it.
func TestVendors(t *testing.T) {
	var s secret.Set
	for _, tt := range vendorKeys {
		t.Run(tt.vendor, func(t *testing.T) {
			key := tt.prefix[0] + tt.prefix[1] + madeOf(tt.alphabet, tt.size)
			const masked = "[REDACTED:key]"
			for _, around := range [][2]string{
				{"", ""}, {`"`, `"`}, {"KEY=", "\n"}, {"(", ")"}, {`\n`, `\n`}, {"'", "',"},
			} {
				assert.Equal(t, around[0]+masked+around[1], s.String(around[0]+key+around[1]))
			}
			assert.Equal(t, `{"a":"x `+masked+`"}`, string(s.JSON([]byte(`{"a":"x `+key+`"}`))))
			inWord := "x" + key
			assert.Equal(t, inWord, s.String(inWord), "it is a part of a word")
			short := tt.prefix[0] + tt.prefix[1]
			assert.Equal(t, short, s.String(short), "a prefix alone is no key")
			_, found := s.Contains([]byte(key))
			require.False(t, found, "nobody knows that it is secret")
		})
	}
}

// TestNotVendors: names in programs begin like keys.
func TestNotVendors(t *testing.T) {
	var s secret.Set
	for _, text := range []string{
		"npm_config_globalignorefile_of_the_user_and_more=1", "npm_package_dependencies_typescript_version",
		"hf_transformers_model_for_causal_language_models", "r8_unorm_texture_format_of_the_frame_buffer",
		"dapi, sk-learn, xai-explain, pypi-server, cio, hvs.rs", "SG.Something.short", "fw_update_the_firmware_of_all",
		"ntn_the_name_of_a_function_that_is_rather_long_indeed", "disk-0123456789abcdef0123456789",
		"https://hooks.slack.com/services/", "https://hooks.slack.com/services/T/B/TOKEN", "glc_", "ops_eyJ",
		"rk_test_", "PMAK-", "xoxb-", "AKIA" + "EXAMPLE", "AKIA" + "IOSFODNN7EXAMPLE",
		"sk-" + "your-openai-api-key-here-0", "ghp_" + strings.Repeat("x", 36), "sk-" + "test-example-0123456789abcdef",
	} {
		assert.Equal(t, text, s.String(text))
	}
}

// TestGiven: a key that was given is none, wherever a text is cut, unless a secret is in it or it goes on.
func TestGiven(t *testing.T) {
	t.Parallel()
	key, other := "AKIA"+"Z7Q2M4N6P8R1T3V5", "sk-"+madeOf(mixed, 40)
	block := "-----BEGIN " + "PRIVATE KEY-----\n" + madeOf(mixed, 64) + "\n-----END PRIVATE KEY-----"
	var s secret.Set
	s.Mark("TOKEN", other)
	keys := s.Keys([]byte(key + " " + other + "\n" + block + "\n"))
	require.Equal(t, []string{key, block}, keys)
	given := s.Given(keys)
	text := strings.Join([]string{key, block, key + "W", "in=" + other, strings.Replace(block, "a", "b", 1), key}, "\n")
	masked := strings.Join([]string{key, block, "[REDACTED:key]", "in=[REDACTED:TOKEN]", "[REDACTED:key]", key}, "\n")
	for cut := range len(text) + 1 {
		var got strings.Builder
		w := given.Writer(&got)
		for _, part := range []string{text[:cut], text[cut:]} {
			_, err := w.Write([]byte(part))
			require.NoError(t, err)
		}
		require.NoError(t, w.Close())
		require.Equal(t, masked, got.String(), "cut at %d", cut)
	}
	require.Equal(t, strings.Index(text, key+"W"), given.Suspect([]byte(text), false))
	require.Equal(t, -1, given.Suspect([]byte(key+" api_key=0123456789"), false))
	require.Equal(t, len(key+" api_key="), given.Suspect([]byte(key+" api_key=0123456789"), true))
	var none *secret.Set
	require.Nil(t, none.Given(keys))
	require.Empty(t, none.Keys([]byte(key)))
	require.Equal(t, -1, none.Suspect([]byte(key), true))
}
