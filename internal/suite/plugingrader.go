package suite

import (
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/jsregexp"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
)

// grader is one of the graders of a case.
type grader struct {
	graderKeys
	at   doc.Position
	kind string    // of the evaluator
	keys doc.Pairs // of the evaluator
	// skill: it is about the use of skills.
	skill bool
}

// graderKeys are keys that all graders have.
type graderKeys struct {
	Type   string  `yaml:"type,required" enum:"regex,tool_used,tool_order,file_exists,llm,baseline"`
	Name   string  `yaml:"name"`
	Weight float64 `yaml:"weight" default:"1" above:"0"`
	Arm    string  `yaml:"arm" enum:"with-only,both"`
}

// withOnly reports whether the grader is about the plugin alone, so that it does not count where two arms are compared.
func (g grader) withOnly() bool {
	return g.Arm == "with-only" || g.Arm == "" && g.skill
}

// skillTool is Claude Code's tool that loads a skill.
const skillTool = "Skill"

// target is what a grader looks at.
type target struct {
	Source string
	Path   string // of a file
}

func (t *target) decode(n *doc.Node) {
	if n.Kind() == doc.String {
		t.Source = n.Text()
		if !slices.Contains([]string{"trace", "last_message", "files", "mock_calls"}, t.Source) {
			n.Errorf("", "must be last_message, trace, files, mock_calls or {source: file, path: FILE}, not %q",
				t.Source)
		}
		return
	}
	var file struct {
		Source string `yaml:"source,required" enum:"file"`
		Path   string `yaml:"path,required"`
	}
	if n.Decode(&file) {
		t.Source, t.Path = file.Source, file.Path
	}
}

func (t target) String() string {
	if t.Source == "file" {
		return "the file " + t.Path
	}
	return t.Source
}

// toolPattern is a tool, and what is in the input of its call.
type toolPattern struct {
	Tool       string `yaml:"tool,required"`
	InputMatch string `yaml:"input_match"`
}

func (p *toolPattern) decode(n *doc.Node) {
	if n.Kind() == doc.String {
		p.Tool = n.Text()
		return
	}
	n.Decode(p)
}

// writeGrader translates graders of a type.
type writeGrader func(r *pluginReader, g *grader, n *doc.Node) error

var graderTypes = map[string]struct {
	body  string // the key that takes what stands below the head of a file
	write writeGrader
}{
	"regex":       {"pattern", regexGrader},
	"tool_used":   {"", toolUsedGrader},
	"tool_order":  {"", toolOrderGrader},
	"file_exists": {"", fileGrader},
	"llm":         {"criteria", llmGrader},
	"baseline":    {"criteria", baselineGrader},
}

// readGrader reads a grader, which has a name unless it gives one itself, and what stands below the head of its file.
func (r *pluginReader) readGrader(c *pluginCase, n *doc.Node, name, body string) {
	if n.Kind() != doc.Map {
		n.Errorf("", "must be a mapping with the type of a grader")
		return
	}
	g := grader{at: n.Position()}
	var rest struct {
		Keys graderKeys `yaml:",inline"`
		Rest *doc.Node  `yaml:",rest"`
	}
	n.Decode(&rest)
	g.graderKeys = rest.Keys
	if g.Name == "" {
		g.Name = name
	}
	if g.Name == "" {
		n.Errorf("", "`name` is required")
	}
	kind, ok := graderTypes[g.Type]
	if !ok {
		c.Graders["?"]++
		return // reported
	}
	c.Graders[g.Type]++
	if kind.body != "" && n.Get(kind.body) == nil && body != "" {
		n = n.With(kind.body, n.Get("type").Texts(body).Items()[0])
	}
	for _, other := range c.graders {
		if other.Name == g.Name {
			n.Errorf("", "the name %q is that of another grader, too", g.Name)
		}
	}
	if err := kind.write(r, &g, n.Without("type", "name", "weight", "arm")); err != nil {
		c.problem(g.at, g.Name, err.Error())
	}
	c.graders = append(c.graders, g)
}

// expression translates a regular expression of JavaScript.
func expression(key, pattern, flags string) (string, error) {
	written, err := jsregexp.Translate(pattern, flags)
	if err != nil {
		return "", fmt.Errorf("%s: %w", key, err)
	}
	return written, nil
}

var counting = lazyregexp.New(`^count:[0-9]{1,9}$`)

func regexGrader(_ *pluginReader, g *grader, n *doc.Node) error {
	var k struct {
		Target  target `yaml:"target"`
		Pattern string `yaml:"pattern,required"`
		Flags   string `yaml:"flags"`
		Match   string `yaml:"match" default:"contains"`
	}
	if !n.Decode(&k) {
		return nil
	}
	written, err := expression("pattern", k.Pattern, k.Flags)
	if err != nil {
		return err
	}
	check := doc.Pairs{{Key: "id", Value: ident(g.Name)}}
	count, counts := strings.CutPrefix(k.Match, "count:")
	switch {
	case k.Match == "contains":
		check = append(check, doc.Pair{Key: "matches", Value: []string{written}})
	case k.Match == "not_contains", counts && strings.Trim(count, "0") == "" && count != "":
		check = append(check, doc.Pair{Key: "not_matches", Value: []string{written}})
	case counting.MatchString(k.Match):
		if strings.Contains(k.Flags, "y") {
			return fmt.Errorf("match: %s with the flag y", k.Match)
		}
		number, _ := strconv.Atoi(count)
		check = append(check, doc.Pair{Key: "matches", Value: []string{written}},
			doc.Pair{Key: "min_count", Value: number}, doc.Pair{Key: "max_count", Value: number})
	default:
		return fmt.Errorf("match: must be contains, not_contains or count:N, not %q", k.Match)
	}
	switch k.Target.Source {
	case "", "last_message":
	case "file":
		check = append(check, doc.Pair{Key: "file", Value: k.Target.Path})
	default:
		return fmt.Errorf("target: %s is Claude Code's own text, which other runs do not have", k.Target)
	}
	g.kind, g.keys = "text", doc.Pairs{{Key: "checks", Value: []doc.Pairs{check}}}
	return nil
}

// call returns an expected call.
func (p toolPattern) call() (doc.Pairs, error) {
	if strings.Contains(p.Tool, "*") {
		return nil, fmt.Errorf("tool: %q: no tool has * in its name", p.Tool)
	}
	call := doc.Pairs{{Key: "tool", Value: p.Tool}}
	if p.InputMatch != "" {
		written, err := expression("input_match", p.InputMatch, "")
		if err != nil {
			return nil, err
		}
		call = append(call, doc.Pair{Key: "args_match", Value: written})
	}
	return call, nil
}

func toolUsedGrader(r *pluginReader, g *grader, n *doc.Node) error {
	var k struct {
		Call toolPattern `yaml:",inline"`
		Min  int         `yaml:"min" default:"1" min:"0" max:"100"`
		Max  int         `yaml:"max" default:"-1" min:"0" max:"1000000"`
	}
	if !n.Decode(&k) {
		return nil
	}
	call, err := k.Call.call()
	g.skill = k.Call.Tool == skillTool
	switch {
	case err != nil:
		return err
	case k.Max >= 0 && k.Min > k.Max:
		return fmt.Errorf("min: %d calls are more than the %d of max", k.Min, k.Max)
	case k.Min == 0 && k.Max < 0:
		return fmt.Errorf("min: 0 without max: it holds whatever the agent does")
	case !r.claude():
		return r.activation(g, k.Call, k.Min, k.Max)
	case k.Max == 0:
		g.keys = doc.Pairs{{Key: "never", Value: []doc.Pairs{call}}}
	case k.Call.InputMatch == "":
		if k.Min > 0 {
			g.keys = append(g.keys, doc.Pair{Key: "at_least", Value: doc.Pairs{{Key: k.Call.Tool, Value: k.Min}}})
		}
		if k.Max > 0 {
			g.keys = append(g.keys, doc.Pair{Key: "at_most", Value: doc.Pairs{{Key: k.Call.Tool, Value: k.Max}}})
		}
	case k.Max > 0:
		return fmt.Errorf("max: %d with input_match: only 0 calls can be told from more of some input", k.Max)
	default:
		g.keys = doc.Pairs{
			{Key: "mode", Value: "superset"}, {Key: "expected", Value: slices.Repeat([]doc.Pairs{call}, k.Min)},
		}
	}
	g.kind = "tool_trajectory"
	return nil
}

// activation is toolUsedGrader for agents that have other tools than Claude Code, and skills.
func (r *pluginReader) activation(g *grader, p toolPattern, least, most int) error {
	if p.Tool != skillTool {
		return fmt.Errorf("tool: %s is a tool of Claude Code, not of agents of the kind %s", p.Tool, r.Agent)
	}
	_, own, _ := strings.Cut(p.InputMatch, r.Name+":")
	if own == "" {
		own = p.InputMatch
	}
	skills := r.skills
	if own != "" {
		skills = slices.DeleteFunc(slices.Clone(skills), func(name string) bool { return name != own })
	}
	key := "silent"
	switch {
	case len(skills) == 0:
		return fmt.Errorf("input_match: %q is not the name of a skill of the plugin", p.InputMatch)
	case most > 0 || least > 1:
		return fmt.Errorf("min and max: how often an agent of the kind %s loads a skill is not known", r.Agent)
	case most < 0 && len(skills) > 1:
		return fmt.Errorf("tool: %s may be any of %d skills: write the name of one as input_match", skillTool,
			len(skills))
	case most < 0:
		key = "fires"
	}
	g.kind, g.keys = "activation", doc.Pairs{{Key: key, Value: skills}}
	return nil
}

func toolOrderGrader(r *pluginReader, g *grader, n *doc.Node) error {
	var k struct {
		Before toolPattern `yaml:"before,required"`
		After  toolPattern `yaml:"after,required"`
	}
	if !n.Decode(&k) {
		return nil
	}
	if !r.claude() {
		return fmt.Errorf("the tools are those of Claude Code, not of agents of the kind %s", r.Agent)
	}
	before, err := k.Before.call()
	if err != nil {
		return fmt.Errorf("before: %w", err)
	}
	after, err := k.After.call()
	if err != nil {
		return fmt.Errorf("after: %w", err)
	}
	g.kind = "tool_trajectory"
	g.keys = doc.Pairs{
		{Key: "mode", Value: "superset"},
		{Key: "expected", Value: []doc.Pairs{after}},
		{Key: "before", Value: []doc.Pairs{before, after}},
	}
	return nil
}

func fileGrader(_ *pluginReader, g *grader, n *doc.Node) error {
	var k struct {
		Path   string `yaml:"path,required"`
		Exists bool   `yaml:"exists" default:"true"`
	}
	if !n.Decode(&k) {
		return nil
	}
	if !fs.ValidPath(k.Path) || strings.ContainsAny(k.Path, `*?\`) {
		return fmt.Errorf("path: %q is no path of one file below the workspace: patterns are not looked for", k.Path)
	}
	g.kind = "files"
	file := doc.Pairs{{Key: "path", Value: k.Path}, {Key: "exists", Value: k.Exists}}
	g.keys = doc.Pairs{{Key: "expect", Value: []doc.Pairs{file}}}
	return nil
}

// samples is how often a model is asked: most of its answers decide.
const samples = 3

func llmGrader(r *pluginReader, g *grader, n *doc.Node) error {
	var k struct {
		Criteria string `yaml:"criteria,required"`
		Focus    target `yaml:"focus"`
	}
	if !n.Decode(&k) {
		return nil
	}
	if r.JudgeModel == "" {
		return fmt.Errorf("a model is to decide: name one with --judge-model")
	}
	shown := "Judge the last message of a coding agent:\n{{candidate_answer}}\n"
	switch k.Focus.Source {
	case "", "last_message":
	case "file":
		shown = fmt.Sprintf("Judge the file %s that a coding agent left, as the changes show it:\n{{file_changes}}\n",
			strings.ReplaceAll(k.Focus.Path, "{{", "{ {"))
	case "files":
		shown = "Judge the files that a coding agent left, as the changes show them:\n{{file_changes}}\n"
	case "trace":
		shown = "Judge what a coding agent said and did:\n{{output_messages}}\n{{tool_calls}}\n"
	default:
		return fmt.Errorf("focus: stand-ins for MCP servers are not played")
	}
	g.kind = "llm_judge"
	g.keys = doc.Pairs{
		{Key: "model", Value: r.JudgeModel},
		{Key: "samples", Value: samples},
		{Key: "prompt", Value: shown},
		{Key: "rubrics", Value: []doc.Pairs{{
			{Key: "id", Value: ident(g.Name)},
			{Key: "text", Value: strings.TrimSpace(k.Criteria) + "\n"},
			{Key: "required", Value: true},
		}}},
	}
	return nil
}

func baselineGrader(_ *pluginReader, _ *grader, n *doc.Node) error {
	var k struct {
		BaselineFile string `yaml:"baseline_file,required"`
		Criteria     string `yaml:"criteria,required"`
	}
	n.Decode(&k)
	return fmt.Errorf("baseline: a session is not compared with Claude Code's own record of another one")
}
