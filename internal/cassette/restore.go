package cassette

// Restore returns a normalised text with the directories of this run for their names. Normalised, it is the text again.
func (n *Normaliser) Restore(text string) string {
	for _, d := range n.given {
		text = replaceWhole(text, d.name, d.dir, pathStarts, pathEnds)
	}
	return text
}

// RestoreValue returns a copy of decoded JSON with every string in it restored, see [Normaliser.Restore]. Keys stay.
func (n *Normaliser) RestoreValue(v any) any {
	switch v := v.(type) {
	case string:
		return n.Restore(v)
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = n.RestoreValue(e)
		}
		return list
	case map[string]any:
		fields := make(map[string]any, len(v))
		for k, e := range v {
			fields[k] = n.RestoreValue(e)
		}
		return fields
	}
	return v
}
