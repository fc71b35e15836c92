package cassette

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

func TestNormaliseValue(t *testing.T) {
	n := newTestNormaliser()
	n.Session("0199aaaa-bbbb-7ccc")
	got := n.Value(map[string]any{"path": "/run/ws/0199aaaa-bbbb-7ccc/a", "turn_id": "xyz", "list": []any{"/run", 1.5, nil}})
	assert.Equal(t, map[string]any{"path": "$WORKSPACE/s1/a", "turn_id": Placeholder, "list": []any{"$TMPDIR", 1.5, nil}}, got)
	assert.Nil(t, n.Value(nil))
	assert.Equal(t, trajectory.FileRead{Path: "$WORKSPACE/a"}, n.Value(trajectory.FileRead{Path: "/run/ws/a"}))

	n.Events([]trajectory.Event{{Body: trajectory.ToolStart{ID: "toolu_0123456789"}}})
	assert.Equal(t, "see c1", n.Value("see toolu_0123456789"), "a call of a turn before")
}

func TestRestore(t *testing.T) {
	tests := []struct{ name, reason, in, want string }{
		{"alone", "", "$WORKSPACE", "/run/ws"},
		{"below, and others", "", "cp $HOME/a $WORKSPACE/b $TMPDIR.", "cp /run/ws/home/a /run/ws/b /run."},
		{"another word", "no path was made into that", "$HOMES $HOME_DIR x$HOME ${HOME} $WORKSPACE-old", "$HOMES $HOME_DIR x$HOME ${HOME} $WORKSPACE-old"},
		{"placeholder", "what it was is gone", "took <normalised>", "took <normalised>"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newTestNormaliser()
			assert.Equal(t, tt.want, n.Restore(tt.in), tt.reason)
			assert.Equal(t, tt.in, n.Value(tt.want), "normalised it is the same again")
		})
	}
}

func TestNormaliserFromManyGoroutines(t *testing.T) {
	n := newTestNormaliser()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			n.Events([]trajectory.Event{{Body: trajectory.ToolStart{ID: "toolu_0123456789"}}})
			n.Session("0199aaaa-bbbb-7ccc")
			require.Equal(t, "$WORKSPACE", n.Value("/run/ws"))
			require.Equal(t, "/run/ws", n.Restore("$WORKSPACE"))
		})
	}
	all.Wait()
}
