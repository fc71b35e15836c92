// Package testrun knows the run of tests that this process is part of: its id, the module, where its output goes, and how
// to stay out of go test's cache.
package testrun
