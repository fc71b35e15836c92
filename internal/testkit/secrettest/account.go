package secrettest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Secrets are the secrets of an account, by the names of their variables: one that every writer has to escape, one that
// can be a file's name, a part of that one, one that overlaps it, and one of two lines.
var Secrets = map[string]string{
	"ANTHROPIC_AUTH_TOKEN": "sk-" + `test-q"uo\te/plus+é<&>'and spaces`,
	"SERVICE_TOKEN":        "sk-" + "test-file-name-0123456789",
	"INNER_TOKEN":          "name-0123456",
	"OVERLAP_TOKEN":        "0123456789-and-further",
	"SIGNING_KEY":          "first line of a key\nsecond line of a key",
}

// Settings are the account's variables that are no secrets: where they are shown, not everything is masked.
var Settings = map[string]string{
	"X": "1", "ANTHROPIC_MODEL": "claude-test-model-4", "ANTHROPIC_BASE_URL": "http://127.0.0.1:1/base/v1",
}

// Preset returns the account as a preset for Claude, in TOML.
func Preset(name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[groups.%s]\n", name)
	for _, variables := range []map[string]string{Secrets, Settings} {
		for _, name := range slices.Sorted(maps.Keys(variables)) {
			fmt.Fprintf(&b, "%s = %s\n", name, strconv.Quote(variables[name]))
		}
	}
	return b.String()
}

// Texts are what nothing may show: the secrets, the lines of that which has several, and the halves of those that are
// long, since what is cut before it is masked shows the rest.
func Texts() (all []string) {
	for _, value := range Secrets {
		all = append(all, value)
		if lines := strings.Split(value, "\n"); len(lines) > 1 {
			all = append(all, lines...)
		}
		if n := len(value); n >= 24 {
			all = append(all, value[:n/2], value[n/2:])
		}
	}
	return all
}

// AllForms are all secrets in all their forms, and the settings, in one text of many lines.
func AllForms() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(Secrets)) {
		for _, form := range Forms(Secrets[name]) {
			fmt.Fprintf(&b, "%s (%s)\n", form, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(Settings)) {
		fmt.Fprintf(&b, "%s=%s\n", name, Settings[name])
	}
	return b.String()
}
