package evaltest

// Option changes how [Describe], [Suite.Run] and [RunAgent] work.
type Option func(*settings)

type settings struct {
	checks    []check
	overrides []override
	cassettes string
	configDir string
}

// Cassettes sets the directory of the cassettes. It is relative to the module's root; the default is "cassettes".
func Cassettes(dir string) Option {
	return func(s *settings) { s.cassettes = dir }
}

// ConfigDir sets the directory in which account presets are looked up when an agent is started. The default is
// $LLMAN_CONFIG_DIR, else llman in the user's configuration directory.
func ConfigDir(dir string) Option {
	return func(s *settings) { s.configDir = dir }
}
