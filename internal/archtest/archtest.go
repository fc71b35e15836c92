// Package archtest tests that the code follows the architecture's rules, which docs/architecture.md explains. What the
// code does is tested in its own packages.
package archtest
