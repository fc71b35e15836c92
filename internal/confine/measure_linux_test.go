package confine

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/helper"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
)

// ofAnotherVersion is a sandbox that works, with probers that do not.
type ofAnotherVersion struct{ method }

func (m ofAnotherVersion) confine(c *supervise.Command, v view) error {
	c.Args = []string{c.Path, "0123456789abcdef", helper.Prober}
	return m.method.confine(c, v)
}

// TestProberFails: that a prober fails says nothing about the sandbox, and is no reason to go without one.
func TestProberFails(t *testing.T) {
	for kind, m := range map[Kind]method{Bwrap: bwrap{}, Landlock: landlock{}} {
		t.Run(string(kind), func(t *testing.T) {
			_, err := measure(t.Context(), kind, ofAnotherVersion{m})
			require.Error(t, err)
			e := &UnavailableError{Kind: Auto}
			e.add(kind, err)
			assert.EqualError(t, e, "a sandbox starts on this machine, but what it holds could not be tried: "+string(kind)+
				": a process in it did not do its work: exit code 3: sdd-eval-helper: this is version "+helper.Key()+
				" of the helper, and version 0123456789abcdef is wanted")
			assert.Empty(t, e.Advice())
		})
	}
}
