// Package payload turns the input of evaluators into the input of judges.
package payload

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/evaltest/judge"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/spec"
)

// Of returns the judge's input. Config is the judge's configuration, a value that encoding/json can marshal, nil for none.
func Of(ctx context.Context, in evaluator.Input, config any) (judge.Input, error) {
	j := judge.Input{
		Question:         strings.Join(in.Case.Prompts, "\n\n"),
		ExpectedOutcome:  in.Case.ExpectedOutcome,
		ReferenceAnswer:  in.Case.ReferenceAnswer,
		CandidateAnswer:  in.Run.Answer(),
		ExpectedMessages: expected(in.Case),
		OutputMessages:   messages(in.Run),
		InputFiles:       files(in.Case, in.Workspace),
		TraceSummary:     summary(in.Run, in.Metrics),
		SchemaVersion:    judge.Version,
		WorkspacePath:    in.Workspace,
	}
	for _, prompt := range in.Case.Prompts {
		j.InputMessages = append(j.InputMessages, judge.Message{Role: "user", Content: prompt})
	}
	var err error
	if config != nil {
		if j.Config, err = json.Marshal(config); err != nil {
			return judge.Input{}, fmt.Errorf("judge's config: %w", err)
		}
	}
	if in.Metrics != nil {
		if j.Metrics, err = json.Marshal(in.Metrics); err != nil {
			return judge.Input{}, fmt.Errorf("metrics: %w", err)
		}
	}
	if in.Changes != nil {
		if j.FileChanges, err = in.Changes(ctx); err != nil {
			return judge.Input{}, fmt.Errorf("changes of the workspace: %w", err)
		}
	}
	return j, nil
}

// files returns the paths of the files that the case put into the workspace.
func files(c spec.Case, workspace string) []string {
	paths := slices.Sorted(maps.Keys(c.Files))
	if workspace != "" {
		for i, p := range paths {
			paths[i] = filepath.Join(workspace, filepath.FromSlash(p))
		}
	}
	return paths
}

// AgentV is the name of the tool whose judges take less than ours, as a playbook has it under compat.
const AgentV = "agentv"

// Encode returns what a script reads from its standard input. Compat is [AgentV] for the keys alone that its judges know,
// else empty.
func Encode(in judge.Input, compat string) ([]byte, error) {
	text, err := json.Marshal(in)
	if err != nil || compat != AgentV {
		return text, err
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(text, &keys); err != nil {
		return nil, err
	}
	for _, ours := range []string{"schema_version", "workspace_path", "file_changes", "metrics"} {
		delete(keys, ours)
	}
	return json.Marshal(keys)
}
