package tracing

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/secret"
)

// Settings are the settings of tracing in the environment.
type Settings struct {
	// Targets are the receivers of spans, at least one.
	Targets []Target
	// Timeout is the limit for each request, and for the time that all Close calls of a process together wait for a
	// target that does not respond.
	Timeout time.Duration
	// Content says that prompts, messages, arguments and results of tools, and reasons are sent, too.
	Content bool
}

// Target is one receiver of spans.
type Target struct {
	// URL receives the spans.
	URL string
	// Headers are sent with each request.
	Headers map[string]string
	// ScoresURL receives the scores in Langfuse's format, since Langfuse ignores those in spans. Empty: spans have
	// them.
	ScoresURL string
	// Certificate is the file with the authorities that check the target's certificate; empty: the system's.
	// ClientCertificate and ClientKey are the files of our own certificate; empty: none.
	Certificate, ClientCertificate, ClientKey string
}

// defaultTimeout is the timeout if the environment sets none. The 10 s of the OpenTelemetry specification are a long
// time to wait at the end of a test.
const defaultTimeout = 5 * time.Second

// langfuseCloud is the default of Langfuse's own libraries.
const langfuseCloud = "https://cloud.langfuse.com"

// The variables that are used in several places.
const (
	tracesEndpoint = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	baseEndpoint   = "OTEL_EXPORTER_OTLP_ENDPOINT"
	publicKey      = "LANGFUSE_PUBLIC_KEY"
	secretKey      = "LANGFUSE_SECRET_KEY"
)

// environment reads variables. Empty variables count as not set, as OpenTelemetry requires.
type environment func(string) string

// first returns the first of the variables that is set.
func (e environment) first(names ...string) (name, value string) {
	for _, name := range names {
		if value := strings.TrimSpace(e(name)); value != "" {
			return name, value
		}
	}
	return "", ""
}

// otlp returns a variable of the exporter: the one for traces or else the one for all signals.
func (e environment) otlp(name string) (found, value string) {
	return e.first("OTEL_EXPORTER_OTLP_TRACES_"+name, "OTEL_EXPORTER_OTLP_"+name)
}

// wanted reports whether the environment asks for tracing.
func (e environment) wanted() (bool, error) {
	if name, _ := e.first(tracesEndpoint, baseEndpoint, publicKey, secretKey); name == "" {
		return false, nil
	}
	disabled, err := e.flag("OTEL_SDK_DISABLED")
	if err != nil || disabled {
		return false, err
	}
	switch _, exporter := e.first("OTEL_TRACES_EXPORTER"); exporter {
	case "", "otlp":
		return true, nil
	case "none":
		return false, nil
	default:
		return false, fmt.Errorf("OTEL_TRACES_EXPORTER: %q: want otlp or none", exporter)
	}
}

func (e environment) flag(name string) (bool, error) {
	switch _, value := e.first(name); strings.ToLower(value) {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	default:
		return false, fmt.Errorf("%s: %q: want true or false", name, value)
	}
}

// settings reads all settings. The error has everything that is wrong with them.
func (e environment) settings() (s Settings, err error) {
	collector, collectorErr := e.collector()
	langfuse, langfuseErr := e.langfuse()
	for _, t := range []*Target{collector, langfuse} {
		if t != nil {
			s.Targets = append(s.Targets, *t)
		}
	}
	var timeoutErr, contentErr error
	s.Timeout, timeoutErr = e.timeout()
	s.Content, contentErr = e.content()
	return s, errors.Join(collectorErr, langfuseErr, timeoutErr, contentErr)
}

// collector returns the collector in the variables OTEL_EXPORTER_OTLP_*, nil if there is none.
func (e environment) collector() (*Target, error) {
	name, endpoint := e.otlp("ENDPOINT")
	if name == "" {
		return nil, nil
	}
	u, err := parseURL(name, endpoint)
	if err != nil {
		return nil, err
	}
	if name == baseEndpoint {
		u = u.JoinPath("v1", "traces")
	}
	if name, protocol := e.otlp("PROTOCOL"); protocol != "" && protocol != "http/protobuf" {
		return nil, fmt.Errorf("%s: %q: only http/protobuf is supported: "+
			"set OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf and %s to a port that speaks it, usually 4318, "+
			"or OTEL_TRACES_EXPORTER=none", name, protocol, tracesEndpoint)
	}
	if name, compression := e.otlp("COMPRESSION"); compression != "" && compression != "gzip" && compression != "none" {
		return nil, fmt.Errorf("%s: %q: want gzip or none", name, compression)
	}
	headers, err := e.headers()
	if err != nil {
		return nil, err
	}
	t := &Target{URL: u.String(), Headers: headers}
	_, t.Certificate = e.otlp("CERTIFICATE")
	_, t.ClientCertificate = e.otlp("CLIENT_CERTIFICATE")
	_, t.ClientKey = e.otlp("CLIENT_KEY")
	return t, nil
}

// headers parses lists like `name=value,name2=value%202`. Errors do not quote them, since they contain keys.
func (e environment) headers() (map[string]string, error) {
	name, list := e.otlp("HEADERS")
	if list == "" {
		return nil, nil
	}
	headers := make(map[string]string)
	for i, pair := range strings.Split(list, ",") {
		key, value, ok := strings.Cut(pair, "=")
		key = strings.TrimSpace(key)
		value, err := url.PathUnescape(value)
		invalidKey := key == "" || strings.ContainsFunc(key, notInHeaderName)
		if !ok || err != nil || invalidKey || strings.ContainsAny(value, "\r\n\x00") {
			return nil,
				fmt.Errorf("%s: entry %d: want name=value with a percent-encoded value; commas separate entries",
					name, i+1)
		}
		headers[key] = strings.TrimSpace(value)
	}
	return headers, nil
}

func notInHeaderName(r rune) bool {
	return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
}

// langfuse returns the Langfuse project in the variables LANGFUSE_*, nil if there is none.
func (e environment) langfuse() (*Target, error) {
	_, public := e.first(publicKey)
	_, secret := e.first(secretKey)
	switch {
	case public == "" && secret == "":
		return nil, nil
	case secret == "":
		return nil, fmt.Errorf("%s is set, but %s is not: Langfuse needs both", publicKey, secretKey)
	case public == "":
		return nil, fmt.Errorf("%s is set, but %s is not: Langfuse needs both", secretKey, publicKey)
	}
	// Accept the older name, too: traces for the user's own server must not go to the cloud.
	name, base := e.first("LANGFUSE_BASE_URL", "LANGFUSE_HOST")
	u, err := parseURL(name, cmp.Or(base, langfuseCloud))
	if err != nil {
		return nil, err
	}
	basic := base64.StdEncoding.EncodeToString([]byte(public + ":" + secret))
	return &Target{
		URL: u.JoinPath("api", "public", "otel", "v1", "traces").String(),
		// Without the version, Langfuse shows the spans only after some time.
		Headers:   map[string]string{"Authorization": "Basic " + basic, "X-Langfuse-Ingestion-Version": "4"},
		ScoresURL: u.JoinPath("api", "public", "ingestion").String(),
	}, nil
}

// parseURL rejects parts of URLs that the exporter would ignore or misunderstand. Its errors quote no password.
func parseURL(name, value string) (*url.URL, error) {
	u, err := url.Parse(value)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return nil, fmt.Errorf("%s: want a URL like http://localhost:4318", name)
	case u.User != nil:
		return nil,
			fmt.Errorf("%s: the URL must not have a user or a password: put keys into OTEL_EXPORTER_OTLP_HEADERS", name)
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("%s: the URL %q must not have a query or a fragment", name, value)
	}
	return u, nil
}

func (e environment) timeout() (time.Duration, error) {
	name, value := e.otlp("TIMEOUT")
	if value == "" {
		return defaultTimeout, nil
	}
	ms, err := strconv.ParseInt(value, 10, 32)
	if err != nil || ms <= 0 {
		return 0, fmt.Errorf("%s: %q: want a positive number of milliseconds", name, value)
	}
	return time.Duration(ms) * time.Millisecond, nil
}

// content reports whether content is sent. Other libraries have more values than true and false: those that put content
// into spans mean true here.
func (e environment) content() (bool, error) {
	const name = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
	switch _, value := e.first(name); strings.ToLower(value) {
	case "", "false", "no_content":
		return false, nil
	case "true", "span_only", "span_and_event":
		return true, nil
	default:
		return false, fmt.Errorf("%s: %q: want true or false", name, value)
	}
}

// mark adds the targets' keys to the secrets.
func (s Settings) mark(secrets *secret.Set) {
	for _, t := range s.Targets {
		for name, value := range t.Headers {
			if !strings.EqualFold(name, "Authorization") {
				secrets.Add(name, value)
				continue
			}
			_, key, ok := strings.Cut(value, " ") // after "Basic" or "Bearer"
			if !ok {
				key = value
			}
			secrets.Mark(name, key)
		}
	}
}
