package otlp

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/tracing"
)

// connect returns what reaches a target. Its connections are its own and end with the target.
func connect(t tracing.Target, timeout time.Duration) (http.RoundTripper, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.Certificate != "" {
		pem, err := os.ReadFile(t.Certificate)
		if err != nil {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CERTIFICATE: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CERTIFICATE: %s: no certificate in PEM", t.Certificate)
		}
	}
	if t.ClientCertificate != "" || t.ClientKey != "" {
		pair, err := tls.LoadX509KeyPair(t.ClientCertificate, t.ClientKey)
		if err != nil {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_KEY: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: timeout}).DialContext,
		TLSClientConfig: config, TLSHandshakeTimeout: timeout, ForceAttemptHTTP2: true,
	}, nil
}
