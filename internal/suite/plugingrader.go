package suite

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/jsregexp"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// grader is one of the graders of a case.
type grader struct {
	graderKeys
	at   doc.Position
	kind string    // of the evaluator
	keys doc.Pairs // of the evaluator
	// skill: it is about the use of skills, or of the plugin's servers alone.
	skill bool
	// mockCalls: it is about the calls of servers that are played.
	mockCalls bool
	// served are the tools of MCP servers that it is about, for agents of other kinds than Claude Code.
	served []string
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
	body  string      // the key that takes what stands below the head of a file
	write writeGrader // nil: baselineGrader
}{
	"regex":       {"pattern", regexGrader},
	"tool_used":   {"", toolUsedGrader},
	"tool_order":  {"", toolOrderGrader},
	"file_exists": {"", fileGrader},
	"llm":         {"criteria", llmGrader},
	"baseline":    {"criteria", nil},
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
	if strings.Contains(n.Get(kind.body).Text(), blankGrader) {
		c.problem(g.at, g.Name, fmt.Sprintf("it still says %q, as `claude plugin eval init` wrote it: write what must "+
			"hold", blankGrader))
	}
	own := n.Without("type", "name", "weight", "arm")
	var err error
	if kind.write == nil {
		err = baselineGrader(r, c, &g, own)
	} else {
		err = kind.write(r, &g, own)
	}
	if err != nil {
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
		if strings.Contains(k.Pattern, "(?=") || strings.Contains(k.Pattern, "(?!") {
			return fmt.Errorf("match: %s with a look ahead", k.Match)
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
	case "files":
		check = append(check, doc.Pair{Key: "target", Value: "created_files"})
	case "mock_calls":
		g.mockCalls = true
		check = append(check, doc.Pair{Key: "target", Value: "mock_calls"})
	default:
		return fmt.Errorf("target: %s is each line that Claude Code prints, and no recording keeps them: look for "+
			"calls with tool_used and input_match, and for words in last_message", k.Target)
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
	case !r.claude() && !served(k.Call.Tool):
		return r.activation(g, k.Call, k.Min, k.Max)
	case k.Max == 0:
		g.keys = doc.Pairs{{Key: "never", Value: []doc.Pairs{call}}}
	case k.Call.InputMatch == "":
		if g.keys, err = counted(k.Min, k.Max, k.Call.Tool); err != nil {
			return err
		}
	case k.Max > 0:
		return fmt.Errorf("max: %d with input_match: only 0 calls can be told from more of some input", k.Max)
	default:
		g.keys = doc.Pairs{
			{Key: "mode", Value: "superset"}, {Key: "expected", Value: slices.Repeat([]doc.Pairs{call}, k.Min)},
		}
	}
	if g.kind = "tool_trajectory"; !r.claude() {
		g.served = []string{k.Call.Tool}
	}
	return nil
}

// activation is toolUsedGrader for agents that have other tools than Claude Code, and skills.
func (r *pluginReader) activation(g *grader, p toolPattern, least, most int) error {
	if p.Tool != skillTool {
		return fmt.Errorf("tool: %s is a tool of Claude Code, not of agents of the kind %s", p.Tool, r.Agent)
	}
	written, err := expression("input_match", p.InputMatch, "")
	if err != nil {
		return err
	}
	find, err := regexp.Compile(written)
	if err != nil {
		return fmt.Errorf("input_match: %w", err)
	}
	skills := slices.DeleteFunc(slices.Clone(r.skills), func(name string) bool {
		return !find.MatchString(fmt.Sprintf(`{"skill":"%s:%s"}`, r.Name, name))
	})
	_, own, _ := strings.Cut(p.InputMatch, r.Name+":")
	if own = cmp.Or(own, p.InputMatch); most < 0 && slices.Contains(skills, own) {
		skills = []string{own}
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
		if !served(k.Before.Tool) || !served(k.After.Tool) {
			return fmt.Errorf("the tools are those of Claude Code, not of agents of the kind %s", r.Agent)
		}
		g.served = []string{k.Before.Tool, k.After.Tool}
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
	key := "matches"
	if !k.Exists {
		key = "not_matches"
	}
	g.kind = "text"
	g.keys = doc.Pairs{{Key: "checks", Value: []doc.Pairs{{
		{Key: "id", Value: ident(g.Name)},
		{Key: key, Value: []string{globbed(k.Path)}},
		{Key: "target", Value: "created_files"},
	}}}}
	return nil
}

// globbed returns the regular expression of the lines that a pattern of file_exists means.
func globbed(pattern string) string {
	var b strings.Builder
	b.WriteString(`(?m)^`)
	for rest := pattern; rest != ""; {
		var ok bool
		if rest, ok = strings.CutPrefix(rest, "**/"); ok {
			b.WriteString(`(?:.*/)?`)
		} else if rest, ok = strings.CutPrefix(rest, "**"); ok {
			b.WriteString(`.*`)
		} else if rest, ok = strings.CutPrefix(rest, "*"); ok {
			b.WriteString(`[^/\n]*`)
		} else if rest, ok = strings.CutPrefix(rest, "?"); ok {
			b.WriteString(`.`)
		} else {
			r, size := utf8.DecodeRuneInString(rest)
			b.WriteString(regexp.QuoteMeta(string(r)))
			rest = rest[size:]
		}
	}
	return b.String() + `$`
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
	what := ""
	switch k.Focus.Source {
	case "", "last_message":
		what = "the last message of a coding agent"
	case "file":
		what = fmt.Sprintf("the file %s that a coding agent left", strings.ReplaceAll(k.Focus.Path, "{{", "{ {"))
	case "files":
		what = "the files that a coding agent left"
	case "trace":
		what = "what a coding agent said and did"
	case "mock_calls":
		g.mockCalls = true
		what = "the calls of the tools of MCP servers that a coding agent made"
	}
	r.asks(g, what, k.Focus.Source, k.Criteria)
	return nil
}

// asks makes of a grader one that a model or an agent decides, who looks at a source. What names that for people.
func (r *pluginReader) asks(g *grader, what, source, criteria string) {
	criteria = strings.TrimSpace(criteria) + "\n"
	rubric := doc.Pairs{{Key: "id", Value: ident(g.Name)}}
	g.kind = "llm_judge"
	if r.JudgeModel != "" {
		shown := "Judge " + what
		switch source {
		case "", "last_message":
			shown += ":\n{{candidate_answer}}\n"
		case "trace":
			shown += ":\n{{output_messages}}\n{{tool_calls}}\n"
		case "mock_calls":
			shown += ":\n{{tool_calls}}\n"
		default:
			shown += ", as the changes show " + map[string]string{"file": "it"}[source]
			if source == "files" {
				shown += "them"
			}
			shown += ":\n{{file_changes}}\n"
		}
		g.keys = doc.Pairs{
			{Key: "model", Value: r.JudgeModel}, {Key: "samples", Value: samples}, {Key: "prompt", Value: shown},
		}
	} else {
		judge := r.Judge
		if judge.Kind == "" {
			judge = playbook.Agent{Kind: r.Agent, Preset: r.Preset, Command: r.Command, Args: r.Args}
		}
		g.keys = doc.Pairs{{Key: "agent", Value: agentPairs(judge)}}
		criteria = "Of " + what + ":\n" + criteria
		rubric = rubric.With("calls", source == "trace" || source == "mock_calls")
	}
	rubric = append(rubric, doc.Pair{Key: "text", Value: criteria}, doc.Pair{Key: "required", Value: true})
	g.keys = append(g.keys, doc.Pair{Key: "rubrics", Value: []doc.Pairs{rubric}})
}

const (
	baselineLines = 12       // of a baseline that are shown from each end
	maxBaseline   = 64 << 10 // bytes of it that are shown
)

func baselineGrader(r *pluginReader, c *pluginCase, g *grader, n *doc.Node) error {
	var k struct {
		BaselineFile string `yaml:"baseline_file,required"`
		Criteria     string `yaml:"criteria,required"`
	}
	if !n.Decode(&k) {
		return nil
	}
	if c.at == nil {
		c.at = make(map[string]*doc.Node)
	}
	c.at["baseline_file"] = n.Get("baseline_file")
	p, ok := c.below(r, "baseline_file", k.BaselineFile)
	if !ok {
		return nil
	}
	data, err := r.tree.ReadRegular(r.path(p), doc.MaxSize)
	if err != nil {
		return fmt.Errorf("baseline_file: %w", err)
	}
	var lines []string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if !json.Valid([]byte(line)) {
			return fmt.Errorf("baseline_file: %s is no session: each line must be a JSON value", k.BaselineFile)
		}
		lines = append(lines, line)
	}
	if more := len(lines) - 2*baselineLines; more > 0 {
		lines = slices.Concat(lines[:baselineLines], []string{fmt.Sprintf("[%d more messages]", more)},
			lines[len(lines)-baselineLines:])
	}
	text := strings.ToValidUTF8(strings.Join(lines, "\n"), "\uFFFD")
	if len(text) > maxBaseline {
		return fmt.Errorf("baseline_file: what is shown of %s has %d bytes, more than %d", k.BaselineFile, len(text),
			maxBaseline)
	}
	r.asks(g, "what a coding agent said and did", "trace", "It is at least as good as the session below by this "+
		"criterion: "+strings.TrimSpace(k.Criteria)+"\n\nThe session to compare with, a message a line:\n"+text)
	return nil
}
