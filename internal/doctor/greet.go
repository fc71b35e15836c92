package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/action"
	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/secret"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// Choose returns the agent that a person means: by KIND or KIND/PRESET, where a kind may also be a word of its name, by
// which the first in the table is meant; or by the name of a preset that only one file has. A kind that needs a preset
// gets the only one that there is.
func Choose(name, configDir string) (playbook.Agent, error) {
	word, preset, given := strings.Cut(name, "/")
	p, ok := kindOf(word)
	if !ok {
		return choosePreset(name, configDir)
	}
	a := playbook.Agent{Kind: p.Kind, Preset: preset}
	if given || !p.NeedsPreset {
		return a, nil
	}
	_, names, err := agent.Presets(p, configDir)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return a, err
	case len(names) == 1:
		a.Preset = names[0]
	case len(names) > 1:
		return a, fmt.Errorf("%s has several presets: name one of %s/{%s}", p.PresetFile, p.Kind,
			strings.Join(names, ","))
	}
	return a, nil // without a preset, the error that follows has one to paste
}

func kindOf(word string) (agent.Profile, bool) {
	if p, ok := agent.Lookup(word); ok {
		return p, true
	}
	for _, p := range agent.Profiles() {
		if slices.Contains(p.Names, word) {
			return p, true
		}
	}
	return agent.Profile{}, false
}

// choosePreset returns the agent of the only kind whose file has a preset, of kinds that share it the first.
func choosePreset(name, configDir string) (playbook.Agent, error) {
	var found []string
	var files []string
	var chosen playbook.Agent
	for _, p := range agent.Profiles() {
		if p.PresetFile == "" || slices.Contains(files, p.PresetFile) {
			continue
		}
		files = append(files, p.PresetFile)
		if _, names, err := agent.Presets(p, configDir); err == nil && slices.Contains(names, name) {
			found, chosen = append(found, p.Kind+"/"+name), playbook.Agent{Kind: p.Kind, Preset: name}
		}
	}
	switch len(found) {
	case 1:
		return chosen, nil
	case 0:
		return chosen, fmt.Errorf("no kind of agent and no preset is called %q%s; kinds: %s", name,
			doc.DidYouMean(name, agent.Kinds()), strings.Join(agent.Kinds(), ", "))
	}
	return chosen, fmt.Errorf("several kinds have a preset %q: name one of %s", name, strings.Join(found, ", "))
}

// Greet starts an agent as a run would, says hello, and returns what the agent says of itself, or one finding that is
// bad. It asks the agent nothing.
func Greet(ctx context.Context, c Config, a playbook.Agent, secrets *secret.Set) []Finding {
	group := a.Kind
	if a.Preset != "" {
		group += "/" + a.Preset
	}
	late := fmt.Errorf("the agent did not say hello within %v", c.Timeout)
	ctx, cancel := context.WithTimeoutCause(ctx, c.Timeout, late)
	defer cancel()
	found, err := c.greet(ctx, a, secrets)
	if err != nil && context.Cause(ctx) == late {
		err = fault.Advise(late, "see whether it waits for somebody to log in, or give it more --timeout")
	}
	if err != nil {
		next, _, _ := strings.Cut(inDoctor.Replace(fault.Advice(err)), "; then try it: sdd-eval doctor")
		found = []Finding{{
			Name: "hello", State: Bad, Text: strings.TrimSpace(err.Error()), Next: cmp.Or(next, "see docs/agents.md"),
		}}
	}
	for i := range found {
		found[i].Group = excerpt.Name(group, maxShown)
	}
	return found
}

// variant is the id of the agent's variant, and inDoctor takes what advice says of a playbook to what there is here.
const variant = "greeted"

var inDoctor = strings.NewReplacer(
	"name another program under variants."+variant+".agent.command", "name another program after `--`",
	"give variants."+variant+".agent a `preset`", "name a preset, as KIND/PRESET,",
	"variants."+variant+".agent", "the agent",
)

func (c Config) greet(ctx context.Context, a playbook.Agent, secrets *secret.Set) ([]Finding, error) {
	profile, _ := agent.Lookup(a.Kind)
	switch {
	case profile.Headless != nil:
		return nil, fault.Advise(fmt.Errorf("%s does not speak the protocol: there is nobody to say hello to", a.Kind),
			"sdd-eval doctor shows its version; sdd-eval doctor --agent claude-code-acp tries its accounts")
	case profile.Command == "" && a.Command == "":
		return nil, fault.Advise(fmt.Errorf("%s has no program of its own", a.Kind),
			"sdd-eval doctor --agent "+a.Kind+" -- COMMAND ARG...")
	}
	cfg, err := engine.FromEnvironment(engine.Live, c.Getenv, c.Environ)
	if err != nil {
		return nil, err
	}
	cfg.Root, cfg.ConfigDir, cfg.Secrets, cfg.GoVersion = c.Root, c.ConfigDir, secrets, c.GoVersion
	cfg.Grace = greetGrace
	cfg.Command = func(engine.Mode, plan.Unit) string { return "" }
	p, err := c.playbookOf(a).Plan()
	if err != nil {
		return nil, err
	}
	r, err := engine.New(p, cfg)
	if err != nil {
		return nil, err
	}
	g, err := r.Greet(ctx, io.Discard)
	if err != nil {
		return nil, err
	}
	return greeted(profile, cmp.Or(a.Command, profile.Command), g), nil
}

// playbookOf returns a playbook with one agent and one prompt, which nobody sends.
func (c Config) playbookOf(a playbook.Agent) *plan.Playbook {
	const job = "greet"
	return &plan.Playbook{
		File: filepath.Join(c.Dir, "doctor.yaml"), Name: "doctor",
		Cases:    []plan.Case{{ID: "hello", Prompt: "hello", Prompts: []string{"hello"}}},
		Variants: []plan.Variant{{ID: variant, Agent: a}},
		Workflow: plan.Workflow{Jobs: []plan.Job{{
			ID: job, Strategy: &plan.Strategy{Matrix: plan.Matrix{Variant: []string{variant}}},
			Steps: []plan.Step{{Uses: action.Prompt, Job: job}},
		}}},
	}
}

// greetGrace is how long the end of an agent may take.
const greetGrace = 5 * time.Second

// How many of the things that an agent offers are shown, and how many characters of each.
const (
	maxOffered     = 30
	maxOfferedText = 60
)

// greeted says what an agent said of itself.
func greeted(p agent.Profile, command string, g engine.Greeting) []Finding {
	is := installed{command: command, version: excerpt.Name(g.Agent.Version, maxOfferedText)}
	for _, known := range p.Programs {
		if known.Package == g.Agent.Name {
			is.pkg, is.command = known.Package, known.Command // npm may have given it another name
		}
	}
	who := Finding{Name: "agent", State: Well}
	who.Text = strings.TrimSpace(excerpt.Line(g.Agent.Name+" "+g.Agent.Version, maxShown))
	if tested := is.tested(p); tested == g.Agent.Version && tested != "" {
		who.Text += ", as tested"
	} else if tested != "" {
		who.State, who.Text = Noted, who.Text+"; tested: "+tested
		_, who.Next = is.compare(p)
	}
	if who.Text == "" {
		who.Text = "it does not say its name"
	}
	who.Facts = map[string]any{"name": g.Agent.Name, "version": g.Agent.Version, "protocol": g.Protocol}
	all := []Finding{
		who,
		{Name: "protocol", State: Well, Text: fmt.Sprintf("version %d", g.Protocol)},
		{Name: "sandbox", State: Well, Text: g.Sandbox.String()},
		{Name: "endpoint", State: Well, Text: g.Endpoint},
		offered("modes", g.Modes, "begins in "+strings.Join(listed(g.Agent.Modes), ", and a run sets ")),
		offered("models", g.Models, "now "+excerpt.Name(g.Model, maxOfferedText)),
	}
	if len(g.Methods) > 0 {
		all = append(all, offered("log in by", g.Methods, ""))
	}
	return all
}

// offered says what there is to choose from.
func offered(name string, choices []string, now string) Finding {
	f := Finding{Name: name, State: Well, Facts: map[string]any{"choices": choices}}
	if len(choices) == 0 {
		f.Text = "none to choose from"
		return f
	}
	f.Text = strings.Join(listed(choices), ", ")
	if now != "" {
		f.Text += "; " + now
	}
	return f
}

// listed returns the first of some texts, made harmless.
func listed(texts []string) []string {
	var shown []string
	for _, text := range texts[:min(len(texts), maxOffered)] {
		shown = append(shown, excerpt.Name(text, maxOfferedText))
	}
	if more := len(texts) - len(shown); more > 0 {
		shown = append(shown, fmt.Sprintf("%d more", more))
	}
	return shown
}
