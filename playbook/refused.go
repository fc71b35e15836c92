package playbook

// refused are keys with a better reason than that they are unknown.
var refused = map[string]string{
	"version": "the fixed-pipeline format was replaced by workflow, jobs and steps: `sdd-eval init` writes a new template",
}
