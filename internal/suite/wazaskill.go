package suite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/plan"
)

// findSkills finds the skills that agents get.
func (r *waza) findSkills() {
	config, skill := r.root.Get("config"), r.root.Get("skill")
	has := func(dir string) bool {
		file := filepath.Join(dir, plan.SkillFile)
		info, err := os.Stat(file)
		return r.tree.Check(file) == nil && err == nil && info.Mode().IsRegular()
	}
	named := list(config.Get("skill_directories"), "config.skill_directories", r.refuse)
	for _, n := range named {
		const key = "config.skill_directories"
		dir, err := r.file(r.dir, n.Text())
		if err != nil {
			r.refuse(n.Position(), key, err.Error())
			continue
		}
		dirs := []string{dir}
		if !has(dir) {
			files, err := filepath.Glob(filepath.Join(dir, "*", plan.SkillFile))
			if dirs = nil; err == nil {
				for _, file := range files {
					dirs = append(dirs, filepath.Dir(file))
				}
			}
		}
		dirs = slices.DeleteFunc(dirs, func(dir string) bool { return !has(dir) })
		if len(dirs) == 0 || len(dirs) > maxGraders {
			r.refuse(n.Position(), key, fmt.Sprintf("%q has no skills, or more than %d", n.Text(), maxGraders))
		}
		r.skills = append(r.skills, dirs...)
	}
	if name := skill.Text(); len(named) == 0 && name != "" && filepath.Base(name) == name {
		for at := r.dir; len(r.skills) == 0; at = filepath.Dir(at) {
			if has(at) && (filepath.Base(at) == name || at == r.dir) {
				r.skills = []string{at}
			}
			for _, below := range []string{
				"skills", ".github/skills", ".claude/skills", ".agents/skills", "plugin/skills",
			} {
				if dir := filepath.Join(at, filepath.FromSlash(below), name); len(r.skills) == 0 && has(dir) {
					r.skills = []string{dir}
				}
			}
			if at == string(r.tree) || at == filepath.Dir(at) {
				break
			}
		}
		if len(r.skills) > 0 {
			r.note(skill.Position(), "skill", "agents get the skill %s, in %s: config.skill_directories names none",
				name, r.shown(r.skills[0]))
		} else {
			r.note(skill.Position(), "skill", "agents get no skill: config.skill_directories names none, and %q is "+
				"not found beside the suite or above it", name)
		}
	}
	for _, n := range list(config.Get("required_skills"), "config.required_skills", r.refuse) {
		if err := r.hasSkill(n.Text()); err != nil {
			r.refuse(n.Position(), "config.required_skills", err.Error())
		}
	}
}

// hasSkill returns an error if agents do not get a skill, or know it by two names.
func (r *waza) hasSkill(name string) error {
	for _, dir := range r.skills {
		if filepath.Base(dir) != name {
			continue
		}
		data, err := r.tree.ReadRegular(filepath.Join(dir, plan.SkillFile), doc.MaxSize)
		if err != nil {
			return r.short(err)
		}
		head, _, _ := strings.Cut(strings.TrimPrefix(string(data), "---\n"), "\n---")
		if own := doc.Parse("", []byte(head)).Root.Get("name").Text(); own != "" && own != name {
			return fmt.Errorf("the skill in the directory %s calls itself %q: give both one name", name, own)
		}
		return nil
	}
	return fmt.Errorf("%q is not among the skills that the agent gets: name its directory in config.skill_directories",
		name)
}

// activates makes an evaluator of which skill the agent uses, or leaves alone.
func (t *wazaCase) activates(to *evaluation, yes bool, skills ...string) error {
	for _, name := range skills {
		if err := t.hasSkill(name); err != nil {
			return err
		}
	}
	key := map[bool]string{true: "fires", false: "silent"}[yes]
	to.kind, to.keys = "activation", doc.Pairs{{Key: key, Value: skills}}
	return nil
}

func (g *wazaGrader) activated(yes bool, skills ...string) error {
	var to evaluation
	if err := g.activates(&to, yes, skills...); err != nil {
		return err
	}
	g.made = append(g.made, to)
	return nil
}

func (g *wazaGrader) skillsUsed() error {
	required, forbidden := g.strings(g.config, "required_skills"), g.strings(g.config, "forbidden_skills")
	mode, extra := g.config.Get("mode").Text(), g.config.Get("allow_extra").Text() != "false"
	switch {
	case len(required) == 0:
	case mode == "exact_match":
		return errors.New("mode: no evaluator says that no other skill is used: name them in forbidden_skills")
	case mode == "in_order" && len(required) > 1:
		return errors.New("mode: no evaluator says in which order skills are used: write any_order")
	case mode != "in_order" && mode != "any_order":
		return errors.New("mode: must be exact_match, in_order or any_order")
	case !extra: // it changes the score there, and does not decide
		g.note(g.config.Get("allow_extra").Position(), g.from+".allow_extra", "that others are used does not decide")
	}
	if len(required) > 0 {
		if err := g.activated(true, required...); err != nil {
			return err
		}
	}
	if len(forbidden) > 0 {
		return g.activated(false, forbidden...)
	}
	return nil
}

func (g *wazaGrader) trigger() error {
	mode := g.config.Get("mode").Text()
	if mode != "positive" && mode != "negative" {
		return errors.New("mode: must be positive or negative")
	}
	dir := filepath.Join(g.dir, filepath.FromSlash(g.config.Get("skill_path").Text()))
	if filepath.Base(dir) == plan.SkillFile {
		dir = filepath.Dir(dir)
	}
	name := filepath.Base(dir)
	if empty(g.config.Get("skill_path")) {
		name = g.root.Get("skill").Text()
	}
	g.note(g.node.Position(), g.from, "waza compares words of the prompt with the skill's: here the agent has to use "+
		"the skill, or must not")
	return g.activated(mode == "positive", name)
}
