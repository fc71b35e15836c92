package secret

import "strings"

// shape is a well-known kind of key: a prefix that is not inside a word, followed by at least least bytes of a class.
// The key ends where the class ends. Fake keys of the same shape are masked as well.
//
// No prefix is inside another one, unless they end together, so keys are found in order. A prefix has three bytes or
// more, or the quick search would find it everywhere. It does not begin as common words do, which would slow that down.
type shape struct {
	prefix string
	class  class
	least  int
}

// shapes are the keys that their vendors made to be recognised. Prefixes that also begin identifiers of programs, such
// as npm_config_, are followed by letters and digits alone.
var shapes = []shape{
	// Models
	{"sk-", token, 20},      // OpenAI, Anthropic, OpenRouter, DeepSeek, Langfuse
	{"gsk_", alnum, 40},     // Groq
	{"xai-", token, 60},     // xAI
	{"pplx-", alnum, 40},    // Perplexity
	{"nvapi-", token, 40},   // NVIDIA
	{"csk-", alnum, 40},     // Cerebras
	{"fw_", alnum, 22},      // Fireworks
	{"tgp_v1_", token, 30},  // Together
	{"r8_", alnum, 30},      // Replicate
	{"hf_", alnum, 30},      // Hugging Face
	{"tvly-", token, 20},    // Tavily
	{"lsv2_pt_", token, 32}, // LangSmith
	{"lsv2_sk_", token, 32},
	// Clouds
	{"AKIA", capitals, 16}, // AWS
	{"ASIA", capitals, 16},
	{"ABIA", capitals, 16},
	{"ACCA", capitals, 16},
	{"ABSK", padded, 100},         // AWS, Bedrock
	{"IQoJb3JpZ2lu", padded, 100}, // AWS, a session
	{"FwoGZXIvYXdz", padded, 100},
	{"AIza", token, 35},    // Google
	{"ya29.", token, 30},   // Google, OAuth
	{"GOCSPX-", token, 24}, // Google, a client
	{"LTAI", alnum, 16},    // Alibaba
	{"dop_v1_", alnum, 60}, // DigitalOcean
	{"doo_v1_", alnum, 60},
	{"dapi", alnum, 32},         // Databricks
	{"pscale_tkn_", dotted, 30}, // PlanetScale
	{"pscale_pw_", dotted, 30},
	{"sbp_", alnum, 40}, // Supabase
	{"sb_secret_", token, 20},
	{"hvs.", token, 24}, // Vault
	{"hvb.", token, 24},
	{"hvr.", token, 24},
	{"dp.pt.", alnum, 40}, // Doppler
	{"dp.st.", dotted, 40},
	// Code and packages
	{"ghp_", token, 30},        // GitHub, classic
	{"gho_", token, 30},        // GitHub, OAuth
	{"ghu_", token, 30},        // GitHub, an app for a user
	{"ghs_", token, 30},        // GitHub, an app
	{"ghr_", token, 30},        // GitHub, to refresh
	{"github_pat_", token, 22}, // GitHub, fine-grained
	{"glpat-", dotted, 20},     // GitLab
	{"gldt-", dotted, 20},
	{"glrt-", dotted, 20},
	{"glptt-", dotted, 20},
	{"glcbt-", dotted, 20},
	{"glsoat-", dotted, 20},
	{"npm_", alnum, 36},
	{"pypi-AgE", token, 50},
	{"dckr_pat_", token, 20}, // Docker
	{"dckr_oat_", token, 20},
	{"ATATT3x", token, 100}, // Atlassian
	{"PMAK-", token, 40},    // Postman
	// Money, mail, messages, and what watches
	{"sk_live_", token, 16}, // Stripe
	{"sk_test_", token, 16},
	{"rk_live_", token, 16},
	{"rk_test_", token, 16},
	{"whsec_", padded, 24},
	{"shpat_", alnum, 32}, // Shopify
	{"shpss_", alnum, 32},
	{"shpca_", alnum, 32},
	{"shppa_", alnum, 32},
	{"SG.", dotted, 50},  // SendGrid
	{"xoxa-", token, 10}, // Slack
	{"xoxb-", token, 10},
	{"xoxc-", token, 10},
	{"xoxe-", token, 10},
	{"xoxe.xox", token, 20},
	{"xoxp-", token, 10},
	{"xoxr-", token, 10},
	{"xoxs-", token, 10},
	{"xapp-", token, 20},
	{"hooks.slack.com/services/", slashed, 30},
	{"glsa_", token, 32}, // Grafana
	{"glc_", padded, 32},
	{"NRAK-", capitals, 20}, // New Relic
	// What standards define
	{"eyJhbGciOi", dotted, 16}, // a JWT's header: {"alg":
	{"eyJ0eXAiOi", dotted, 16}, // {"typ":
	{"eyJraWQiOi", dotted, 16}, // {"kid":
	{"eyJlbmMiOi", dotted, 16}, // {"enc":
	{"eyJjdHkiOi", dotted, 16}, // {"cty":
	{"eyJ4NXQiOi", dotted, 16}, // {"x5t":
	{"ops_eyJ", padded, 200},   // 1Password
	{"AGE-SECRET-KEY-1", capitals, 50},
	{"-----BEGIN PRIVATE KEY-----", block, 16},
	{"-----BEGIN RSA PRIVATE KEY-----", block, 16},
	{"-----BEGIN EC PRIVATE KEY-----", block, 16},
	{"-----BEGIN DSA PRIVATE KEY-----", block, 16},
	{"-----BEGIN OPENSSH PRIVATE KEY-----", block, 16},
	{"-----BEGIN ENCRYPTED PRIVATE KEY-----", block, 16},
	{"-----BEGIN PGP PRIVATE KEY BLOCK-----", block, 16},
}

// hasKeyShape reports whether the value begins like a key.
func hasKeyShape(value string) bool {
	for _, s := range shapes {
		if strings.HasPrefix(value, s.prefix) {
			return true
		}
	}
	return false
}
