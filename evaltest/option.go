package evaltest

// Option changes how [Describe] works: [Check], [Override] or [Dirs].
type Option interface{ apply(*settings) }

type settings struct {
	checks    []check
	overrides []override
	dirs      Dirs
}

// Dirs says where recordings and accounts are. The zero value is right for most modules.
type Dirs struct {
	// Cassettes is the directory of the cassettes, relative to the module's root; empty: "cassettes".
	Cassettes string
	// Config is the directory in which account presets are looked up when an agent is started; empty:
	// $LLMAN_CONFIG_DIR, else llman in the user's configuration directory.
	Config string
}

func (d Dirs) apply(s *settings)     { s.dirs = d }
func (c check) apply(s *settings)    { s.checks = append(s.checks, c) }
func (o override) apply(s *settings) { s.overrides = append(s.overrides, o) }
