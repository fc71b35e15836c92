package playbook

import (
	"fmt"
	"regexp"

	"github.com/sdd-eval/sdd-eval/internal/doc"
)

// Cassette says how sessions are recorded.
type Cassette struct {
	// Normalise has patterns of text that differs from run to run, e.g. durations in the output of tests. Nothing but
	// that text is lost: a pattern that matches the empty string is refused.
	Normalise []*regexp.Regexp `yaml:"normalise" doc:"Regular expressions of text that differs from run to run."`

	// MaxDelta bounds the files that one turn may change, in bytes; 0: not given, 16 MiB.
	MaxDelta int64 `yaml:"max_delta" min:"1" max:"1073741824" doc:"Bytes that one turn may change; default 16 MiB."`
}

func (c *Cassette) decode(n *doc.Node) {
	n.Decode(c)
	for i, pattern := range c.Normalise {
		if pattern != nil && pattern.MatchString("") {
			n.Errorf(fmt.Sprintf("normalise[%d]", i), "must not match the empty string")
		}
	}
}
