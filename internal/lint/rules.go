package lint

import "context"

// rule is one thing to look for.
type rule struct {
	id string
	// remedy is what to do about its findings, unless they say so themselves.
	remedy string
	// find calls found with each finding; Rule is filled in, and so is an empty Remedy.
	find func(ctx context.Context, s *suite, found func(Finding)) error
}

// rules are all rules. Their ids are those that `lint.accept` takes: see [plan.Accept].
var rules = []rule{
	{
		id:     "answer-in-prompt",
		remedy: "take it out of the prompt, or have the evaluator look for what the agent has to find out",
		find:   answerInPrompt,
	},
	{
		id:     "answer-in-workspace",
		remedy: "remove it from the file, or leave the file out with `workspace.exclude`",
		find:   answerInWorkspace,
	},
	{
		id: "answer-in-history",
		remedy: "remove .git from `workspace.include`; `workspace.repository: true` makes a repository " +
			"with one commit instead",
		find: answerInHistory,
	},
	{
		id: "judge-in-workspace",
		remedy: "move it beside the playbook, out of the directory that workspaces are copied from, or leave it out " +
			"with `workspace.exclude`",
		find: judgeInWorkspace,
	},
	{
		id:     "judge-exposed",
		remedy: "name less under `sandbox.allow_read` and `caches`, or move the judge's files elsewhere",
		find:   judgeExposed,
	},
	{
		id:     "canary",
		remedy: "remove what was copied from the judges; a canary marks what the agent must not see",
		find:   canary,
	},
	{
		id: "writable-judge",
		remedy: "have it fail when they change: `files` with `golden`, a copy of them that a `code_judge` runs, " +
			"or `permissions.rules` that reject edits of them",
		find: writableJudge,
	},
	{
		id: "idle-passes",
		remedy: "expect something that only the work brings about: a text or a file that is not there yet, a call, " +
			"an answer",
		find: idlePasses,
	},
}
