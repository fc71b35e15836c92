package confine

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/supervise"
)

// Policy says what a process and its descendants may touch, besides what every program needs: the system's programs and
// libraries, and devices such as /dev/null. Paths are absolute. One that does not exist is passed over.
type Policy struct {
	// Write are files and directories that may be read and changed, with all that is below.
	Write []string
	// Read are files and directories that may be read, with all that is below.
	Read []string
	// Programs are programs that the process may start beside those of the system and of its PATH, by their absolute paths
	// or by names in PATH. What is installed with them may be read. What is neither is passed over.
	Programs []string
	// Hide are files and directories below those of Read that may not be read.
	Hide []string
	// Private are directories that are not shown as a whole even if a program is installed in them, such as a project's
	// root. Users' homes are private in any case.
	Private []string
	// Connect are directories of Write below which the process may connect to unix sockets of ours.
	Connect []string
	// Network lets the process reach the network as we do. Without it there is at most a loopback of its own.
	Network bool
}

// paths returns the paths of the programs, as far as there are such programs.
func (p Policy) paths(env []string) []string {
	var paths []string
	for _, name := range p.Programs {
		if strings.Contains(name, "/") && !filepath.IsAbs(name) {
			continue
		}
		c := supervise.Command{Path: name, Env: env}
		path, err := c.Program()
		if err != nil {
			continue
		}
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			paths = append(paths, path)
		}
	}
	return paths
}
