package engine

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/secret"
	"github.com/sdd-eval/sdd-eval/internal/testkit/secrettest"
)

// TestRedactEverything says a secret in each text of a result: a field that somebody adds is masked, too.
func TestRedactEverything(t *testing.T) {
	const canary = "sk-" + `test-"canary"<&>-0123456789`
	r := &Runner{secrets: new(secret.Set)}
	r.secrets.Mark("CANARY", canary)
	var u result.Unit
	filled := sayEverywhere(reflect.ValueOf(&u).Elem(), "says "+canary)
	require.Greater(t, filled, 40)
	r.redact(&u)
	var j result.Job
	sayEverywhere(reflect.ValueOf(&j).Elem(), "says "+canary)
	r.redactJob(&j)
	for _, v := range []any{u, j} {
		data, err := jsonvalue.Marshal(v)
		require.NoError(t, err)
		require.Empty(t, secrettest.Scan(string(data), canary, canary[:14], canary[14:]))
		require.Empty(t, secrettest.Scan(fmt.Sprintf("%+v", v), canary, canary[:14], canary[14:]))
		require.Greater(t, strings.Count(string(data), "says [REDACTED:CANARY]"), 3)
	}
	data, err := jsonvalue.Marshal(u.Steps[0].Command) // which is in no record, but in the metrics
	require.NoError(t, err)
	require.Empty(t, secrettest.Scan(string(data), canary))
}

// TestLongReasons: what a step's reason says is cut, in a unit and in a job.
func TestLongReasons(t *testing.T) {
	r := &Runner{secrets: new(secret.Set)}
	steps := func() []result.Step { return []result.Step{{Reason: strings.Repeat("x", 2*maxReason)}} }
	u, j := result.Unit{Steps: steps()}, result.Job{Steps: steps()}
	r.redact(&u)
	r.redactJob(&j)
	require.LessOrEqual(t, len(u.Steps[0].Reason), maxReason)
	require.LessOrEqual(t, len(j.Steps[0].Reason), maxReason)
}

// sayEverywhere puts a text into every string of a value, and returns into how many.
func sayEverywhere(v reflect.Value, text string) (n int) {
	switch v.Kind() {
	case reflect.String:
		if v.Type() != reflect.TypeFor[string]() {
			return 0 // an outcome, say
		}
		v.SetString(text)
		return 1
	case reflect.Pointer:
		if v.Type() == reflect.TypeFor[*trajectory.Run]() {
			return 0 // it is masked before
		}
		v.Set(reflect.New(v.Type().Elem()))
		return sayEverywhere(v.Elem(), text)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return 0
		}
		for _, field := range v.Fields() {
			n += sayEverywhere(field, text)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			n += sayEverywhere(v.Index(i), text)
		}
	case reflect.Map:
		key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		n += sayEverywhere(key, text) + sayEverywhere(elem, text)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, elem)
	}
	return n
}
