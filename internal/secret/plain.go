package secret

import (
	"net/url"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
)

// plain reports whether a variable is a plain setting, which is not masked: to mask 1 or a model's name would spoil every
// record and hide nothing. This is the whole list. credential says that the variable looks like one.
func plain(name, value string, credential bool) bool {
	words := strings.Split(strings.ToUpper(name), "_")
	last := words[len(words)-1]
	switch {
	case value == "" || slices.Contains(switches, strings.ToLower(value)):
		return true
	case number.MatchString(value):
		return len(value) < wordSize || slices.Contains(amounts, last)
	case hasKeyShape(value):
		return false
	case slices.Contains(pathNames, last) || name == "GOOGLE_APPLICATION_CREDENTIALS":
		return path.MatchString(value)
	case credential:
		return false
	case slices.ContainsFunc(words, func(w string) bool { return slices.Contains(identifiers, w) }):
		return identifier.MatchString(value)
	}
	return isBaseURL(value)
}

var (
	switches = []string{
		"0", "1", "true", "false", "yes", "no", "on", "off", "enabled", "disabled", "auto", "default", "none", "null",
	}
	// amounts end the names of numbers.
	amounts = []string{"TOKENS", "MS", "SECONDS", "TIMEOUT", "SIZE", "BYTES", "LIMIT"}
	number  = lazyregexp.New(`^-?[0-9]+(\.[0-9]+)?$`)
	// pathNames end the names of files and directories.
	pathNames = []string{"DIR", "FILE", "HOME", "PATH", "SHELL", "SOCK"}
	path      = lazyregexp.New(`^(/|~/|\./|[A-Za-z]:\\)[^\n]*$`)
	// identifiers are words in the names of models, regions and the like.
	identifiers = []string{"MODEL", "REGION", "LOCATION", "PROVIDER", "DEPLOYMENT", "VERSION"}
	identifier  = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._:/@\[\]-]{0,127}$`)
)

// isBaseURL reports whether the value is the address of a service, with nothing in it that could be a key.
func isBaseURL(value string) bool {
	u, err := url.Parse(value)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return false
	}
	return slices.Contains([]string{"http", "https", "ws", "wss"}, u.Scheme) && !opaque.MatchString(u.Path)
}

// opaque finds what people do not write: a key in a path.
var opaque = lazyregexp.New(`[A-Za-z0-9]{20}`)

var userInfo = lazyregexp.New(`://([^/@\s:]*):([^/@\s]+)@`)

// passwordInURL returns the password of the first URL in value that has one worth masking by itself: those of
// development, such as postgres:postgres, would be masked in every other line.
func passwordInURL(value string) (password string, ok bool) {
	found := userInfo.FindStringSubmatch(value)
	if found == nil {
		return "", false
	}
	user, password := found[1], found[2]
	if decoded, err := url.PathUnescape(password); err == nil {
		password = decoded
	}
	return password, len(password) >= wordSize && password != user
}
