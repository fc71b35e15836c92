// Package archtest holds the architecture's rules as tests; docs/architecture.md tells the picture behind them.
package archtest
