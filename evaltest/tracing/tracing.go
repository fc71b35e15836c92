// Package tracing lets tests send traces. It is imported for that alone:
//
//	import _ "github.com/sdd-eval/sdd-eval/evaltest/tracing"
//
// Then the units that evaltest runs are sent, as spans after the OpenTelemetry conventions for generative AI, to the
// collector that OTEL_EXPORTER_OTLP_ENDPOINT names, or to Langfuse if LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY are
// set. Without these variables nothing happens. Test binaries that do not import it do not link the OpenTelemetry SDK.
package tracing

import _ "github.com/sdd-eval/sdd-eval/internal/tracing/otlp" // registers itself
