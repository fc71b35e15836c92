package llmjudge

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/payload"
	"github.com/sdd-eval/sdd-eval/internal/spec"
)

// prompt makes what a judge is asked.
type prompt interface {
	render(ctx context.Context, in evaluator.Input) (string, error)
	needs() evaluator.Needs
}

// maxTemplate bounds the files of templates, in bytes.
const maxTemplate = 1 << 20

// compilePrompt returns the evaluator's prompt; what is wrong with it is reported.
func compilePrompt(n *doc.Node, k keys) prompt {
	config := k.Config.Value()
	if k.Prompt == nil {
		if n.Get("prompt") == nil {
			meaningless(n, "without a `prompt` that uses it", "config")
		}
		meaningless(n, "without a script of a prompt", "timeout", "network", "compat")
		return written{}
	}
	text, ok := k.Prompt.Value().(string)
	if !ok {
		return compileProgram(k)
	}
	meaningless(n, "without a script of a prompt", "timeout", "network", "compat")
	if strings.TrimSpace(text) == "" {
		k.Prompt.Errorf("", "must not be empty")
		return written{}
	}
	name := strings.TrimSpace(text)
	if !isFile(name) {
		t, err := parseTemplate(text, config)
		if err != nil {
			k.Prompt.Errorf("", "%v", err)
		}
		return written{t}
	}
	t, err := readTemplate(k.Prompt, name, config)
	if err != nil {
		k.Prompt.Errorf("", "%v", err)
	}
	return written{t}
}

func meaningless(n *doc.Node, where string, keys ...string) {
	for _, key := range keys {
		if n.Get(key) != nil {
			n.Errorf(key, "means nothing %s", where)
		}
	}
}

// isFile tells the name of a file from a text.
func isFile(text string) bool {
	if strings.Contains(text, "\n") {
		return false
	}
	return strings.HasPrefix(text, "./") || strings.HasPrefix(text, "../") ||
		strings.HasSuffix(text, ".md") || strings.HasSuffix(text, ".txt")
}

// readTemplate reads the template in a file. One that does not show what the agent did has nothing judged.
func readTemplate(n *doc.Node, name string, config any) (*template, error) {
	path, err := spec.File(n, name)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxTemplate+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > maxTemplate:
		return nil, fmt.Errorf("%s is larger than the %d MiB that a prompt may have", name, maxTemplate>>20)
	case !utf8.Valid(data):
		return nil, fmt.Errorf("%s is not valid UTF-8", name)
	}
	t, err := parseTemplate(string(data), config)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if !t.uses(work...) {
		return nil, fmt.Errorf("%s shows the judge nothing of what the agent did: it must use one of {{%s}}",
			name, strings.Join(work, "}}, {{"))
	}
	return t, nil
}

// written is a prompt that stands in the playbook or in a file; without a template it is our own. Where the template does
// not show what the agent did, that follows.
type written struct{ template *template }

func (w written) needs() evaluator.Needs {
	if w.appends() || w.template.uses("file_changes") {
		return evaluator.NeedsWorkspace
	}
	return 0
}

// appends reports whether what the agent did is appended to the template.
func (w written) appends() bool { return w.template == nil || !w.template.uses(work...) }

func (w written) render(ctx context.Context, in evaluator.Input) (string, error) {
	p, err := payload.Of(ctx, in, nil)
	if err != nil {
		return "", err
	}
	switch {
	case w.template == nil:
		return asked(p) + "\n" + fenced(p), nil
	case w.appends():
		return strings.TrimRight(w.template.fill(p), "\n") + "\n\n" + fenced(p), nil
	}
	return w.template.fill(p), nil
}
