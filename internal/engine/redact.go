package engine

import (
	"fmt"
	"reflect"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// maxReason is how much of a reason is kept, in bytes: agents and models can say anything.
const maxReason = 16 << 10

// redact takes secrets out of all texts of a unit's result but its run, which has none: it is shown to people and
// written down. What is long is cut then, since a half of a secret could not be masked.
func (r *Runner) redact(u *result.Unit) {
	run := u.Run
	u.Run = nil
	maskTexts(reflect.ValueOf(u).Elem(), r.secrets.String)
	u.Run = run
	u.Reason = excerpt.Bytes(u.Reason, maxReason)
	cutReasons(u.Steps)
}

func (r *Runner) redactJob(j *result.Job) {
	maskTexts(reflect.ValueOf(j).Elem(), r.secrets.String)
	cutReasons(j.Steps)
}

func cutReasons(steps []result.Step) {
	for i := range steps {
		steps[i].Reason = excerpt.Bytes(steps[i].Reason, maxReason)
	}
}

// maskTexts masks every string that can be reached from a value, keys of maps included. Strings of a named type, such
// as an outcome, are none that others could have said. The value is a tree, as deep as its type says.
func maskTexts(v reflect.Value, mask func(string) string) {
	switch v.Kind() {
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() {
			v.SetString(mask(v.String()))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			maskTexts(v.Elem(), mask)
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			if field.CanSet() { // else it is one of time.Time
				maskTexts(field, mask)
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			maskTexts(v.Index(i), mask)
		}
	case reflect.Map:
		maskMap(v, mask)
	case reflect.Interface, reflect.Chan, reflect.Func, reflect.UnsafePointer, reflect.Uintptr, reflect.Complex64,
		reflect.Complex128:
		panic(fmt.Sprintf("engine: a result has a field of type %v, which cannot be masked", v.Type()))
	}
}

// maskMap masks the keys and the values of a map.
func maskMap(v reflect.Value, mask func(string) string) {
	if v.IsNil() {
		return
	}
	masked := reflect.MakeMapWithSize(v.Type(), v.Len())
	for key, value := range v.Seq2() {
		k, e := reflect.New(key.Type()).Elem(), reflect.New(value.Type()).Elem()
		k.Set(key)
		e.Set(value)
		maskTexts(k, mask)
		maskTexts(e, mask)
		masked.SetMapIndex(k, e)
	}
	v.Set(masked)
}
