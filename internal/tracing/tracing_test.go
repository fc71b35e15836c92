package tracing

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/secret"
)

func none(string) string { return "" }

func TestOff(t *testing.T) {
	tracer, err := Open(Config{Getenv: none})
	require.NoError(t, err)
	require.Nil(t, tracer)
	tracer.Unit(result.Unit{})
	require.NoError(t, tracer.Close())
	require.Zero(t, testing.AllocsPerRun(100, func() {
		tracer, _ := Open(Config{Getenv: none})
		tracer.Unit(result.Unit{})
		_ = tracer.Close()
	}))
}

func TestNotLinked(t *testing.T) {
	_, err := Open(Config{Getenv: func(name string) string {
		return map[string]string{baseEndpoint: "http://a:1", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}[name]
	}})
	require.ErrorIs(t, err, ErrNotLinked, "what cannot trace does not complain about how it is asked to")
}

func TestOpenFails(t *testing.T) {
	wrong := errors.New("no such certificate")
	var secrets *secret.Set
	Register(func(c Config, _ Settings) (Sender, error) { secrets = c.Secrets; return nil, wrong })
	t.Cleanup(func() { Register(nil) })
	tracer, err := Open(Config{Getenv: func(name string) string {
		return map[string]string{
			baseEndpoint:                 "http://a:1",
			"OTEL_EXPORTER_OTLP_HEADERS": "Authorization=Bearer%20" + secretText,
		}[name]
	}})
	require.ErrorIs(t, err, wrong)
	require.Nil(t, tracer)
	require.NotContains(t, secrets.String("sent "+secretText), secretText)
}

func BenchmarkOff(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		tracer, err := Open(Config{Getenv: none})
		if tracer != nil || err != nil {
			b.Fatal(tracer, err)
		}
		tracer.Unit(result.Unit{})
		_ = tracer.Close()
	}
}
