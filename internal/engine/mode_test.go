package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseMode(t *testing.T) {
	tests := []struct {
		name, text string
		env        map[string]string
		want       Mode
		err        string
	}{
		{name: "default", want: Replay},
		{name: "record", text: "record", want: Record},
		{name: "live in CI", text: "live", env: map[string]string{"CI": "true"}, want: Live},
		{name: "misspelt", text: "Record", err: `unknown mode "Record": use one of replay, record, missing, live`},
		{
			name: "record in CI", text: "record", env: map[string]string{"CI": "true"},
			err: "mode record is refused because CI is set",
		},
		{
			name: "missing in CI", text: "missing", env: map[string]string{"CI": "1"},
			err: "mode missing is refused because CI is set",
		},
		{name: "CI says no", text: "record", env: map[string]string{"CI": "false"}, want: Record},
		{
			name: "allowed in CI", text: "record", env: map[string]string{"CI": "1", "EVALTEST_RECORD_IN_CI": "1"},
			want: Record,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseMode(tt.text, Replay, func(name string) string { return tt.env[name] })
			if tt.err != "" {
				require.ErrorContains(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
		})
	}
}

func TestParseStaleMode(t *testing.T) {
	m, err := ParseStaleMode("")
	require.NoError(t, err)
	require.Equal(t, StaleFails, m)
	_, err = ParseStaleMode("ignore")
	require.ErrorContains(t, err, `unknown stale mode "ignore": use fail or warn`)
}
