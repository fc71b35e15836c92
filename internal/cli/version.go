package cli

import (
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/engine"
)

// tool is this program as the files that it writes name it.
const tool = "sdd-eval " + engine.Version

// versionLine tells which program this is, and what it was built from with which Go.
func versionLine() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return tool
	}
	source := strings.Trim(info.Main.Version, "()") // (devel): go does not know
	if source == "" {
		source = "devel"
	}
	return fmt.Sprintf("%s (%s, %s)", tool, source, info.GoVersion)
}
