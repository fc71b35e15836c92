package secret

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/environ"
)

// fileValueSize is the length in bytes from which on a text in a file of an account is taken for a secret, if it does
// not have the name of one.
const fileValueSize = 16

// AddFile adds what is secret in a file of an account, such as one with the tokens of a plan. Of JSON these are the
// strings that are long enough to be a credential, of any other text its lines and what they assign. A file of one line
// is secret as a whole, too. Plain settings (see plain) are not secrets.
func (s *Set) AddFile(name string, data []byte) {
	name = filepath.Base(name)
	text := strings.TrimSpace(strings.TrimPrefix(string(data), "\ufeff"))
	if len(text) >= wordSize && !strings.ContainsAny(text, "\r\n") {
		s.Mark(name, text)
	}
	var value any
	if json.Unmarshal([]byte(text), &value) == nil {
		s.addValues(name, "", value)
		return
	}
	for line := range lines(text) {
		line = strings.TrimSpace(line)
		if !strings.ContainsAny(line, " \t") {
			s.addValue(name, "", line)
		}
		if at := strings.IndexAny(line, "=:"); at >= 0 {
			s.addValue(name, strings.TrimSpace(line[:at]), strings.Trim(line[at+1:], " \t\"',;"))
		}
	}
}

// addValues adds the strings in a JSON value.
func (s *Set) addValues(name, key string, value any) {
	switch value := value.(type) {
	case string:
		s.addValue(name, key, value)
	case []any:
		for _, item := range value {
			s.addValues(name, key, item)
		}
	case map[string]any:
		for key, item := range value {
			s.addValues(name, key, item)
		}
	}
}

// addValue adds a text of a file, unless it is short or a plain setting.
func (s *Set) addValue(name, key, value string) {
	value = strings.TrimSpace(value)
	if strings.ContainsAny(value, "\r\n") { // a key, in lines; any of them alone tells
		for line := range lines(value) {
			s.addValue(name, key, line)
		}
		return
	}
	key = strings.ReplaceAll(key, "-", "_")
	credential := environ.IsCredential(key, value)
	if len(value) < wordSize || len(value) < fileValueSize && !credential || strings.HasPrefix(value, "-----") {
		return
	}
	if plain(key, value, credential) {
		return
	}
	if key != "" {
		name += "." + key
	}
	s.Mark(name, value)
}
