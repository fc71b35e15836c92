package trajectory

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Profile says how plain values among the expected arguments of a tool are compared. It maps the name of an argument to
// the name of an argument matcher, such as "path", which takes the value as its parameter. Arguments without an entry
// must be equal.
type Profile map[string]string

// profiles are for the tools that the common agents have, by the tool's name.
var profiles = map[string]Profile{
	// Claude Code
	"Read":         {"file_path": "path"},
	"Write":        {"file_path": "path"},
	"Edit":         {"file_path": "path"},
	"MultiEdit":    {"file_path": "path"},
	"NotebookEdit": {"notebook_path": "path"},
	"NotebookRead": {"notebook_path": "path"},
	"Grep":         {"pattern": "contains_ci", "path": "path", "glob": "glob_like"},
	"Glob":         {"pattern": "glob_like", "path": "path"},
	"LS":           {"path": "path"},
	// Codex
	"shell":        {"workdir": "path"},
	"exec_command": {"workdir": "path"},
	"view_image":   {"path": "path"},
	"list_dir":     {"dir_path": "path"},
	"grep_files":   {"pattern": "contains_ci", "path": "path", "include": "glob_like"},
	// Gemini; Codex has a read_file with the same argument
	"read_file":           {"file_path": "path", "absolute_path": "path"},
	"write_file":          {"file_path": "path"},
	"replace":             {"file_path": "path"},
	"list_directory":      {"path": "path", "dir_path": "path"},
	"glob":                {"pattern": "glob_like", "path": "path", "dir_path": "path"},
	"search_file_content": {"pattern": "contains_ci", "path": "path", "dir_path": "path", "include": "glob_like"},
	"grep_search":         {"pattern": "contains_ci", "path": "path", "dir_path": "path", "include": "glob_like"},
}

// ToolProfile returns the default profile for calls of the tool, nil if there is none.
func ToolProfile(tool string) Profile { return maps.Clone(profiles[tool]) }

// Profile returns the call with its plain arguments compared as p says, in place of the tool's own profile; nil turns
// profiles off. In mode [ExactArgs] the tool's own profile is not used, and with [Call.Fields] no profile is.
func (c Call) Profile(p Profile) Call {
	c.profile, c.ownProfile = maps.Clone(p), true
	for _, arg := range slices.Sorted(maps.Keys(p)) {
		if _, ok := forms[p[arg]]; !ok {
			c.err = errors.Join(c.err, fmt.Errorf("%s: %w", arg, newArg(p[arg], nil).err))
		}
	}
	return c
}

// profiled returns the arguments of c with the matchers of its profile in place of plain values.
func (c *Call) profiled() ([]namedArg, error) {
	profile := c.profile
	if !c.ownProfile {
		profile = profiles[c.tool]
	}
	args := slices.Clone(c.args)
	var errs []error
	for i := range args {
		form, ok := profile[args[i].name]
		if !ok || !args[i].plain {
			continue
		}
		arg := newArg(form, args[i].param)
		switch {
		case arg.err == nil:
			args[i].Arg = arg
		case c.ownProfile:
			errs = append(errs, fmt.Errorf("%s: %w", args[i].name, arg.err))
		}
		// A value that does not fit the tool's own profile, such as a number for a path, must be equal.
	}
	return args, errors.Join(errs...)
}

// Fields returns the call with only these parts of its arguments compared. Paths are dotted, such as "command" or
// "opts.start"; a number is an index. Each part must be as in the expected arguments, or missing if it is missing
// there; null counts as missing. Fields replaces the argument mode.
func (c Call) Fields(paths ...string) Call {
	c.fields = slices.Clone(paths)
	if len(paths) == 0 {
		c.err = errors.Join(c.err, errors.New("no fields to compare: name some, or use IgnoreArgs (mode ignore)"))
	}
	for _, path := range paths {
		if slices.Contains(strings.Split(path, "."), "") {
			c.err = errors.Join(c.err, fmt.Errorf("field %q: want names separated by dots", path))
		}
	}
	return c
}

// fielded returns the expected values of the fields of c.
func (c *Call) fielded() ([]namedArg, error) {
	var args []namedArg
	var errs []error
	for _, path := range slices.Compact(slices.Sorted(slices.Values(c.fields))) {
		arg := namedArg{name: path, path: strings.Split(path, "."), Arg: Absent()}
		at := slices.IndexFunc(c.args, func(a namedArg) bool { return a.name == arg.path[0] })
		switch {
		case at == none:
		case c.args[at].Arg.name == "equals":
			if v := lookup(c.args[at].param, arg.path[1:]); v != nil {
				arg.Arg = newArg("equals", v)
			}
		case len(arg.path) == 1:
			arg.Arg = c.args[at].Arg
		default:
			errs = append(errs, fmt.Errorf("field %s: cannot look into %s, which is a matcher", path, arg.path[0]))
		}
		args = append(args, arg)
	}
	return args, errors.Join(errs...)
}

// lookup returns the part of a value at the path, nil if there is none.
func lookup(v any, path []string) any {
	for _, name := range path {
		switch at := v.(type) {
		case map[string]any:
			v = at[name]
		case []any:
			i, ok := indexOf(name)
			if !ok || i >= len(at) {
				return nil
			}
			v = at[i]
		default:
			return nil
		}
	}
	return v
}

// indexOf returns the index that a name in a path denotes, and whether it is one.
func indexOf(name string) (int, bool) {
	i := 0
	for _, r := range name {
		if r < '0' || r > '9' || i > 1<<30 {
			return 0, false
		}
		i = i*10 + int(r-'0')
	}
	return i, name == "0" || name != "" && name[0] != '0'
}
