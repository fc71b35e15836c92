package acp

import (
	"encoding/json"
	"reflect"
)

// The types of the protocol are generated from its published schema; here is what they have in common.
//
//go:generate go run ./internal/schemagen

// ProtocolVersion is the version of the Agent Client Protocol that this package speaks.
const ProtocolVersion = 1

// Extra is what a value carried beyond the fields of its type. Every type of the schema embeds it, so that decoding
// loses nothing. The raw values share memory with the text they were decoded from and must not be changed.
type Extra struct {
	// Meta is the value of "_meta", where agents put what the protocol has no field for; nil if absent.
	Meta json.RawMessage
	// Unknown holds, by name, the fields that the type does not know, and those that it does know but whose value it
	// could not take as it was: a value of the wrong type, a null (so that null and absent can be told apart), or an
	// array of which some items had to be skipped, as a whole. It is nil if there were none.
	//
	// When a value is encoded, an entry of Unknown wins over the field of the same name.
	Unknown map[string]json.RawMessage
}

// Patch is a field of an update with three states: absent (the zero value) leaves what is stored as it is, null clears
// it, a value replaces it.
type Patch[T any] struct {
	Value T
	// Set reports that the field was there, be it as a value or as null.
	Set bool
	// Null reports that the field was null; Value is then zero.
	Null bool
}

// Other is a variant that this package does not know (a newer one, or an extension), or one that it knows but that
// lacks a required field. It is used wherever the protocol allows one of several types.
type Other struct {
	// Kind is the discriminator: the value of "sessionUpdate" or "type".
	Kind string
	// Raw is the whole object.
	Raw json.RawMessage
}

// MarshalJSON returns o.Raw, which has the kind in it.
func (o Other) MarshalJSON() ([]byte, error) { return o.Raw.MarshalJSON() }

// Selected returns the answer that chooses the option with that id.
func Selected(optionID string) RequestPermissionResponse {
	return RequestPermissionResponse{Outcome: PermissionOutcome{Outcome: "selected", OptionID: optionID}}
}

// Cancelled returns the answer to a request whose turn was cancelled, or that cannot be decided.
func Cancelled() RequestPermissionResponse {
	return RequestPermissionResponse{Outcome: PermissionOutcome{Outcome: "cancelled"}}
}

// Choices returns the values that can be chosen, those inside groups included.
func (o ConfigOption) Choices() []ConfigChoice {
	var flat []ConfigChoice
	for _, c := range o.Options {
		if c.Group != "" {
			flat = append(flat, c.Options...)
		} else {
			flat = append(flat, c)
		}
	}
	return flat
}

// method has the types of a method's params and, unless it is a notification, of its result.
type method struct {
	params, result reflect.Type
}

func request[Params, Result any]() method {
	return method{params: reflect.TypeFor[Params](), result: reflect.TypeFor[Result]()}
}

func notification[Params any]() method {
	return method{params: reflect.TypeFor[Params]()}
}

// union is an interface of the schema with the types it can hold.
type union struct {
	key      string // the member that tells the variants apart
	variants map[string]reflect.Type
}

func unionOf[T any](key string, kind func(T) string, variants ...T) union {
	u := union{key: key, variants: make(map[string]reflect.Type)}
	for _, v := range variants {
		u.variants[kind(v)] = reflect.TypeOf(v)
	}
	return u
}

// variantTag is the discriminator that a type has on the wire where it stands as a variant of a union. Empty: none.
type variantTag struct {
	key, kind string
}

// variantTags holds the tag of each variant. A variant without a kind (an MCP server over stdio) has no tag.
var variantTags = func() map[reflect.Type]variantTag {
	tags := make(map[reflect.Type]variantTag)
	for _, u := range unions {
		for kind, t := range u.variants {
			if kind != "" {
				tags[t] = variantTag{key: u.key, kind: kind}
			}
		}
	}
	return tags
}()
