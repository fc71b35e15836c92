package secret

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestHeadsInJSON(t *testing.T) {
	tests := []struct {
		name, reason, text, raw string
		want                    bool
	}{
		{name: "nothing", text: "secret", raw: `{"a":"a se cret\n\t\"\\"}`},
		{name: "at an even place", text: "secret", raw: `{"a":" secret"}`, want: true},
		{name: "at an odd place", text: "secret", raw: `{"a":"secret"}`, want: true},
		{
			name: "the head alone", reason: "the rest may be escaped",
			text: "sec\"ret", raw: `{"a":"sec\"ret"}`, want: true,
		},
		{name: "at the end", text: "123", raw: `[0,123`, want: true},
		{name: "escaped at will", text: "secret", raw: `"\u0073ecret"`, want: true},
		{name: "an escaped slash", text: "a/secret", raw: `"a\/secret"`, want: true},
		{name: "a quote", text: `a"secret`, raw: `"a\"secret"`, want: true},
		{name: "a backslash", text: `a\secret`, raw: `"a\\secret"`, want: true},
		{name: "a line break", text: "a\nsecret", raw: `"a\nsecret"`, want: true},
		{name: "shorter than a head", reason: "it may be the last of all", text: "7", raw: `7`, want: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var h heads
			h.add(tt.text)
			assert.Equal(t, tt.want, h.inJSON([]byte(tt.raw)), tt.reason)
		})
	}
}
