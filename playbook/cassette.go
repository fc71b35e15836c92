package playbook

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/doc"
)

// Cassette says how sessions are recorded and replayed.
type Cassette struct {
	// Level is what is replayed; empty: [LevelRun].
	Level Level `yaml:"level" enum:"run,client,mcp,client+mcp" default:"run" doc:"run: replay the whole session. Others run the agent, and replay what it asks of its client, of MCP servers, or both."`

	// Normalise has patterns of text that differs from run to run, e.g. durations in the output of tests. Only that
	// text is lost: a pattern that matches the empty string is refused.
	Normalise []*regexp.Regexp `yaml:"normalise" doc:"Regular expressions of text that differs from run to run."`

	// MaxDelta bounds the files that one turn may change, in bytes; 0: not given, 16 MiB.
	MaxDelta int64 `yaml:"max_delta" min:"1" max:"1073741824" doc:"Bytes that one turn may change; default 16 MiB."`

	MaxAge MaxAge `yaml:"max_age" doc:"How old a recording may be."`

	// Overrides replace answers of tools.
	Overrides []Override `yaml:"overrides" min:"1" doc:"Answers of tools that are to be others than they were, for edge cases."`

	// AllowUnused are tools whose recorded answers need not all be used; `*` stands for anything. Not at [LevelRun].
	AllowUnused []string `yaml:"allow_unused" min:"1" doc:"Tools of which not all recorded answers have to be asked for; * stands for anything. Not with level run."`
}

// MaxAge says after how many days a recording is too old; 0: never. Age alone never causes a new recording.
type MaxAge struct {
	Warn Days `yaml:"warn" doc:"Replay an older recording with a warning, e.g. 30d."`
	Fail Days `yaml:"fail" doc:"An older recording is an error, e.g. 90d."`
}

func (m *MaxAge) decode(n *doc.Node) {
	if n.Decode(m) && m.Fail > 0 && m.Warn >= m.Fail {
		n.Errorf("warn", "must be less than `fail`, or nobody is ever warned")
	}
}

// Days is a number of days, written 90d.
type Days int

var days = regexp.MustCompile(`^[1-9][0-9]{0,3}d$`)

// UnmarshalText implements [encoding.TextUnmarshaler].
func (d *Days) UnmarshalText(text []byte) error {
	if !days.Match(text) {
		return fmt.Errorf("must be a number of days like \"90d\", not %q", text)
	}
	n, err := strconv.Atoi(strings.TrimSuffix(string(text), "d"))
	*d = Days(n)
	return err
}

func (c *Cassette) decode(n *doc.Node) {
	n.Decode(c)
	for i, pattern := range c.Normalise {
		if pattern != nil && pattern.MatchString("") {
			n.Errorf(fmt.Sprintf("normalise[%d]", i), "must not match the empty string")
		}
	}
}
