package activation

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
	"github.com/sdd-eval/sdd-eval/internal/mcpname"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/wildcard"
)

// sign is what shows that an agent of a kind uses a skill or a tool.
type sign struct {
	plan.Activated
	profile agent.Profile
	file    *skillFile // of a skill, nil: it is not known where agents look for it
}

func signOf(a plan.Activated, profile agent.Profile) sign {
	s := sign{Activated: a, profile: profile}
	if a.Skill {
		s.file = fileOf(profile.Skills, a.Name)
	}
	return s
}

// in reports whether a tool call as it begins, or a request to an MCP server, shows it.
func (s sign) in(b trajectory.Body) bool {
	switch b := b.(type) {
	case trajectory.ToolStart:
		run := trajectory.Run{Events: []trajectory.Event{{Body: b}}}
		return s.call(run.ToolCalls()[0])
	case trajectory.MCPCall:
		return s.request(b)
	}
	return false
}

// call reports whether the agent calls the tool, or for the skill, or reads the skill's file, whatever comes of it.
func (s sign) call(c trajectory.ToolCall) bool {
	if !s.Skill {
		return wildcard.Match(s.Name, c.Name)
	}
	name, _ := loaded(c, s.profile)
	return name == s.Name || strings.HasSuffix(name, ":"+s.Name) || // plugin:skill
		slices.Contains(c.Does(), "read") && mentions(c, s.file)
}

// request reports whether the agent has a server run the tool.
func (s sign) request(m trajectory.MCPCall) bool {
	return !s.Skill && m.Tool != "" && wildcard.Match(s.Name, mcpname.Of(m.Server, m.Tool))
}

var quoted = lazyregexp.New(`^"([^"]+)"`)

// loaded returns the skill that a call loads, empty if it does not say which; loads is false for calls of tools that
// load none.
func loaded(c trajectory.ToolCall, profile agent.Profile) (name string, loads bool) {
	own := profile.Activation
	if own == nil || own.Tool == "" || c.Name != own.Tool {
		return "", false
	}
	args, _ := c.Args.(map[string]any)
	if name, ok := args[own.Argument].(string); ok {
		return name, true
	}
	if m := quoted.FindStringSubmatch(c.Title); m != nil {
		return m[1], true
	}
	return "", true
}

// skillFile finds the file of a skill in texts: by its path, also one of all files or of all texts beside it, or by its
// name and the path of its directory, as in "cd .agents/skills/pdf && cat SKILL.md".
type skillFile struct{ path, dir *regexp.Regexp }

var bareName = lazyregexp.New(`(?:^|[^\w/.-]|[^\w/.-]\./)` + plan.SkillFile + `(?:$|[^\w.-])`)

// fileOf returns what finds the file of a skill in the place of skills, nil if that is not known.
func fileOf(place, name string) *skillFile {
	if place == "" {
		return nil
	}
	dir := `(?:^|[^\w.-])` + regexp.QuoteMeta(place) + `/+(?:` + regexp.QuoteMeta(name) + `|\*)`
	return &skillFile{
		path: regexp.MustCompile(dir + `/+(?:` + plan.SkillFile + `(?:$|[^\w.-])|\*(?:\.md)?(?:$|[^\w./*-]))`),
		dir:  regexp.MustCompile(dir + `/*(?:$|[^\w./*-])`),
	}
}

// mentions reports whether what is shown of a call names a file.
func mentions(c trajectory.ToolCall, file *skillFile) bool {
	if file == nil {
		return false
	}
	texts := []string{c.Title}
	for _, l := range c.Locations {
		texts = append(texts, l.Path)
	}
	if args, err := json.Marshal(c.Args); err == nil {
		texts = append(texts, strings.ReplaceAll(string(args), `\\`, "/"))
	}
	return slices.ContainsFunc(texts, func(text string) bool {
		return file.path.MatchString(text) || file.dir.MatchString(text) && bareName.MatchString(text)
	})
}
