package cli

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/doctor"
	"github.com/sdd-eval/sdd-eval/internal/environ"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// agentsTemplate is a playbook that compares agents.
//
//go:embed init_agents.yaml
var agentsTemplate string

// comparing returns a playbook, but for its name, with a variant for each agent that a person means by a word. Each has
// to be installed and to have its account.
func (a *App) comparing(named, configDir string) (string, error) {
	var ids, variants []string
	for word := range strings.SplitSeq(named, ",") {
		id := strings.ReplaceAll(word, "/", "-")
		chosen, err := doctor.Choose(word, configDir)
		switch {
		case err != nil:
		case !safeName.MatchString(id):
			err = fmt.Errorf("%q cannot name a variant, since it does not match %s", id, safeName)
		case slices.Contains(ids, id):
			err = errors.New("it is named twice")
		default:
			err = a.startable(chosen, configDir)
		}
		if err != nil {
			next := fault.Advice(err)
			if next == "" {
				next = "sdd-eval doctor"
			}
			return "", usageError("init: --agent %s: %w", word, err).hint(next)
		}
		preset := ""
		if chosen.Preset != "" {
			preset = ", preset: " + strconv.Quote(chosen.Preset)
		}
		ids = append(ids, id)
		variants = append(variants, "  "+id+": {agent: {kind: "+chosen.Kind+preset+"}}")
	}
	return strings.NewReplacer("{{ids}}", strings.Join(ids, ", "), "{{variants}}", strings.Join(variants, "\n")).
		Replace(agentsTemplate), nil
}

// startable looks for an agent's program and its account.
func (a *App) startable(chosen playbook.Agent, configDir string) error {
	p, _ := agent.Lookup(chosen.Kind)
	switch {
	case chosen.Command != "": // which only a run can look for, from where its playbook is
	case p.Command == "":
		return fault.Advise(fmt.Errorf("it is not known which program to start for agents of kind %s", p.Kind),
			"name its program, in the playbook or behind --")
	case p.Kind != agent.Fake:
		if _, err := environ.LookPath(p.Command, a.Getenv("PATH")); err != nil {
			return fault.Advise(err, p.Install(p.Command))
		}
	}
	_, err := agent.Resolve(chosen.Kind, chosen.Preset, configDir)
	return err
}
