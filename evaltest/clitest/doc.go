// Package clitest tests command-line tools.
//
//	func TestList(t *testing.T) {
//		tool := clitest.Build(t, "../cmd/shop")
//		r := clitest.Command(t, tool, "list", "--json").Run() // has to exit with 0 within 30 seconds
//		var items []struct{ Name string }
//		r.JSON(&items)
//		require.Len(t, items, 3)
//	}
//
// A tool runs with empty standard input, without a terminal, and with an environment that is built, not inherited. It
// has a timeout, and nothing that it started survives it, whatever sessions and process groups it made (on systems
// other than Linux, processes that leave the tool's process group do).
//
// When a test fails, the log says of each command that it ran where and how it ran, how it ended, what it printed, and
// how to run it by hand. Values that look like credentials are masked there.
//
// A test that runs a tool depends on more than the go command can track. Its result therefore never comes from go
// test's cache.
package clitest
