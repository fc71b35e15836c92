package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// editor changes the hooks in the text of settings and keeps everything else. Offsets are valid until the text changes,
// so each step finds its own.
type editor struct {
	text    []byte
	command string // that also marks hooks as ours, besides sdd-eval; empty: none
	indent  string // of one level
	newline string
}

func newEditor(text []byte, command string) (*editor, error) {
	e := &editor{text: text, command: command, indent: "  ", newline: "\n"}
	if bytes.HasPrefix(text, []byte("\ufeff")) {
		return nil, errors.New("line 1: JSON has no byte order mark: remove it")
	}
	if bytes.Contains(text, []byte("\r\n")) {
		e.newline = "\r\n"
	}
	root, err := parseObject(text)
	if err != nil {
		return nil, e.locate(err)
	}
	if len(root.children) > 0 {
		if unit, alone := e.indentation(root.children[0].start); alone && unit != "" {
			e.indent = unit
		}
	}
	return e, nil
}

// locate adds the line to a syntax error.
func (e *editor) locate(err error) error {
	if at, ok := errors.AsType[*syntaxError](err); ok {
		return fmt.Errorf("line %d: %w", 1+bytes.Count(e.text[:at.offset], []byte("\n")), err)
	}
	return err
}

// indentation returns the white space at the beginning of an offset's line, and whether only that precedes the offset.
func (e *editor) indentation(at int) (blank string, alone bool) {
	line := e.text[bytes.LastIndexByte(e.text[:at], '\n')+1 : at]
	rest := bytes.TrimLeft(line, " \t")
	return string(line[:len(line)-len(rest)]), len(rest) == 0
}

// spot is a child of a container.
type spot struct {
	in    container
	index int
}

func (s spot) child() child { return s.in.children[s.index] }

// member returns the spot of a key's member; ok is false if there is none.
func (e *editor) member(in container, key string) (s spot, ok bool, err error) {
	s.index = slices.IndexFunc(in.children, func(m child) bool { return m.key == key })
	s.in = in
	if s.index < 0 {
		return spot{}, false, nil
	}
	if again := slices.IndexFunc(in.children[s.index+1:], func(m child) bool { return m.key == key }); again >= 0 {
		return spot{}, false, e.locate(&syntaxError{
			in.children[s.index+1+again].start, fmt.Sprintf("duplicate key %q", key),
		})
	}
	return s, true, nil
}

// groups returns the path to an event's groups, as far as it exists: the spots of the settings' hooks and of the event
// among them, and the array of the groups.
func (e *editor) groups(event string) (path []spot, list container, err error) {
	at, err := parseObject(e.text)
	if err != nil {
		return nil, container{}, e.locate(err)
	}
	for i, key := range []string{"hooks", event} {
		s, ok, err := e.member(at, key)
		if err != nil || !ok {
			return path, container{}, err
		}
		path = append(path, s)
		if at, err = parseContainer(e.text, s.child().value, []json.Delim{'{', '['}[i]); err != nil {
			return nil, container{}, fmt.Errorf("%s: %w", key, e.locate(err))
		}
	}
	return path, at, nil
}

// ours returns the paths to our commands for an event: the spots of the settings' hooks, of the event, of the group and
// of the command.
func (e *editor) ours(event string) (found [][]spot, err error) {
	path, list, err := e.groups(event)
	if err != nil {
		return nil, err
	}
	for i, g := range list.children {
		group, err := parseContainer(e.text, g.value, '{')
		if err != nil {
			return nil, fmt.Errorf("%s: %w", event, e.locate(err))
		}
		m, ok, err := e.member(group, "hooks")
		if err != nil {
			return nil, fmt.Errorf("%s: %w", event, err)
		}
		if !ok {
			continue
		}
		handlers, err := parseContainer(e.text, m.child().value, '[')
		if err != nil {
			return nil, fmt.Errorf("%s: hooks: %w", event, e.locate(err))
		}
		for j, h := range handlers.children {
			var command handler
			if json.Unmarshal(e.text[h.value:h.end], &command) == nil && isOurs(command.Command, e.command) {
				found = append(found, append(slices.Clone(path), spot{list, i}, spot{handlers, j}))
			}
		}
	}
	return found, nil
}

// has reports whether the event has exactly this group of ours.
func (e *editor) has(event string, want handlerGroup) (bool, error) {
	found, err := e.ours(event)
	if err != nil || len(found) != 1 {
		return false, err
	}
	group := found[0][2].child()
	var is, wanted any
	err = errors.Join(json.Unmarshal(e.text[group.value:group.end], &is), json.Unmarshal(render(want, "", ""), &wanted))
	return reflect.DeepEqual(is, wanted), err
}

// remove removes our commands from an event, and containers that would be empty then.
func (e *editor) remove(event string) error {
	for {
		found, err := e.ours(event)
		if err != nil || len(found) == 0 {
			return err
		}
		path := found[0]
		last := len(path) - 1
		for last > 0 && len(path[last].in.children) == 1 {
			last--
		}
		e.cut(path[last])
	}
}

// cut removes a child and the comma that is no longer needed.
func (e *editor) cut(s spot) {
	all, from, to := s.in.children, s.child().start, s.child().end
	switch {
	case s.index > 0:
		from = all[s.index-1].end
	case len(all) > 1:
		to = all[1].start
	default:
		from, to = s.in.start+1, s.in.end-1
	}
	e.splice(from, to, "")
}

// add adds a group to an event, and the containers that this needs.
func (e *editor) add(event string, g handlerGroup) error {
	path, list, err := e.groups(event)
	if err != nil {
		return err
	}
	switch len(path) {
	case 2:
		e.insert(list, "", g)
	case 1:
		hooks, err := parseContainer(e.text, path[0].child().value, '{')
		if err != nil {
			return e.locate(err)
		}
		e.insert(hooks, event, []handlerGroup{g})
	default:
		root, err := parseObject(e.text)
		if err != nil {
			return e.locate(err)
		}
		e.insert(root, "hooks", map[string][]handlerGroup{event: {g}})
	}
	return nil
}

// insert adds a value after the last child of a container, with its key if it has one, on lines of its own if the first
// child is.
func (e *editor) insert(c container, key string, v any) {
	name := ""
	if key != "" {
		name = string(render(key, "", "")) + ": "
	}
	if len(c.children) == 0 {
		blank, _ := e.indentation(c.start)
		e.splice(c.start+1, c.end-1, e.newline+e.lines(name, v, blank+e.indent)+e.newline+blank)
		return
	}
	last := c.children[len(c.children)-1].end
	if level, alone := e.indentation(c.children[0].start); alone {
		e.splice(last, last, ","+e.newline+e.lines(name, v, level))
		return
	}
	data, err := jsonvalue.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("hook: settings of our own: %v", err))
	}
	e.splice(last, last, ", "+name+string(data))
}

// lines returns a value on lines with this indentation.
func (e *editor) lines(name string, v any, indent string) string {
	return indent + name + strings.ReplaceAll(string(render(v, indent, e.indent)), "\n", e.newline)
}

func (e *editor) splice(from, to int, text string) {
	e.text = slices.Concat(e.text[:from], []byte(text), e.text[to:])
}
