package suite

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/expect"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
)

// wazaDoes is what tools of Copilot do; what a shell does is known of each command alone.
var wazaDoes = map[string]string{
	"view": "read", "edit": "edit", "create": "edit", "str_replace_editor": "edit", "apply_patch": "edit",
	"bash": "", "powershell": "", "grep": "search", "rg": "search", "glob": "search", "web_fetch": "fetch",
}

// tool returns an expected call of a tool, by the name that Copilot has for it: agents of other kinds have other tools,
// which do the same. It is one of several calls. Each is expected to have the args, if there are any.
func (g *wazaGrader) tool(n *doc.Node, name string, args ...doc.Pair) []doc.Pairs {
	call := func(key, value string, args ...doc.Pair) doc.Pairs {
		return append(doc.Pairs{{Key: key, Value: value}}, args...)
	}
	does, known := wazaDoes[name]
	switch {
	case !known || g.Agent == "copilot-acp":
		copilot, _ := agent.Lookup("copilot-acp")
		if own, _ := agent.Lookup(g.Agent); slices.Contains(copilot.Tools, name) && !slices.Contains(own.Tools, name) {
			g.refuse(n.Position(), g.from, fmt.Sprintf("%s is a tool of Copilot that agents of the kind %s do not have",
				name, g.Agent))
		}
		return []doc.Pairs{call("tool", name, args...)}
	case does != "":
		g.note(n.Position(), g.from, "%s is a tool of Copilot: what a call does is looked at, which is %s", name, does)
		return []doc.Pairs{call("does", does, args...)}
	}
	g.note(n.Position(), g.from, "%s is a tool of Copilot: calls of the kind execute are looked at", name)
	all := []doc.Pairs{call("kind", "execute", args...)}
	if g.Agent != "codex-acp" {
		return all
	}
	// Codex gives command lines other kinds, too; some of these without the line.
	if len(args) == 0 {
		all = append(all, call("tool", "exec_command"))
		args = commandArg(".")
	}
	return append(all, call("kind", "read", args...), call("kind", "search", args...))
}

// commandArg is the argument of a shell in which an expression is found.
func commandArg(pattern string) doc.Pairs {
	return doc.Pairs{{Key: "args", Value: doc.Pairs{
		{Key: "command", Value: doc.Pairs{{Key: "regex", Value: pattern}}},
	}}}
}

// anyOf returns a call that is one of several.
func anyOf(calls []doc.Pairs) doc.Pairs {
	if len(calls) == 1 {
		return calls[0]
	}
	return doc.Pairs{{Key: "any", Value: calls}}
}

// calls adds what tools are called, in an order or not, and what are not.
func (g *wazaGrader) calls(mode string, expected, never []doc.Pairs) {
	var p doc.Pairs
	if len(expected) > 0 {
		p = append(p, doc.Pair{Key: "mode", Value: mode}, doc.Pair{Key: "expected", Value: expected})
	}
	if p = p.With("never", never); len(p) > 0 {
		g.add("tool_trajectory", p)
	}
}

// behavior reads the rules of a grader, or of what is expected of a task.
func (g *wazaGrader) behavior(n *doc.Node) error {
	var bounds doc.Pairs
	for _, rule := range [][2]string{
		{"max_tool_calls", "max_tool_calls"},
		{"max_tokens", "max_tokens"},
		{"max_duration_ms", "max_duration_ms"},
		{"max_response_time_ms", "max_duration_ms"},
	} {
		if most := int(number(n.Get(rule[0]), g.from+"."+rule[0], 0, g.refuse)); most > 0 { // 0 is no bound there
			bounds = append(bounds, doc.Pair{Key: rule[1], Value: most})
		}
	}
	if len(bounds) > 0 {
		g.add("metrics", bounds)
	}
	var expected, never []doc.Pairs
	for _, key := range []string{"required_tools", "forbidden_tools"} {
		for _, name := range g.strings(n, key) {
			switch {
			case name == "skill":
				if err := g.activated(key == "required_tools", g.root.Get("skill").Text()); err != nil {
					return err
				}
			case key == "required_tools":
				expected = append(expected, anyOf(g.tool(n.Get(key), name)))
			default:
				never = append(never, anyOf(g.tool(n.Get(key), name)))
			}
		}
	}
	g.calls("superset", expected, never)
	return nil
}

func (g *wazaGrader) actions() error {
	mode := map[string]string{
		"exact_match": "exact", "in_order_match": "in_order", "any_order_match": "superset",
	}[g.config.Get("matching_mode").Text()]
	if mode == "" {
		return errors.New("matching_mode: must be exact_match, in_order_match or any_order_match")
	}
	var expected []doc.Pairs
	for _, name := range g.strings(g.config, "expected_actions") {
		expected = append(expected, anyOf(g.tool(g.config.Get("expected_actions"), name)))
	}
	g.calls(mode, expected, nil)
	return nil
}

// toolWord matches an expression that finds names of tools by a word in them.
var toolWord = lazyregexp.New(`^(\^?)([\w-]+)(\$?)$`)

// named returns calls of the tools that an expression finds, as waza looks for it: anywhere in a name, and whatever the
// case of letters.
func (g *wazaGrader) named(n *doc.Node, expression string, args doc.Pairs) (all []doc.Pairs, err error) {
	m := toolWord.FindStringSubmatch(expression)
	if m == nil {
		return nil, fmt.Errorf("%q is more than the name of a tool, or a part of it", expression)
	}
	copilot, _ := agent.Lookup("copilot-acp")
	names := slices.Concat(copilot.Tools, slices.Sorted(maps.Keys(wazaDoes)))
	slices.Sort(names)
	find := regexp.MustCompile("(?i)" + expression)
	names = slices.DeleteFunc(slices.Compact(names), func(name string) bool { return !find.MatchString(name) })
	if g.Agent == "copilot-acp" || len(names) == 0 {
		word := m[2]
		if len(names) > 0 {
			word = strings.ToLower(word) // as Copilot's are
		}
		if m[1] == "" {
			word = "*" + word
		}
		if m[3] == "" {
			word += "*"
		}
		return g.tool(n, word, args...), nil
	}
	for _, name := range names {
		// Those of a shell that goes on are no other agent's.
		if strings.HasSuffix(name, "_bash") && slices.Contains(names, "bash") {
			continue
		}
		for _, call := range g.tool(n, name, args...) {
			if !slices.ContainsFunc(all, func(had doc.Pairs) bool { return had[0] == call[0] }) {
				all = append(all, call)
			}
		}
	}
	return all, nil
}

func (g *wazaGrader) constraint() error {
	var lists [2][]doc.Pairs
	for i, key := range []string{"expect_tools", "reject_tools"} {
		for _, n := range list(g.config.Get(key), g.from+"."+key, g.refuse) {
			only(n, g.from+"."+key, g.refuse, "tool", "command_pattern")
			var args doc.Pairs
			if pattern := n.Get("command_pattern").Text(); pattern != "" {
				pattern = "(?i)" + pattern
				if _, err := expect.CompilePattern(pattern); err != nil {
					return fmt.Errorf("%s.command_pattern: %w", key, err)
				}
				args = commandArg(pattern)
			}
			calls, err := g.named(n, strings.TrimSpace(n.Get("tool").Text()), args)
			if err != nil {
				return fmt.Errorf("%s.tool: %w", key, err)
			}
			lists[i] = append(lists[i], anyOf(calls))
		}
	}
	for _, call := range lists[0] { // one call may be what several expect
		g.calls("superset", []doc.Pairs{call}, nil)
	}
	g.calls("", nil, lists[1])
	return nil
}
