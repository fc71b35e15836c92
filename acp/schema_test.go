package acp

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSchema checks every type of the schema: its tags make a plan, and encoding/json uses it.
func TestSchema(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var check func(reflect.Type)
	check = func(typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice && typ != typeRaw {
			typ = typ.Elem()
		}
		if u, ok := unions[typ]; ok {
			for _, variant := range u.variants {
				check(variant)
			}
		}
		if typ.Kind() != reflect.Struct || seen[typ] {
			return
		}
		seen[typ] = true
		value, ok := typ.FieldByName("Value")
		if ok && reflect.PointerTo(typ).Implements(typeDecoder) { // a Patch
			check(value.Type)
			return
		}
		planOf(typ)
		assert.True(t, typ.Implements(reflect.TypeFor[json.Marshaler]()), "%v has no MarshalJSON", typ)
		pointer := reflect.PointerTo(typ)
		assert.True(t, pointer.Implements(reflect.TypeFor[json.Unmarshaler]()), "%v has no UnmarshalJSON", typ)
		for _, f := range reflect.VisibleFields(typ) {
			if f.Anonymous || len(f.Index) > 1 {
				continue
			}
			assert.NotEmpty(t, f.Tag.Get("json"), "%v.%s has no name", typ, f.Name)
			check(f.Type)
		}
	}
	check(reflect.TypeFor[Message]())
	for _, m := range methods {
		check(m.params)
		if m.result != nil {
			check(m.result)
		}
	}
	assert.Greater(t, len(seen), 80)
}

// definitions returns the definitions of the published schema.
func definitions(t *testing.T) map[string]definition {
	t.Helper()
	data, err := os.ReadFile("testdata/schema/schema.json")
	require.NoError(t, err)
	var schema struct {
		Defs map[string]definition `json:"$defs"`
	}
	require.NoError(t, json.Unmarshal(data, &schema))
	return schema.Defs
}

type definition struct {
	AnyOf  []struct{ Const any }
	Method string `json:"x-method"`
	Side   string `json:"x-side"`
}

// TestServe checks that the client serves each request of the schema, except those that it never offers to agents.
func TestServe(t *testing.T) {
	client := &Client{cfg: ClientConfig{
		Files:     struct{ FileHandler }{},
		Terminals: struct{ TerminalHandler }{},
	}}
	var refused []string
	for name, def := range definitions(t) {
		if def.Side != "client" || !strings.HasSuffix(name, "Request") {
			continue
		}
		_, err := client.serve(context.Background(), Message{Method: def.Method, Params: raw(`{}`)})
		e, ok := errors.AsType[*Error](err)
		require.True(t, ok, "%s: %v", def.Method, err)
		if e.Code == CodeMethodNotFound {
			refused = append(refused, def.Method)
		} else {
			assert.Equal(t, CodeInvalidParams, e.Code, def.Method)
		}
	}
	assert.Equal(t, []string{MethodCreateElicitation}, refused)
}

// TestErrorCodes checks that each code of the schema has a constant.
func TestErrorCodes(t *testing.T) {
	var codes []int
	for _, code := range definitions(t)["ErrorCode"].AnyOf {
		if n, ok := code.Const.(float64); ok { // the last one stands for all others
			codes = append(codes, int(n))
		}
	}
	assert.ElementsMatch(t, codes, []int{
		CodeParse, CodeInvalidRequest, CodeMethodNotFound, CodeInvalidParams, CodeInternal, CodeAuthRequired,
		CodeResourceNotFound, CodeRequestCancelled,
	})
}
