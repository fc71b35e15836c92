package plan

import (
	"maps"
	"reflect"
	"slices"

	"github.com/sdd-eval/sdd-eval/internal/action"
	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// Schema returns the JSON schema (draft 7) of playbooks and eval files with these kinds of evaluators, for editors. It
// is made from the types that [Load] decodes into. A file that passes it can still have errors, for example a reference
// to something missing.
func Schema(kinds Kinds) []byte {
	schemas := doc.Schemas{Descriptions: descriptions}
	doc.Refine[Ablation](&schemas, refineAblation)
	doc.Refine[Accept](&schemas, func(s *doc.Schema) {
		s.Properties["rule"].Enum, s.Properties["rule"].Pattern = LintRules, ""
	})
	doc.Refine[AIJudge](&schemas, refineAIJudge)
	doc.Refine[playbook.Agent](&schemas, refineAgent)
	doc.Refine[Cache](&schemas, refineCache)
	doc.Refine[Case](&schemas, refineCase)
	doc.Refine[Days](&schemas, func(s *doc.Schema) { s.Pattern = days.String() })
	doc.Refine[Evaluator](&schemas, refineEvaluator)
	doc.Refine[Git](&schemas, refineGit)
	doc.Refine[Job](&schemas, refineJob)
	doc.Refine[Matrix](&schemas, refineMatrix)
	doc.Refine[MCPServer](&schemas, func(s *doc.Schema) { *s = *schemas.Of(reflect.TypeFor[playbook.MCPServer]()) })
	doc.Refine[Override](&schemas, func(s *doc.Schema) { refineOverride(s, &schemas) })
	doc.Refine[playbook.PermissionRule](&schemas, refinePermissionRule)
	doc.Refine[Playbook](&schemas, refinePlaybook)
	doc.Refine[Sandbox](&schemas, func(s *doc.Schema) {
		*s = *schemas.Of(reflect.TypeFor[playbook.Sandbox]())
		s.Properties["require"].Items.Enum = properties()
	})
	doc.Refine[playbook.Size](&schemas, func(s *doc.Schema) { s.Pattern = playbook.SizePattern })
	doc.Refine[Step](&schemas, refineStep)
	doc.Refine[Stop](&schemas, func(s *doc.Schema) { s.Enum = result.Stops() })
	doc.Refine[Trials](&schemas, refineTrials)
	doc.Refine[Variant](&schemas, refineVariant)
	refineEvalFiles(&schemas)
	root := &doc.Schema{
		Dialect: doc.Draft7, Title: "sdd-eval playbook or eval file", Type: "object",
		// For editors, which offer what stands here.
		Properties: map[string]*doc.Schema{"evalcases": {Description: "Makes the file an eval file."}},
		AllOf: []*doc.Schema{
			{If: having("evalcases"), Then: &doc.Schema{Ref: "#/definitions/evalfile"}},
			{If: &doc.Schema{Not: having("evalcases")}, Then: &doc.Schema{Ref: "#/definitions/playbook"}},
		},
		Definitions: map[string]*doc.Schema{
			"evaluator": kinds.schema(&schemas),
			"evalfile":  schemas.Of(reflect.TypeFor[evalFile]()),
			"playbook":  schemas.Of(reflect.TypeFor[Playbook]()),
		},
	}

	data, err := jsonvalue.Indent(root)
	if err != nil {
		panic("plan: " + err.Error()) // it consists of text and numbers
	}
	return data
}

// schema returns the schema of an evaluator: the keys that all have, and for each type its own.
func (ks Kinds) schema(schemas *doc.Schemas) *doc.Schema {
	common := schemas.Of(reflect.TypeFor[evaluatorKeys]())
	common.Properties["type"].Enum = slices.Sorted(maps.Keys(ks))
	for _, name := range common.Properties["type"].Enum {
		if ks[name].Keys == nil {
			continue
		}
		own := schemas.Of(reflect.TypeOf(ks[name].Keys))
		for key := range common.Properties {
			own.Properties[key] = &doc.Schema{}
		}
		for key, text := range ks[name].Descriptions {
			own.Properties[key].Description = text
		}
		common.AllOf = append(common.AllOf, &doc.Schema{If: is("type", name), Then: own})
	}
	return common
}

func refinePlaybook(s *doc.Schema) {
	s.Required = append(s.Required, "workflow")
	s.OneOf = eachHaving("task", "cases")
	s.Properties["styles"].PropertyNames.Not = &doc.Schema{Enum: builtinStyles}
}

func refineCase(s *doc.Schema) {
	s.OneOf = eachHaving("prompt", "prompts")
	s.Properties["prompts"].Items.Pattern = `\S`
}

func refineVariant(s *doc.Schema) {
	style := s.Properties["style"]
	style.Pattern = ""
	style.AnyOf = []*doc.Schema{{Enum: builtinStyles}, {Pattern: id.String()}}
}

func refineAgent(s *doc.Schema) {
	s.Properties["kind"].Enum = agent.Kinds()
	for _, profile := range agent.Profiles() {
		if profile.NeedsPreset {
			s.AllOf = append(s.AllOf, &doc.Schema{If: is("kind", profile.Kind), Then: having("preset")})
		}
		if profile.Command == "" {
			s.AllOf = append(s.AllOf, &doc.Schema{If: is("kind", profile.Kind), Then: having("command")})
		}
	}
}

// refineJob keeps actions where they belong: those that act for the run outside the matrix, all others in it.
func refineJob(s *doc.Schema) {
	s.Properties["needs"].UniqueItems = true
	var ofRun, ofVariant []string
	for _, name := range action.Names() {
		if action.Of(name).InUnit == nil {
			ofRun = append(ofRun, name)
		}
		if action.Of(name).InRun == nil {
			ofVariant = append(ofVariant, name)
		}
	}
	s.AllOf = []*doc.Schema{
		{If: having("strategy"), Then: withoutActions(ofRun)},
		{If: &doc.Schema{Not: having("strategy")}, Then: withoutActions(ofVariant)},
	}
}

// withoutActions returns a schema of jobs that use none of these actions.
func withoutActions(names []string) *doc.Schema {
	uses := &doc.Schema{Not: &doc.Schema{Enum: names}}
	step := &doc.Schema{Properties: map[string]*doc.Schema{"uses": uses}}
	return &doc.Schema{Properties: map[string]*doc.Schema{"steps": {Items: step}}}
}

// refineMatrix describes the further axes that [cross] reads.
func refineMatrix(s *doc.Schema) {
	axis := s.Properties["variant"]
	axis.UniqueItems = true
	entries := atLeastOne(&doc.Schema{Type: "array", Items: &doc.Schema{
		Type: "object", MinProperties: axis.MinItems, AdditionalProperties: &doc.Schema{Type: "string"},
	}})
	include, exclude := *entries, *entries
	include.Description = "Arms beside those that the axes multiply to, or more values for some of them."
	exclude.Description = "Arms to leave out: those that have all values of an entry."
	s.Properties[includeKey], s.Properties[excludeKey] = &include, &exclude
	s.Required, s.PropertyNames, s.MinProperties = nil, &doc.Schema{Pattern: id.String()}, axis.MinItems
	s.AdditionalProperties = &doc.Schema{
		Type: "array", Items: axis.Items, MinItems: axis.MinItems, UniqueItems: true,
		Description: "A further axis: ids of variants, each of which is laid over those of the axes before it.",
	}
}

func refineStep(s *doc.Schema) {
	uses := s.Properties["uses"]
	uses.Pattern = ""
	uses.AnyOf = []*doc.Schema{{Enum: action.Names()}, {Pattern: `\$\{\{`}}

	with := s.Properties["with"]
	with.Properties, with.AdditionalProperties = make(map[string]*doc.Schema), false
	for _, name := range action.Names() {
		for _, key := range action.Of(name).Settings {
			with.Properties[key] = &doc.Schema{}
		}
	}
	s.Properties["cwd"].Not = &doc.Schema{Pattern: `^/|(^|[/\\])\.\.([/\\]|$)`}

	never := &doc.Schema{Not: &doc.Schema{}}
	s.OneOf = eachHaving("uses", "run")
	s.OneOf[0].Properties = map[string]*doc.Schema{"cwd": never}
	s.OneOf[1].Properties = map[string]*doc.Schema{"with": never}
}

func refineTrials(s *doc.Schema) {
	s.Not = &doc.Schema{AnyOf: []*doc.Schema{
		having("pass", "pass_rate"), having("score", "pass"), having("score", "pass_rate"),
	}}
}

func refinePermissionRule(s *doc.Schema) { s.AnyOf = eachHaving("tool", "path") }

func refineOverride(s *doc.Schema, schemas *doc.Schemas) {
	*s = *schemas.Of(reflect.TypeFor[playbook.Override]())
	s.OneOf = eachHaving("output", "error")
}

func refineAIJudge(s *doc.Schema) { s.If, s.Then = is("enabled", true), having("model") }

// refineEvaluator has evaluators described in one place.
func refineEvaluator(s *doc.Schema) { *s = doc.Schema{Ref: "#/definitions/evaluator"} }

// eachHaving returns schemas that each want another key.
func eachHaving(keys ...string) []*doc.Schema {
	schemas := make([]*doc.Schema, len(keys))
	for i, key := range keys {
		schemas[i] = having(key)
	}
	return schemas
}

// having returns a schema that wants all of these keys.
func having(keys ...string) *doc.Schema { return &doc.Schema{Required: keys} }

// is returns a schema that wants a key with a certain value.
func is(key string, value any) *doc.Schema {
	s := having(key)
	s.Properties = map[string]*doc.Schema{key: {Const: value}}
	return s
}

// refineEvalFiles has schemas say what the decoding of eval files checks.
func refineEvalFiles(schemas *doc.Schemas) {
	doc.Refine[evalFile](schemas, func(s *doc.Schema) { refineEvalFile(s, schemas) })
	doc.Refine[evalCase](schemas, refineEvalCase)
	doc.Refine[execution](schemas, refineExecution)
	doc.Refine[input](schemas, func(s *doc.Schema) {
		messages := schemas.Of(reflect.TypeFor[[]inputMessage]())
		*s = doc.Schema{AnyOf: []*doc.Schema{{Type: "string", Pattern: `\S`}, atLeastOne(messages)}}
	})
	doc.Refine[inputMessage](schemas, func(s *doc.Schema) {
		s.Properties["role"].Enum = []string{"user"}
		s.Properties["content"] = content("").schema(schemas)
		s.Properties["content"].AnyOf[0].Pattern = `\S`
	})
	doc.Refine[expectation](schemas, func(s *doc.Schema) {
		messages := schemas.Of(reflect.TypeFor[[]expectedMessage]())
		*s = doc.Schema{AnyOf: []*doc.Schema{{Type: "string"}, atLeastOne(messages), {Type: "object"}}}
	})
	doc.Refine[expectedMessage](schemas, func(s *doc.Schema) {
		c := content("").schema(schemas)
		c.AnyOf = append(c.AnyOf, &doc.Schema{Type: "object"})
		s.Properties["content"] = c
		s.AnyOf = eachHaving("content", "tool_calls")
	})
	doc.Refine[contentPart](schemas, func(s *doc.Schema) { s.Properties["type"].Enum = []string{"text"} })
}

// schema describes a text or a list of texts.
func (content) schema(schemas *doc.Schemas) *doc.Schema {
	return &doc.Schema{AnyOf: []*doc.Schema{{Type: "string"}, atLeastOne(schemas.Of(reflect.TypeFor[[]contentPart]()))}}
}

func atLeastOne(list *doc.Schema) *doc.Schema {
	one := 1.0
	list.MinItems = &one
	return list
}

// refineEvalFile adds the keys that eval files have in common with playbooks, and wants every case to expect something.
func refineEvalFile(s *doc.Schema, schemas *doc.Schemas) {
	s.AdditionalProperties = false
	playbook := schemas.Of(reflect.TypeFor[Playbook]()).Properties
	for key := range playbook {
		if playbookOnly[key] == "" {
			s.Properties[key] = &doc.Schema{Ref: "#/definitions/playbook/properties/" + key}
		}
	}
	s.Properties["variants"] = playbook["variants"]
	delete(playbook["variants"].AdditionalProperties.(*doc.Schema).Properties, "style")
	s.Required = append(s.Required, "variants")

	expecting := having("execution")
	expecting.Properties = map[string]*doc.Schema{"execution": having("evaluators")}
	s.AnyOf = []*doc.Schema{expecting, {Properties: map[string]*doc.Schema{"evalcases": {Items: expecting}}}}
}

func refineEvalCase(s *doc.Schema) {
	s.OneOf = eachHaving(questions...)
	s.Not = having("expected_output", "expected_messages")
}

func refineExecution(s *doc.Schema) {
	s.Not = having("target", "targets")
	s.Properties["targets"].UniqueItems = true
}

// descriptions are those that are too long for a tag, see [doc.Schemas].
var descriptions = map[string]string{
	"Cassette.Level": "What is replayed. run: the whole session. The others run the agent, and replay what it asks " +
		"of its client, of MCP servers, or of both.",
	"Cassette.AllowUnused": "Tools whose recorded answers need not all be used; * stands for anything. " +
		"Not with level run.",
	"Playbook.Trials": "How often each case is tried with each variant, and how often it has to pass.",
	"Trials.Score":    "Mean score that the trials must reach, each the share of its evaluators that pass, by weight.",
	"Trials.PassRate": "Share of the trials that must pass. Either pass or pass_rate.",
	"Sandbox.Kind":    "What confines agents, run steps and judges; default: auto, the strongest that there is.",
	"Sandbox.Network": "Who reaches the network; default: agent, which is the agent's process alone.",
	"Override.Tool": "With level run the tool's name, such as Bash; otherwise fs/read_text_file, " +
		"fs/write_text_file, terminal/create, session/request_permission or mcp__SERVER__TOOL.",
	"Override.Args":       "Arguments that the call has, with paths in the workspace as $WORKSPACE/...; default: any.",
	"MCPServer.Name":      "Unique in the playbook; agents make it part of the names of tools.",
	"Permissions.Default": "The answer when no rule matches.",
	"evalFile.Evalcases":  "What the agents are asked; each case is judged on its own.",
	"evalCase.Question":   "What the agent is asked, verbatim. One of question, input and input_messages.",
	"evalCase.ReferenceAnswer": "An answer that is known to be right, for judges; " +
		"default: the last expected message.",
	"evaluatorKeys.Threshold": "The lowest score that passes, above 0 and up to 1; default: 1.",
	"evaluatorKeys.Agreement": "The least kappa (Cohen's) with people; where that is not known it is an error. " +
		"See sdd-eval agreement.",
	"evaluatorKeys.Required": "false: its score is reported and decides nothing. " +
		"In a composite, true: it must pass, " +
		"whatever the mean is.",
}
