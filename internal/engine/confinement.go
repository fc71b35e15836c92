package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/spec"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
	"github.com/sdd-eval/sdd-eval/internal/toolcache"
)

// openSandbox returns what confines a playbook's agents and everything that may run their code. A chosen kind, if not
// empty, is the user's word over the playbook's.
func openSandbox(pb *spec.Playbook, chosen string) (*confine.Sandbox, error) {
	name := chosen
	if name == "" {
		name = pb.Sandbox.Kind
	}
	if name == "" { // a playbook that was not read from a file
		name = string(confine.Auto)
	}
	kind, err := confine.ParseKind(name)
	if err != nil {
		return nil, err
	}
	var command []string
	if kind == confine.Wrapper {
		if command = pb.Sandbox.Command; len(command) == 0 {
			return nil, fmt.Errorf("%s names no `sandbox.command`, which a sandbox of kind %s is", pb.File, kind)
		}
	}
	s, err := confine.New(kind, command)
	if err != nil {
		return nil, err
	}
	key := strings.Join(append([]string{string(kind), os.Getenv("PATH")}, command...), "\x00")
	shared, _ := sandboxes.LoadOrStore(key, s)
	return shared.(*confine.Sandbox), nil
}

// sandboxes are those of all playbooks, by what they are made from: what one holds is measured once.
var sandboxes sync.Map

// Sandbox returns what confines what the run starts, the zero value if that is nothing. The error says that nothing can
// confine it here, or that the playbook is wrong about it, and what can be done.
func (r *Runner) Sandbox(ctx context.Context) (confine.Properties, error) {
	if !r.StartsChildren() {
		return confine.Properties{}, nil
	}
	if _, err := r.allowedReads(); err != nil {
		return confine.Properties{}, err
	}
	return r.properties(ctx)
}

func (r *Runner) properties(ctx context.Context) (confine.Properties, error) {
	properties, err := r.sandbox.Properties(ctx)
	if unavailable, ok := errors.AsType[*confine.UnavailableError](err); ok {
		err = fault.Advise(err, unavailable.Advice())
	}
	return properties, err
}

// StartsChildren reports whether the run starts what has to be confined: agents, run steps, evaluators' commands.
func (r *Runner) StartsChildren() bool {
	return slices.ContainsFunc(r.plan.Units, func(u spec.Unit) bool {
		return r.startsAgent(u) || evaluatorNeeds(u)&evaluator.StartsChild != 0
	}) || slices.ContainsFunc(r.plan.Jobs, func(j spec.Job) bool { return does(j.Steps, startsChild) })
}

// start starts a child that is confined.
func (r *Runner) start(ctx context.Context, c supervise.Command, p confine.Policy) (*supervise.Process, error) {
	if _, err := r.properties(ctx); err != nil {
		return nil, err
	}
	allowed, err := r.allowedReads()
	if err != nil {
		return nil, err
	}
	p.Read = slices.Concat(p.Read, allowed, toolcache.Find(r.cfg.Environ).Paths())
	p.Private = append(p.Private, r.cfg.Root)
	return r.sandbox.Start(ctx, c, p)
}

// findAllowedReads makes sure that what sandbox.allow_read names is there.
func (r *Runner) findAllowedReads() ([]string, error) {
	var paths []string
	for _, name := range r.pb.Sandbox.AllowRead {
		path := r.besidePlaybook(name)
		if rest, ok := strings.CutPrefix(name, "~/"); ok {
			home, err := os.UserHomeDir()
			if err != nil {
				return nil, fmt.Errorf("%s: sandbox.allow_read: %s: %w", r.pb.File, name, err)
			}
			path = filepath.Join(home, rest)
		}
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("%s: sandbox.allow_read: %w", r.pb.File, err)
		}
		paths = append(paths, path)
	}
	return paths, nil
}
