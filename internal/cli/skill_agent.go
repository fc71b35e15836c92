package cli

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/doctor"
	"github.com/sdd-eval/sdd-eval/internal/environ"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/skill"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// errNoAgent says that no agent could be started here.
var errNoAgent = errors.New("no agent was found here that has a login")

// skillAgent returns the agent of a skill's sessions: the one that is named, else the one that was recorded, else the
// one that has a login here. How says which. With starts it is one that can be started.
func (a *App) skillAgent(o skillOptions, s *skill.Suite, starts bool) (chosen playbook.Agent, how string, err error) {
	recorded, was := s.RecordedAgent(o.triggers)
	switch {
	case o.agent != "":
		if chosen, err = doctor.Choose(o.agent, o.configDir); err != nil {
			err = usageError("skill: --agent: %w", err).hint("sdd-eval doctor")
		}
	case was:
		chosen, how = recorded, "as recorded"
	case starts:
		chosen, how, err = a.agentHere(o.configDir)
	default:
		err = fault.Advise(fmt.Errorf("there are no recordings in %s", a.shown(s.File(s.Cassettes()))),
			"record them where an agent has a login: "+o.line())
	}
	if err != nil {
		return chosen, how, err
	}
	if len(o.command) > 0 {
		chosen.Command, chosen.Args = a.agentCommand(o.command, s.File(skill.Generated))
	}
	if o.model != "" {
		chosen.Model = o.model
	}
	chosen.Preset, err = a.presetOf(chosen, o.preset, o.configDir, starts)
	if err == nil && starts {
		err = a.startable(chosen, o.configDir)
	}
	return chosen, how, err
}

// recordedProgram returns a program that only the recordings name, of the agent or of its judge; empty: there is none.
func (r *skillRun) recordedProgram() string {
	given := len(r.options.front.command) > 0
	if r.agent.Command != "" && !given {
		return commandWords(r.agent)
	}
	if words := commandWords(r.judge); r.judge.Command != "" && words != commandWords(r.agent) {
		return words
	}
	return ""
}

// refuseRecorded returns an error for sessions with such a program: the repository would choose what runs under the
// user's account.
func (a *App) refuseRecorded(r *skillRun) error {
	front := *r.options.front
	if r.sessions() > 0 && r.judge.Preset == agent.APIKey && front.judge == "" && !front.useAPIKey {
		return usageError("skill: only the recordings say to judge under the API key of your environment").
			hint("give --use-api-key, or choose who judges with --judge")
	}
	program := r.recordedProgram()
	if program == "" || r.sessions() == 0 {
		return nil
	}
	front.agent, front.command = r.agent.Kind, nil
	for word := range strings.FieldsSeq(program) {
		if file := filepath.Join(r.suite.File(skill.Generated), filepath.FromSlash(word)); exists(file) {
			if word = a.shownFile(file); !strings.Contains(word, "/") {
				word = "./" + word
			}
		}
		front.command = append(front.command, word)
	}
	return usageError("skill: only the recordings say to start %s, as seen from %s: what runs under your account is "+
		"yours to name", program, skill.Generated).
		hint("if you know that program: " + front.line("--case", front.cases))
}

func commandWords(a playbook.Agent) string {
	return strings.Join(append([]string{a.Command}, a.Args...), " ")
}

// skillJudge returns the agent that judges: the one that is named, else the one that has judged the recordings, so that
// what it said is found; without a kind it is the agent itself.
func (a *App) skillJudge(o skillOptions, s *skill.Suite, starts bool) (judge playbook.Agent, err error) {
	if o.judge == "" {
		return s.RecordedJudge(), nil
	}
	key := ""
	if o.useAPIKey {
		key = agent.APIKey
	}
	if judge, err = doctor.Choose(o.judge, o.configDir); err == nil {
		judge.Preset, err = a.presetOf(judge, key, o.configDir, starts)
	}
	if err != nil {
		return judge, usageError("skill: --judge: %w", err).hint(cmp.Or(fault.Advice(err), "sdd-eval doctor"))
	}
	return judge, nil
}

// agentHere returns the agent whose program and login are on this machine, if it is the only one. Kinds of the same
// agent count as the first of them.
func (a *App) agentHere(configDir string) (chosen playbook.Agent, how string, err error) {
	var found, names []string
	for _, p := range agent.Profiles() {
		if p.Command == "" || p.Kind == agent.Fake || slices.Contains(names, strings.Join(p.Names, " ")) {
			continue
		}
		if _, err := environ.LookPath(p.Command, a.Getenv("PATH")); err != nil {
			continue
		}
		if _, ok, err := agent.MachineLogin(p, configDir); !ok || err != nil {
			continue
		}
		found, names = append(found, p.Names[0]), append(names, strings.Join(p.Names, " "))
		chosen = playbook.Agent{Kind: p.Kind, Preset: agent.Login}
	}
	switch len(found) {
	case 0:
		return chosen, "", fault.Advise(errNoAgent, "sdd-eval doctor says what is missing; or name one: --agent claude")
	case 1:
		return chosen, "the only one with a login here", nil
	}
	return chosen, "", usageError("skill: several agents have a login here: name one: --agent %s",
		alternatives(found))
}

// presetOf returns the account of an agent: the one that is named, else the machine's own login, else the only preset.
func (a *App) presetOf(chosen playbook.Agent, named, configDir string, starts bool) (string, error) {
	p, _ := agent.Lookup(chosen.Kind)
	switch {
	case named != "":
		return named, nil
	case chosen.Preset != "":
		return chosen.Preset, nil
	case !starts && p.NeedsPreset:
		return agent.Login, nil // nobody logs in
	case !starts || p.PresetFile == "":
		return "", nil
	}
	_, ok, loginErr := agent.MachineLogin(p, configDir)
	if ok && loginErr == nil {
		return agent.Login, nil
	}
	byWord, err := doctor.Choose(chosen.Kind, configDir)
	if err == nil && byWord.Preset == "" && p.NeedsPreset {
		err = loginErr
	}
	return byWord.Preset, err
}

// agentCommand returns the program of an agent and its arguments, as a playbook in a directory names them: files
// relative to that.
func (a *App) agentCommand(words []string, dir string) (program string, args []string) {
	named := make([]string, len(words))
	for i, w := range words {
		named[i] = w
		file := a.path(w)
		if i == 0 && !strings.ContainsAny(w, "/"+string(filepath.Separator)) || !exists(file) {
			continue
		}
		if rel, err := filepath.Rel(dir, file); err == nil {
			named[i] = filepath.ToSlash(rel)
		}
	}
	if len(named) > 1 {
		args = named[1:]
	}
	return named[0], args
}
