package result

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWrongEnd(t *testing.T) {
	refusal := []string{StopRefusal}
	tests := []struct {
		name   string
		stop   string
		ending Ending
		want   string
	}{
		{"never began", "", Ending{ExpectStop: refusal}, ""},
		{"as usual", StopEndTurn, Ending{Sent: 1}, ""},
		{"a loop that used its budget", StopByLimit, Ending{Sent: 6}, ""},
		{
			"a loop that should be refused", StopByLimit,
			Ending{ExpectStop: refusal},
			"expect_stop: the session ended with completed-by-limit, not with refusal",
		},
		{"a loop that should be finished", StopByLimit, Ending{ExpectStop: []string{StopEndTurn}}, ""},
		{"refusal", StopRefusal, Ending{Sent: 1}, "the session ended early: refusal"},
		{"refusal of the last prompt", StopRefusal, Ending{Sent: 2}, "the session ended early, at prompt 2: refusal"},
		{"our limit", StopTokenLimit, Ending{Sent: 1}, "the session ended early: token_limit, by limits.max_tokens"},
		{
			"one was not sent", StopRefusal,
			Ending{Sent: 1, Unsent: 1},
			"the session ended early, at prompt 1 of 2: refusal; prompt 2 was not sent",
		},
		{
			"two were not sent", StopRefusal,
			Ending{Sent: 2, Unsent: 2},
			"the session ended early, at prompt 2 of 4: refusal; prompts 3 and 4 were not sent",
		},
		{
			"several were not sent", StopRefusal,
			Ending{Sent: 1, Unsent: 4},
			"the session ended early, at prompt 1 of 5: refusal; prompts 2 to 5 were not sent",
		},
		{"expected", StopRefusal, Ending{ExpectStop: refusal, Sent: 2}, ""},
		{"one of those expected", StopRefusal, Ending{ExpectStop: []string{StopEndTurn, StopRefusal}}, ""},
		{
			"expected, too soon", StopRefusal,
			Ending{ExpectStop: refusal, Sent: 1, Unsent: 1},
			"the session ended early, at prompt 1 of 2: refusal; prompt 2 was not sent",
		},
		{
			"expected, at any prompt", StopRefusal,
			Ending{ExpectStop: []string{StopRefusal, Unsent}, Sent: 1, Unsent: 1},
			"",
		},
		{
			"other than expected, at any prompt", StopMaxTokens,
			Ending{ExpectStop: []string{StopRefusal, Unsent}, Sent: 1, Unsent: 1},
			"expect_stop: the session ended with max_tokens, not with refusal; prompt 2 was not sent",
		},
		{"decided, before all prompts were sent", StopDecided, Ending{Sent: 1, Unsent: 2}, ""},
		{"decided, as expected", StopDecided, Ending{ExpectStop: []string{StopDecided}}, ""},
		{
			"decided, and not refused", StopDecided,
			Ending{ExpectStop: refusal},
			"expect_stop: the session ended with decided, not with refusal",
		},
		{
			"other than expected", StopMaxTokens,
			Ending{ExpectStop: refusal, ExpectedAt: "a.yaml:3"},
			"a.yaml:3: expect_stop: the session ended with max_tokens, not with refusal",
		},
		{
			"finished against expectation", StopEndTurn,
			Ending{ExpectStop: []string{StopRefusal, StopCancelled}},
			"expect_stop: the session ended with end_turn, not with refusal or cancelled",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, Unit{Stop: tt.stop, Ending: tt.ending}.WrongEnd())
		})
	}
}

func TestStops(t *testing.T) {
	require.Empty(t, Trials{Units: []Unit{{}}}.Stops())
	require.Equal(t, "2 × end_turn, refusal",
		Trials{Units: []Unit{{Stop: StopEndTurn}, {}, {Stop: StopRefusal}, {Stop: StopEndTurn}}}.Stops())
}
