package capture

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// Check reads the capture of an agent that reported these tools, a name for each call that ran. It detects hooks that
// silently fail because they are not installed, are switched off or their command is not found: a test that expects
// that some tool is not called would pass.
//
// An agent that reported nothing needs no capture. Otherwise, besides the errors of [Read], it is an error if there is
// no capture, or if a tool was reported more often than it was captured. Leave out calls that no hook can see: those of
// tools that do not exist, whose input is malformed, or that the hooks' matcher excludes.
func Check(path string, reported []string) (Capture, error) {
	c, err := Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		if len(reported) == 0 {
			return c, hookErrors(path)
		}
		return c, fmt.Errorf("the agent reported %s (%s), and its hooks captured nothing: are they installed, "+
			"and can the agent run their command?\n%w", calls(len(reported)), listed(reported), err)
	}
	if missing := c.missing(reported); len(missing) > 0 {
		err = errors.Join(fmt.Errorf("the agent reported %s, and of these its hooks did not capture %s: %s",
			calls(len(reported)), calls(len(missing)), listed(missing)), err)
	}
	return c, err
}

// missing returns the tools that were not captured, each as often as it was reported too many times.
func (c Capture) missing(reported []string) []string {
	captured := make(map[string]int)
	for _, call := range c.Calls {
		captured[call.Tool]++
	}
	return slices.DeleteFunc(slices.Clone(reported), func(tool string) bool {
		captured[tool]--
		return captured[tool] >= 0
	})
}

func calls(n int) string {
	if n == 1 {
		return "1 call"
	}
	return fmt.Sprintf("%d calls", n)
}

// listed returns the first names of a list.
func listed(names []string) string {
	const most = 10
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", ..."
	}
	return strings.Join(names, ", ")
}
