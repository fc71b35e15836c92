package observe

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

// description is what an agent says of a call that it makes, in updates and in requests for permission.
type description struct {
	trajectory.ToolStart

	title     string // the first one, for the tool's name
	name      nameSources
	kind      string                // as it was sent
	input     any                   // as it was sent
	locations []trajectory.Location // as they were sent
	diffs     []trajectory.Diff
	sizes     struct{ input, locations, diffs int }
}

// source says where a description comes from.
type source bool

const (
	inUpdate  source = false
	inRequest source = true // for permission
)

// namer is what is known of an agent for the names of its tools.
type namer struct {
	agent   string // what it calls itself
	servers []string
}

// size returns the size of the description in bytes.
func (d *description) size() int {
	return len(d.title) + len(d.Title) + d.sizes.input + d.sizes.locations + d.sizes.diffs
}

// take takes what an update or a request says.
func (d *description) take(u acp.ToolCallUpdate, n namer, from source) {
	meta := readMeta[meta](u.Meta)
	if u.Locations != nil {
		d.locations, d.sizes.locations = locations(u.Locations)
	}
	if diffs := diffsOf(u.Content); diffs != nil {
		d.diffs, d.sizes.diffs = diffs, diffSize(diffs)
	}
	if n.agent == codexZed {
		d.sort()
	}
	if d.Locations = d.locations; len(d.Locations) == 0 {
		d.Locations = filesOf(d.diffs)
	}
	if u.Title != nil && *u.Title != "" {
		d.Title = *u.Title
		if n.agent == codexZed {
			d.Title = sortedTitle(d.Title, len(d.Locations))
		}
		d.title = cmp.Or(d.title, d.Title)
	}
	d.Title = rooted(d.Title, d.Locations)
	if u.Kind != nil {
		d.kind = string(*u.Kind)
	}
	if u.Name != nil && *u.Name != "" {
		d.name.name = *u.Name
	}
	d.name.learn(meta)
	if parent := meta.parent(); parent != "" && parent != d.ID {
		d.Parent = parent
	}
	if input := decoded(u.RawInput); input != nil && !(emptyObject(input) && d.input != nil) {
		d.input, d.sizes.input = input, len(u.RawInput)
	}
	d.identify(n)
	if _, _, ok := n.canonical(d.Name, d.kind, nil); ok && from == inRequest && d.input == nil {
		d.input, d.sizes.input = shownInput(u.Content)
		d.identify(n)
	}
}

// sort orders what is told of several files, for an agent that has no order.
func (d *description) sort() {
	slices.SortStableFunc(d.locations, func(a, b trajectory.Location) int { return strings.Compare(a.Path, b.Path) })
	slices.SortStableFunc(d.diffs, func(a, b trajectory.Diff) int { return strings.Compare(a.Path, b.Path) })
}

// identify sets the tool's name, input and kind.
func (d *description) identify(n namer) {
	d.Kind = d.kind
	d.Name, d.Args = d.name.of(path.Base(d.ID), rooted(d.title, d.Locations)), d.input
	if name, input, ok := n.canonical(d.Name, d.kind, d.input); ok {
		d.Name, d.Args = name, input
		return
	}
	if n.agent == copilot && d.name == (nameSources{}) {
		if tool := copilotTool(d.kind, d.title, d.input); tool != "" {
			d.Name = tool
		}
	}
	if d.Kind == "" || d.Kind == "other" {
		if kind := Kind(d.Name, d.Args); kind != "other" {
			d.Kind = kind
		}
	}
}

// lacking returns what a request for permission says and the description does not.
func (d *description) lacking(u acp.ToolCallUpdate) acp.ToolCallUpdate {
	var rest acp.ToolCallUpdate
	if d.Title == "" {
		rest.Title = u.Title
	}
	if d.kind == "" {
		rest.Kind = u.Kind
	}
	if d.name.name == "" {
		rest.Name = u.Name
	}
	if d.name.meta == "" {
		rest.Meta = u.Meta
	}
	if d.input == nil || emptyObject(d.input) {
		rest.RawInput = u.RawInput
	}
	if len(d.Locations) == 0 {
		rest.Locations = u.Locations
	}
	if d.diffs == nil {
		rest.Content = u.Content
	}
	return rest
}

// shownInput returns the input that a request for permission shows as text, and its size, as Gemini does for tools of
// MCP servers; nil if there is none.
func shownInput(content []acp.ToolCallContent) (input any, size int) {
	if len(content) != 1 {
		return nil, 0
	}
	c, _ := content[0].(acp.Content)
	text, _ := c.Content.(acp.TextContent)
	if m, ok := decoded([]byte(text.Text)).(map[string]any); ok {
		return m, len(text.Text)
	}
	return nil, 0
}

// locations converts locations and returns their size in bytes.
func locations(from []acp.ToolCallLocation) (to []trajectory.Location, size int) {
	for _, l := range from {
		to = append(to, trajectory.Location{Path: l.Path, Line: l.Line})
		size += len(l.Path)
	}
	return to, size
}

// diffsOf returns the diffs that a call shows, nil if there are none.
func diffsOf(content []acp.ToolCallContent) (diffs []trajectory.Diff) {
	for _, item := range content {
		if d, ok := item.(acp.Diff); ok {
			diffs = append(diffs, trajectory.Diff{Path: d.Path, Old: d.OldText, New: d.NewText})
		}
	}
	return diffs
}

func diffSize(diffs []trajectory.Diff) (size int) {
	for _, d := range diffs {
		size += len(d.Path) + len(d.New)
		if d.Old != nil {
			size += len(*d.Old)
		}
	}
	return size
}

// filesOf returns the files that diffs change.
func filesOf(diffs []trajectory.Diff) (files []trajectory.Location) {
	for _, d := range diffs {
		if !slices.ContainsFunc(files, func(l trajectory.Location) bool { return l.Path == d.Path }) {
			files = append(files, trajectory.Location{Path: d.Path})
		}
	}
	return files
}
