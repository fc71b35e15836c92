package acp

import "encoding/json"

// ProtocolVersion is the version of the Agent Client Protocol that this package speaks.
const ProtocolVersion = 1

// Extra is what a value carried beyond the fields of its type. Every type of the schema embeds it, so that decoding
// loses nothing. The raw values share memory with the text they were decoded from and must not be changed.
type Extra struct {
	// Meta is the value of "_meta", where agents put what the protocol has no field for; nil if absent.
	Meta json.RawMessage
	// Unknown holds, by name, the fields that the type does not know, and those that it does know but whose value
	// it could not take as it was: a value of the wrong type, a null (so that null and absent can be told apart), or
	// an array of which some items had to be skipped, as a whole. It is nil if there were none.
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

// UpdateKind returns o.Kind.
func (o Other) UpdateKind() string { return o.Kind }

// BlockType returns o.Kind.
func (o Other) BlockType() string { return o.Kind }

// OutputType returns o.Kind.
func (o Other) OutputType() string { return o.Kind }

// Transport returns o.Kind.
func (o Other) Transport() string { return o.Kind }

// EnvVariable is a variable of a process's environment.
type EnvVariable struct {
	Name  string `json:"name" acp:"required"`
	Value string `json:"value" acp:"required"`
	Extra
}
