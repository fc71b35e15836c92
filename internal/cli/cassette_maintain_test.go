package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/disk"
)

// onWrite does something whenever something is written.
type onWrite struct {
	bytes.Buffer
	do func()
}

func (w *onWrite) Write(p []byte) (int, error) {
	w.do()
	return w.Buffer.Write(p)
}

// TestMigrateHalfWay: what stops a migration leaves each recording either old or migrated, and is reported.
func TestMigrateHalfWay(t *testing.T) {
	const text = `name: p
task: {prompt: Do it.}
trials: {count: 3}
cassette: {normalise: [agent dull]}
variants: {a: {agent: {kind: fake-acp}}}
workflow: {jobs: {eval: {strategy: {matrix: {variant: [a]}}, steps: [{uses: "builtin:sdd-eval/acp.prompt"}]}}}
`
	tests := []struct {
		name string
		stop func(cancel context.CancelCauseFunc, second string) // once the first is migrated
		code int
		want string
	}{
		{
			name: "interrupted", code: exitInterrupted,
			stop: func(cancel context.CancelCauseFunc, _ string) { cancel(errors.New("interrupted")) },
			want: "interrupted",
		},
		{
			name: "changed-meanwhile", code: exitHarness,
			stop: func(_ context.CancelCauseFunc, second string) {
				require.NoError(t, os.WriteFile(second, nil, 0o644))
			},
			want: "cassettes/p/task/a.2.jsonl:1: the cassette is empty",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := projectDir(t)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "p.yaml"), []byte(text), 0o644))
			file := func(n string) string { return filepath.Join(dir, "cassettes/p/task/a."+n+".jsonl") }
			for _, n := range []string{"1", "2", "3"} {
				c := everything()
				c.Header.Unit = "p/task/a/" + n
				require.NoError(t, cassette.Write(disk.Tree(filepath.Dir(file(n))), file(n), c))
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			stdout, stderr := &onWrite{do: func() { tt.stop(cancel, file("2")) }}, new(bytes.Buffer)
			a := App{
				Args: []string{"cassette", "migrate", "p.yaml"}, Stdout: stdout, Stderr: stderr, Dir: dir,
				Getenv: func(string) string { return "" },
			}
			require.Equal(t, tt.code, a.Run(ctx), stderr)
			require.Equal(t, "cassettes/p/task/a.1.jsonl\n", stdout.String())
			require.Equal(t, "migrated 1 of 3 recordings: the others are unchanged\n"+
				"sdd-eval: cassette migrate: "+tt.want+"\n", stderr.String())
			for n, migrated := range map[string]bool{"1": true, "3": false} {
				data, err := os.ReadFile(file(n))
				require.NoError(t, err)
				require.Equal(t, migrated, strings.Contains(string(data), cassette.Placeholder), n)
			}
		})
	}
}
