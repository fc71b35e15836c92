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

// TestFromEnvironment holds what the environment says of a run, and that a misspelt value is no other.
func TestFromEnvironment(t *testing.T) {
	type env = map[string]string
	tests := []struct {
		name string
		mode Mode
		env  env
		want Config
		err  string
	}{
		{name: "nothing", want: Config{Stale: StaleFails}},
		{name: "sandbox", env: env{"EVALTEST_SANDBOX": "none"}, want: Config{Stale: StaleFails, Sandbox: "none"}},
		{name: "unknown sandbox", env: env{"EVALTEST_SANDBOX": "box"}, err: "EVALTEST_SANDBOX: "},
		{name: "stale", env: env{"EVALTEST_STALE": "warn"}, want: Config{Stale: StaleWarns}},
		{name: "unknown stale", env: env{"EVALTEST_STALE": "x"}, err: "EVALTEST_STALE: "},
		{name: "judge", env: env{"EVAL_LLM_JUDGE": "1"}, want: Config{Stale: StaleFails, LLMJudge: true}},
		{name: "no judge", env: env{"EVAL_LLM_JUDGE": "0"}, want: Config{Stale: StaleFails}},
		{name: "unknown judge", env: env{"EVAL_LLM_JUDGE": "yes"}, err: `EVAL_LLM_JUDGE: unknown value "yes"`},
		{name: "parallel", env: env{"EVALTEST_PARALLEL": "1"}, want: Config{Stale: StaleFails, Parallel: 1}},
		{name: "none parallel", env: env{"EVALTEST_PARALLEL": "0"}, err: `EVALTEST_PARALLEL: "0" must be`},
		{name: "no number", env: env{"EVALTEST_PARALLEL": "x"}, err: `EVALTEST_PARALLEL: "x" must be`},
		{
			name: "judges", env: env{"EVALTEST_JUDGES": "record"},
			want: Config{Stale: StaleFails, RecordJudges: true},
		},
		{name: "unknown judges", env: env{"EVALTEST_JUDGES": "x"}, err: `EVALTEST_JUDGES: unknown value "x"`},
		{
			name: "live judges", mode: Live, env: env{"EVALTEST_JUDGES": "record"},
			err: "EVALTEST_JUDGES: in mode live nothing is recorded",
		},
		{
			name: "judges in CI", env: env{"EVALTEST_JUDGES": "record", "CI": "1"},
			err: "recording judgements is refused because CI is set",
		},
		{
			name: "judges in CI, not allowed", err: "recording judgements is refused because CI is set",
			env: env{"EVALTEST_JUDGES": "record", "CI": "1", "EVALTEST_RECORD_IN_CI": "0"},
		},
		{
			name: "judges in CI, allowed", want: Config{Stale: StaleFails, RecordJudges: true},
			env: env{"EVALTEST_JUDGES": "record", "CI": "1", "EVALTEST_RECORD_IN_CI": "1"},
		},
		{name: "misspelt", env: env{"EVALTEST_MDOE": "live"}, err: "write EVALTEST_MODE"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var environ []string
			for name, value := range tt.env {
				environ = append(environ, name+"="+value)
			}
			got, err := FromEnvironment(tt.mode, func(name string) string { return tt.env[name] }, environ)
			if tt.err != "" {
				require.ErrorContains(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, environ, got.Environ)
			got.Getenv, got.Environ = nil, nil
			require.Equal(t, tt.want, got)
		})
	}
}
