package playbook

// later is the reason for which what the format has and this version does not is refused. Nothing is ignored.
const later = "not supported yet by this version"

// refused are keys with a better reason than that they are unknown.
var refused = map[string]string{
	"version": "the fixed-pipeline format was replaced by workflow, jobs and steps: `sdd-eval init` writes a new template",

	"sdd_loop":                      later,
	"report":                        later,
	"styles":                        later,
	"mcp":                           later,
	"evalcases":                     later,
	"limits.max_tokens":             later,
	"limits.max_cost_usd":           later,
	"workspace.git":                 later,
	"sandbox.kind":                  later,
	"sandbox.network":               later,
	"sandbox.allow_read":            later,
	"sandbox.command":               later,
	"cassette.max_age":              later,
	"cassette.overrides":            later,
	"cassette.allow_unused":         later,
	"evaluators[].required":         later,
	"cases[].evaluators[].required": later,
}

var (
	laterAgents     = []string{"gemini-acp", "opencode-acp"}
	laterEvaluators = []string{"code_judge", "llm_judge", "command", "metrics", "field_accuracy", "composite"}
	laterActions    = []string{
		"builtin:sdd-eval/sdd.prepare", "builtin:sdd-eval/acp.sdd-loop", "builtin:sdd-eval/report.generate",
	}
)
