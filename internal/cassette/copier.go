package cassette

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// copier copies a value with every string in it normalised, by reflection, so that no field of an event is forgotten.
type copier struct {
	*Normaliser
	asSent bool // keys are those of the protocol
}

var stringType = reflect.TypeFor[string]()

func (n copier) copy(v reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.String:
		if v.Type() != stringType { // a json.Number or one of our own words
			return v
		}
		return reflect.ValueOf(n.text(v.String()))
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return v
		}
		c := reflect.New(v.Type()).Elem()
		if v.Kind() == reflect.Pointer {
			c.Set(reflect.New(v.Type().Elem()))
			c.Elem().Set(n.copy(v.Elem()))
		} else {
			c.Set(n.copy(v.Elem()))
		}
		return c
	case reflect.Struct:
		c := reflect.New(v.Type()).Elem()
		for i := range v.NumField() {
			c.Field(i).Set(n.copy(v.Field(i)))
		}
		return c
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			c.Index(i).Set(n.copy(v.Index(i)))
		}
		return c
	case reflect.Map:
		return n.copyMap(v)
	}
	return v
}

// copyMap copies a map. Keys that become equal are told apart by a number behind them.
func (n copier) copyMap(v reflect.Value) reflect.Value {
	if v.IsNil() {
		return v
	}
	c := reflect.MakeMapWithSize(v.Type(), v.Len())
	for _, key := range sortedKeys(v) {
		name := n.name(v, key.String())
		to := name
		for i := 2; c.MapIndex(reflect.ValueOf(to)).IsValid(); i++ {
			to = name + "#" + strconv.Itoa(i)
		}
		value := n.copy(v.MapIndex(key))
		if n.volatile[key.String()] {
			value = reflect.ValueOf(Placeholder)
		} else if own, ok := v.MapIndex(key).Interface().(string); ok && n.asSent && idKeys[key.String()] != "" {
			value = reflect.ValueOf(n.ids[id{idKeys[key.String()], own}])
		}
		c.SetMapIndex(reflect.ValueOf(to), value)
	}
	return c
}

// name returns what a key of a map becomes. What told it from another key before stays.
func (n copier) name(v reflect.Value, key string) string {
	if n.asSent && idKeys[key] != "" {
		return key
	}
	if i := strings.LastIndexByte(key, '#'); i >= 0 && v.MapIndex(reflect.ValueOf(key[:i])).IsValid() {
		if _, err := strconv.ParseUint(key[i+1:], 10, 0); err == nil {
			return n.text(key[:i]) + key[i:]
		}
	}
	return n.text(key)
}

// sortedKeys returns the keys of a map, which are strings.
func sortedKeys(v reflect.Value) []reflect.Value {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	return keys
}
