package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/secret"
	"github.com/sdd-eval/sdd-eval/internal/testkit/commandtest"
)

// fill sets every text below v, and makes lists with one element.
func fill(v reflect.Value, text string, depth int) {
	if depth == 0 || !v.CanSet() {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), text, depth-1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), text, depth-1)
	case reflect.Struct:
		for _, field := range v.Fields() {
			fill(field, text, depth-1)
		}
	}
}

// FuzzDoor shows a run whose results have a text in every field, and the text by itself.
func FuzzDoor(f *testing.F) {
	for _, text := range commandtest.Texts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var u result.Unit
		var j result.Job
		fill(reflect.ValueOf(&u).Elem(), text, 5)
		fill(reflect.ValueOf(&j).Elem(), text, 5)
		var out bytes.Buffer
		stderr := &door{w: &out}
		a := &App{Stderr: stderr, Now: func() time.Time { return noon }, Getenv: func(string) string { return "" }}
		w := a.newWatcher(new(secret.Set))
		w.Begin(1, nil, []string{text})
		w.UnitStarts(plan.Unit{})
		for _, o := range []result.Outcome{result.Pass, result.Fail, result.Error, result.Skip} {
			u.Outcome, j.Outcome = o, o
			for i := range u.Steps {
				u.Steps[i].Outcome = o
			}
			for i := range u.Evaluations {
				u.Evaluations[i].Outcome = o
			}
			for i := range j.Steps {
				j.Steps[i].Outcome = o
			}
			w.UnitEnds(plan.Unit{}, u)
			w.JobEnds(j)
		}
		w.Note(text)
		w.close(false)
		fmt.Fprint(stderr, text[:len(text)/2])
		fmt.Fprint(stderr, text[len(text)/2:])
		stderr.close()
		require.NotEmpty(t, out.String())
		require.Empty(t, commandtest.Find(out.String()))

		escaped, err := json.Marshal(text)
		require.NoError(t, err)
		var printed bytes.Buffer
		_, err = inJSON{&printed}.Write(escaped)
		require.NoError(t, err)
		require.NotContains(t, printed.String(), "##")
		var back string
		require.NoError(t, json.Unmarshal(printed.Bytes(), &back))
		require.Equal(t, strings.ToValidUTF8(text, ""), strings.ReplaceAll(back, "\uFFFD", ""), "%q", text)
	})
}

// TestDoorColors lets our colours pass, and nothing else.
func TestDoorColors(t *testing.T) {
	var out bytes.Buffer
	d := &door{w: &out, color: true}
	fmt.Fprintln(d, paint(true).red("a\x1b[2J"))
	require.Equal(t, "\x1b[31ma\\x1b[2J\x1b[0m\n", out.String())
}

// TestDoorErrors has errors quote a file.
func TestDoorErrors(t *testing.T) {
	dir := projectDir(t)
	const text = "\"x\\n::error::y ##vso[z]\\e[2J\": 1\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "p.yaml"), []byte(text), 0o600))
	for _, command := range []string{"validate", "lint", "run"} {
		args := []string{command, "p.yaml"}
		if command == "run" {
			args = []string{command, "--playbook", "p.yaml"}
		}
		c := call(t, dir, args...)
		require.NotZero(t, c.code)
		require.Empty(t, commandtest.Find(c.stdout+c.stderr), command)
	}
}
