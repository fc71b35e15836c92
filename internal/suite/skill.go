package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/skill"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// skillOf is [Format.of] of the evals of a skill.
func skillOf(file string) string {
	if name, dir := filepath.Base(file), filepath.Dir(file); name == "evals.json" && filepath.Base(dir) == "evals" {
		return filepath.Dir(dir)
	}
	if _, err := os.Lstat(filepath.Join(file, "evals", "evals.json")); err == nil {
		return file
	}
	return ""
}

// readSkill is [Format.read] of the evals of a skill, by package skill, which also says what is wrong with them.
func readSkill(ctx context.Context, dir string, o Options) (*Suite, error) {
	if o.JudgeModel != "" {
		return nil, errors.New("the evals of a skill are judged by the agent, which needs no key: leave out the model")
	}
	places, _, err := skill.Find(dir, false)
	switch {
	case err != nil:
		return nil, err
	case len(places) == 0:
		return nil, fmt.Errorf("%s has no evals/evals.json", dir)
	case len(places) > 1:
		return nil, fmt.Errorf("%s has the evals of %d skills: name the directory of one", dir, len(places))
	}
	from, err := skill.Load(ctx, places[0])
	if err != nil {
		return nil, err
	}
	s := &Suite{Name: from.Slug()}
	file := Playbook{File: s.Name + ".yaml"}
	for _, c := range from.Cases {
		graders := make(map[string]int)
		for _, k := range c.Checks {
			graders[string(k.By)]++
		}
		s.Cases = append(s.Cases, Case{Name: c.ID, ID: c.ID, At: c.Position, Graders: graders, Mapped: c.Runs()})
		if c.Runs() {
			file.Cases = append(file.Cases, c.ID)
		}
	}
	for _, f := range from.Findings {
		p := Problem{At: f.At, Case: f.Where, Key: f.Rule, What: f.What}
		if p.At.File == "" {
			p.At = doc.Position{File: from.File(from.EvalsDir()), Line: 1}
		}
		if f.Level == skill.Error || f.Rule == "command-prompt" {
			s.Problems = append(s.Problems, p)
		} else {
			s.Notes = append(s.Notes, p)
		}
	}
	if n := len(from.Queries); n > 0 {
		s.Notes = append(s.Notes, Problem{
			At:   from.Queries[0].Position,
			What: fmt.Sprintf("%d queries are left out: `sdd-eval skill --triggers` asks them", n),
		})
	}
	if len(file.Cases) == 0 || from.Dir == "" {
		return s, nil
	}
	who := playbook.Agent{Kind: o.Agent, Preset: o.Preset}
	file.Text, err = from.Playbook(skill.Options{
		By: "`sdd-eval convert`", Dir: o.Out, Agent: who, Arms: []skill.Arm{
			{ID: skill.With, Skill: from.File(from.Dir)},
			{ID: skill.Without, Reference: true},
		},
	})
	if err != nil {
		return nil, err
	}
	s.Playbooks = []Playbook{file}
	return s, nil
}
