// Package archtest holds the architecture's rules as tests; docs/architecture.md explains them.
package archtest
