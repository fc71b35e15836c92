package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/sandbox"
)

// shortSecret is the length up to which a value is too common to be looked for.
const shortSecret = 7

// secretsOf returns the values of a launch that no recording may hold, by the names of their variables: those that the
// preset marks, and those that look like credentials.
func secretsOf(l agent.Launch) map[string]string {
	secrets := make(map[string]string)
	for name, value := range l.Env {
		marked := slices.Contains(l.SecretNames, name)
		if len(value) > shortSecret && (marked || sandbox.IsCredential(name, value)) {
			secrets[name] = value
		}
	}
	return secrets
}

// checkLeak returns an error if the turns show a secret: agents print their environment, and recordings are committed.
func checkLeak(turns []cassette.Turn, secrets map[string]string) error {
	var leaked []string
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		if shows(turns, secrets[name]) {
			leaked = append(leaked, name)
		}
	}
	if leaked == nil {
		return nil
	}
	return fmt.Errorf("leak: the session shows the value of %s; no cassette was written", strings.Join(leaked, ", "))
}

func shows(turns []cassette.Turn, secret string) bool {
	escaped, _ := json.Marshal(secret) // as it stands inside a string of JSON
	escaped = escaped[1 : len(escaped)-1]
	for _, t := range turns {
		for _, e := range t.Events {
			if body, err := json.Marshal(e.Body); err != nil || bytes.Contains(body, escaped) {
				return true
			}
		}
		for _, c := range t.Delta.Changes {
			if bytes.Contains(c.Data, []byte(secret)) || strings.Contains(c.Path, secret) || strings.Contains(c.Target, secret) {
				return true
			}
		}
	}
	return false
}
