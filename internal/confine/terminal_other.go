//go:build !linux

package confine

import "os"

// openTerminal makes a pseudo-terminal and returns its master and its path.
func openTerminal() (master *os.File, path string, err error) { return nil, "", errNotLinux }
