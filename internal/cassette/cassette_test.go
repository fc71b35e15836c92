package cassette

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// sample is a session of two turns: a bug is found, fixed and tested.
func sample() *Cassette {
	line, zero := 12, 0
	used, total := int64(1200), int64(1280)
	old := "return a - b"
	ms := time.Millisecond
	return &Cassette{
		Header: Header{
			Version: Version, Level: LevelRun, Unit: "fix-bug/task/claude/1", Origin: OriginRecorded,
			Agent: trajectory.Agent{
				Kind: "claude-code-acp", Name: "claude-agent-acp",
				Version: "0.100.0", Model: "opus",
			},
			Endpoint: "scripted", ProtocolVersion: 1, ClientVersion: "0.1.0",
			RecordedAt: time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC),
			Sandbox:    "none",
			Fingerprints: Fingerprints{
				Kind: "claude-code-acp", Model: "opus", Args: []string{"--quiet"},
				Permissions: []string{"tool Bash, path any: reject", "default: allow"},
				Timeout:     "30m0s", ToolCalls: 20,
				Workspace: Files{
					Digest: "8f14e45fceea167a5a36dedd4bea25438f14e45fceea167a5a36dedd4bea2543",
					ByPath: map[string]string{"add.go": "33dd790e841b", "run.sh": "5762dd426773x"},
				},
			},
		},
		Turns: []Turn{
			{
				Events: []trajectory.Event{
					{Turn: 1, Body: trajectory.Prompt{Text: "Fix Add in add.go.\nRun the tests."}},
					{Turn: 1, At: 120 * ms, Body: trajectory.Thought{Text: "Let me look."}},
					{Turn: 1, At: 150 * ms, Body: trajectory.ToolStart{
						ID: "c1", Name: "Read", Kind: "read", Title: "Read add.go",
						Args:      map[string]any{"path": "$WORKSPACE/add.go", "limit": json.Number("2000")},
						Locations: []trajectory.Location{{Path: "$WORKSPACE/add.go", Line: &line}},
					}},
					{Turn: 1, At: 180 * ms, Body: trajectory.ToolEnd{
						ID: "c1", Status: trajectory.Completed,
						Output: "func Add(a, b int) int { return a - b } // <&>",
					}},
					{Turn: 1, At: 400 * ms, Body: trajectory.ToolStart{
						ID: "c2", Parent: "c1", Name: "Edit", Kind: "edit",
						Args: map[string]any{"path": "$WORKSPACE/add.go"},
					}},
					{Turn: 1, At: 420 * ms, Body: trajectory.ToolEnd{
						ID: "c2", Status: trajectory.Completed,
						Diffs: []trajectory.Diff{{Path: "$WORKSPACE/add.go", Old: &old, New: "return a + b"}},
					}},
					{Turn: 1, At: 500 * ms, Body: trajectory.Message{Text: "Fixed."}},
					{Turn: 1, At: 510 * ms, Body: trajectory.Stop{
						Reason: "end_turn",
						Usage:  &trajectory.Usage{Input: &used, Total: &total},
					}},
				},
				Delta: workspace.Delta{Changes: []workspace.Change{
					{
						Path: "add.go", Op: workspace.Modified, Kind: workspace.File,
						Data: []byte("package add\n\nfunc Add(a, b int) int { return a + b }\n"),
					},
					{Path: "add.png", Op: workspace.Added, Kind: workspace.File, Data: []byte("\x89PNG\r\n\x00")},
					{Path: "bin", Op: workspace.Added, Kind: workspace.Dir, Ignored: true, Digest: "0b5ad3c8"},
					{Path: "run.sh", Op: workspace.Modified, Kind: workspace.File, Exec: true, ModeOnly: true},
				}},
			},
			{
				Events: []trajectory.Event{
					{Turn: 2, At: 600 * ms, Body: trajectory.Prompt{Text: "Now the tests."}},
					{Turn: 2, At: 700 * ms, Body: trajectory.Terminal{
						ID: "t1", Command: "go",
						Args: []string{"test", "./..."}, Output: "ok  \tadd\n", ExitCode: &zero,
					}},
					{Turn: 2, At: 900 * ms, Body: trajectory.State{}},
					{Turn: 2, At: 950 * ms, Body: trajectory.Stop{Reason: "end_turn"}},
				},
				Delta: workspace.Delta{Changes: []workspace.Change{
					{Path: "empty", Op: workspace.Added, Kind: workspace.File, Data: []byte{}},
					{Path: "latest", Op: workspace.Added, Kind: workspace.Symlink, Target: "add.go"},
					{Path: "old.go", Op: workspace.Deleted, Kind: workspace.File},
				}},
			},
		},
	}
}

// exported compares cassettes that have all of their contents.
var exported = cmp.Options{cmpopts.IgnoreUnexported(Cassette{}), cmpopts.IgnoreFields(Cassette{}, "Sum")}

func encoded(t testing.TB, c *Cassette) []byte {
	t.Helper()
	data, err := encode(c)
	require.NoError(t, err)
	return data
}

func decoded(t testing.TB, data []byte) *Cassette {
	t.Helper()
	c, bad := decode(bytes.Clone(data))
	if bad != nil {
		t.Fatalf("line %d: %s", bad.Line, bad.Reason)
	}
	return c
}

func TestGolden(t *testing.T) {
	file := filepath.Join("testdata", "session.jsonl")
	got := encoded(t, sample())
	golden.Equal(t, file, got)
	read, err := Read(file)
	require.NoError(t, err)
	expected := sample()
	expected.Path = file
	assert.Empty(t, cmp.Diff(expected, read, exported), "-written +read")
}

// TestEveryField writes and reads every kind of event with every field set, by reflection, so that it includes new
// fields.
func TestEveryField(t *testing.T) {
	c := sample()
	c.Turns = []Turn{{Events: []trajectory.Event{{Turn: 1, Body: trajectory.Prompt{Text: "p"}}}}}
	fill(reflect.ValueOf(&c.Header).Elem())
	c.Header.Version, c.Header.Level, c.Header.Origin, c.Header.Endpoint = Version, LevelRun, OriginRecorded, "real"
	c.Header.Fingerprints.Timeout = "5m0s"
	c.Header.Fingerprints.Workspace.Digest = sample().Header.Fingerprints.Workspace.Digest
	for _, body := range allBodies(t) {
		v := reflect.New(reflect.TypeOf(body)).Elem()
		switch body.(type) {
		case trajectory.Prompt:
		case trajectory.Stop: // a turn has one
			fill(v)
		default:
			c.Turns[0].Events = append(c.Turns[0].Events, trajectory.Event{Turn: 1, Body: possible(body)}) // none set
			fill(v)
		}
		c.Turns[0].Events = append(c.Turns[0].Events, trajectory.Event{
			Turn: 1, At: time.Second,
			Body: possible(v.Interface().(trajectory.Body)),
		})
	}
	c.Turns[0].Events = c.Turns[0].Events[1:] // the second prompt
	c.Turns[0].Delta = sample().Turns[0].Delta
	assert.Empty(t, cmp.Diff(c, decoded(t, encoded(t, c)), exported), "-written +read")
}

// possible returns the event with values that a session can have.
func possible(body trajectory.Body) trajectory.Body {
	switch b := body.(type) {
	case trajectory.Stop:
		b.Reason = "max_tokens"
		return b
	case trajectory.ToolEnd:
		b.Status = trajectory.Failed
		return b
	case trajectory.Permission:
		b.Decision = "cancelled"
		return b
	}
	return body
}

// allBodies returns a zero value of each type in trajectory that has an EventName, by its source.
func allBodies(t testing.TB) []trajectory.Body {
	t.Helper()
	var all []trajectory.Body
	file, err := parser.ParseFile(token.NewFileSet(), filepath.FromSlash("../../evaltest/trajectory/event.go"), nil, 0)
	require.NoError(t, err)
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Name.Name != "EventName" {
			continue
		}
		name, err := strconv.Unquote(f.Body.List[0].(*ast.ReturnStmt).Results[0].(*ast.BasicLit).Value)
		require.NoError(t, err)
		body, err := trajectory.DecodeBody(name, func(any) error { return nil })
		require.NoError(t, err, "trajectory.%s is missing in bodies, in json.go", f.Recv.List[0].Type.(*ast.Ident).Name)
		all = append(all, body)
	}
	require.NotEmpty(t, all)
	return all
}

// fill sets everything in v to something that is not its zero value.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("<" + v.Type().Name() + "> \"é\u2028\n")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		if v.Type() == reflect.TypeFor[time.Duration]() {
			v.SetInt(int64(time.Hour + time.Microsecond)) // times are kept in microseconds
			return
		}
		v.SetInt(9007199254740993)
	case reflect.Float64:
		v.SetFloat(0.1)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0))
		fill(v.Index(1))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		elem := reflect.New(v.Type().Elem()).Elem()
		fill(elem)
		v.SetMapIndex(reflect.ValueOf("b <key>"), elem)
		v.SetMapIndex(reflect.ValueOf("a"), elem)
	case reflect.Interface:
		v.Set(reflect.ValueOf(map[string]any{
			"n": []any{json.Number("9007199254740993"), json.Number("1.0"), json.Number("1e400")}, "b": true,
			"null": nil, "<": map[string]any{},
		}))
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC)))
			return
		}
		for _, field := range v.Fields() {
			fill(field)
		}
	default:
		panic("fill: " + v.Type().String())
	}
}

func TestDeterministic(t *testing.T) {
	first := encoded(t, sample())
	for range 20 {
		require.Equal(t, string(first), string(encoded(t, sample())))
	}
	assert.Equal(t, string(first), string(encoded(t, decoded(t, first))))
}

func TestPath(t *testing.T) {
	assert.Equal(t, filepath.FromSlash("cassettes/evals/refund/refund/partial/claude.3.jsonl"),
		Path("cassettes", "evals/refund/refund", "partial", "claude", 3))
	for _, bad := range []string{"../x", "/x", "a/../../x", ""} {
		assert.Panics(t, func() { Path("cassettes", bad, "task", "claude", 1) }, bad)
	}
}

func TestCheckUnit(t *testing.T) {
	c := sample()
	require.NoError(t, c.CheckUnit("fix-bug/task/claude/1"))
	err := c.CheckUnit("fix-bug/task/claude/2")
	var other *UnitError
	require.ErrorAs(t, err, &other)
	assert.EqualError(t, err, "the cassette was recorded for fix-bug/task/claude/1, not for fix-bug/task/claude/2")
}
