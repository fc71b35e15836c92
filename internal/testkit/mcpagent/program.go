package mcpagent

import (
	"os"
	"path/filepath"
	"syscall"
)

// programs are what a test binary can be, by the name under which it was started.
var programs = map[string]func() int{
	"mcp-agent":  func() int { return Main(os.Stdin, os.Stdout) },
	"mcp-stock":  Serve,
	"mcp-silent": func() int { return Silent(os.Stdin) },
}

// init makes a test binary one of the programs if it was started as that. It ends by the bare system call, as its exit is no
// test's.
func init() {
	if program, ok := programs[filepath.Base(os.Args[0])]; ok {
		syscall.Exit(program())
	}
}

// Install makes the programs mcp-agent, mcp-stock and mcp-silent in a directory: links to the test binary, which has to
// import this package.
func Install(dir string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for name := range programs {
		if err := os.Symlink(self, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}
