package tracing

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// secretText must be in no error.
const secretText = "sk-" + "test-0123456789"

func TestSettings(t *testing.T) {
	collector := func(url string) Settings {
		return Settings{Targets: []Target{{URL: url}}, Timeout: defaultTimeout}
	}
	tests := []struct {
		name, reason string
		env          map[string]string
		want         Settings // zero: tracing is off
		err          string
	}{
		{name: "nothing"},
		{name: "empty", reason: "an empty variable is none", env: map[string]string{baseEndpoint: " ", publicKey: ""}},
		{
			name: "base", env: map[string]string{baseEndpoint: "http://localhost:4318"},
			want: collector("http://localhost:4318/v1/traces"),
		},
		{
			name: "base with path", env: map[string]string{baseEndpoint: "https://otel.test/x/"},
			want: collector("https://otel.test/x/v1/traces"),
		},
		{
			name: "traces", reason: "the one for traces is taken as it is, and first",
			env:  map[string]string{baseEndpoint: "http://a:1", tracesEndpoint: "http://b:2/in"},
			want: collector("http://b:2/in"),
		},
		{name: "disabled", env: map[string]string{baseEndpoint: "http://a:1", "OTEL_SDK_DISABLED": "TRUE"}},
		{name: "no exporter", env: map[string]string{baseEndpoint: "http://a:1", "OTEL_TRACES_EXPORTER": "none"}},
		{
			name: "disabled and wrong", reason: "what is off is not looked at",
			env: map[string]string{baseEndpoint: "::", "OTEL_SDK_DISABLED": "true"},
		},
		{name: "another exporter", env: map[string]string{
			baseEndpoint:           "http://a:1",
			"OTEL_TRACES_EXPORTER": "console",
		}, err: "want otlp or none"},
		{
			name: "neither true nor false", env: map[string]string{
				baseEndpoint:        "http://a:1",
				"OTEL_SDK_DISABLED": "1",
			},
			err: `OTEL_SDK_DISABLED: "1": want true or false`,
		},
		{
			name: "no URL", env: map[string]string{baseEndpoint: "localhost:4318"},
			err: baseEndpoint + ": want a URL like http://localhost:4318",
		},
		{
			name: "no host", env: map[string]string{tracesEndpoint: "http:///v1/traces"},
			err: tracesEndpoint + ": want a URL",
		},
		{
			name: "password", env: map[string]string{baseEndpoint: "http://me:" + secretText + "@a:1"},
			err: "put keys into OTEL_EXPORTER_OTLP_HEADERS",
		},
		{
			name: "bad password", env: map[string]string{baseEndpoint: "http://me:" + secretText + "%@a:1"},
			err: "want a URL",
		},
		{
			name: "query", reason: "the SDK would leave it out",
			env: map[string]string{baseEndpoint: "http://a:1/?key=1"},
			err: "must not have a query",
		},
		{
			name: "grpc", env: map[string]string{baseEndpoint: "http://a:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
			err: `OTEL_EXPORTER_OTLP_PROTOCOL: "grpc": only http/protobuf is supported`,
		},
		{
			name: "grpc for the rest", env: map[string]string{
				baseEndpoint: "http://a:4318", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
				"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf",
			},
			want: collector("http://a:4318/v1/traces"),
		},
		{name: "compression", env: map[string]string{
			baseEndpoint:                     "http://a:1",
			"OTEL_EXPORTER_OTLP_COMPRESSION": "zstd",
		}, err: "want gzip or none"},
		{
			name: "headers", env: map[string]string{
				baseEndpoint:                 "http://a:1",
				"OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20x, x-tenant = blue",
			},
			want: Settings{
				Targets: []Target{{
					URL:     "http://a:1/v1/traces",
					Headers: map[string]string{"authorization": "Bearer x", "x-tenant": "blue"},
				}},
				Timeout: defaultTimeout,
			},
		},
		{name: "no header", env: map[string]string{baseEndpoint: "http://a:1", "OTEL_EXPORTER_OTLP_HEADERS": "a=b," +
			secretText}, err: "OTEL_EXPORTER_OTLP_HEADERS: entry 2: want name=value"},
		{name: "two lines", reason: "it would be another header", env: map[string]string{
			baseEndpoint:                 "http://a:1",
			"OTEL_EXPORTER_OTLP_HEADERS": "a=b%0d%0ac:d",
		}, err: "entry 1"},
		{
			name: "timeout", env: map[string]string{baseEndpoint: "http://a:1", "OTEL_EXPORTER_OTLP_TIMEOUT": "1500"},
			want: Settings{Targets: []Target{{URL: "http://a:1/v1/traces"}}, Timeout: 1500 * time.Millisecond},
		},
		{name: "no timeout", env: map[string]string{
			baseEndpoint:                        "http://a:1",
			"OTEL_EXPORTER_OTLP_TRACES_TIMEOUT": "0",
		}, err: "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT"},
		{name: "timeout with unit", env: map[string]string{
			baseEndpoint:                 "http://a:1",
			"OTEL_EXPORTER_OTLP_TIMEOUT": "5s",
		}, err: "want a positive number of milliseconds"},
		{
			name: "content", env: map[string]string{
				baseEndpoint: "http://a:1",
				"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY",
			},
			want: Settings{Targets: []Target{{URL: "http://a:1/v1/traces"}}, Timeout: defaultTimeout, Content: true},
		},
		{name: "content as events", reason: "we send none", env: map[string]string{
			baseEndpoint: "http://a:1",
			"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "event_only",
		}, err: "want true or false"},
		{
			name: "public key alone", env: map[string]string{publicKey: "pk"},
			err: "LANGFUSE_PUBLIC_KEY is set, but LANGFUSE_SECRET_KEY is not",
		},
		{
			name: "secret key alone", env: map[string]string{secretKey: secretText, baseEndpoint: "http://a:1"},
			err: "LANGFUSE_SECRET_KEY is set, but LANGFUSE_PUBLIC_KEY is not",
		},
		{
			name: "langfuse", env: map[string]string{publicKey: "pk", secretKey: "sk"},
			want: langfuse("https://cloud.langfuse.com"),
		},
		{name: "own langfuse", env: map[string]string{
			publicKey: "pk", secretKey: "sk",
			"LANGFUSE_BASE_URL": "http://lf.test:3000/",
		}, want: langfuse("http://lf.test:3000")},
		{name: "own langfuse, older name", reason: "the cloud is not asked for", env: map[string]string{
			publicKey: "pk",
			secretKey: "sk", "LANGFUSE_HOST": "http://lf.test",
		}, want: langfuse("http://lf.test")},
		{name: "bad langfuse", env: map[string]string{
			publicKey: "pk", secretKey: secretText,
			"LANGFUSE_BASE_URL": "lf.test",
		}, err: "LANGFUSE_BASE_URL: want a URL"},
		{
			name: "all that is wrong", env: map[string]string{publicKey: "pk", baseEndpoint: "x"},
			err: baseEndpoint + ": want a URL like http://localhost:4318\nLANGFUSE_PUBLIC_KEY is set",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := environment(func(name string) string { return tt.env[name] })
			var got Settings
			on, err := e.wanted()
			if on {
				got, err = e.settings()
			}
			if tt.err != "" {
				require.ErrorContains(t, err, tt.err, tt.reason)
				require.NotContains(t, err.Error(), secretText)
				return
			}
			require.NoError(t, err, tt.reason)
			require.Equal(t, tt.want, got, tt.reason)
		})
	}
}

// langfuse are the settings for the keys pk and sk.
func langfuse(base string) Settings {
	return Settings{Timeout: defaultTimeout, Targets: []Target{{
		URL:       base + "/api/public/otel/v1/traces",
		ScoresURL: base + "/api/public/ingestion",
		Headers:   map[string]string{"Authorization": "Basic cGs6c2s=", "X-Langfuse-Ingestion-Version": "4"},
	}}}
}

func FuzzSettings(f *testing.F) {
	f.Add("http://localhost:4318", "a=b,c=d%20e")
	f.Add("https://u:p@h/?q#f", "=,")
	f.Fuzz(func(t *testing.T, endpoint, headers string) {
		e := environment(func(name string) string {
			switch name {
			case baseEndpoint:
				return endpoint
			case "OTEL_EXPORTER_OTLP_HEADERS":
				return headers
			}
			return ""
		})
		on, err := e.wanted()
		require.NoError(t, err)
		if !on {
			return
		}
		s, err := e.settings()
		if err != nil {
			return
		}
		require.Len(t, s.Targets, 1)
		require.Regexp(t, `^https?://`, s.Targets[0].URL)
		for name, value := range s.Targets[0].Headers {
			require.NotEmpty(t, name)
			require.NotContains(t, name+value, "\n")
		}
	})
}
