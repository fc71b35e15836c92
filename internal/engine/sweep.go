package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/evaluator"
)

// sweep looks for secrets in the workspace of an agent that has run, and masks them in one that is kept. That they are
// there is an error: what an agent can write down it could have sent elsewhere.
func (a *attempt) sweep(ctx context.Context) error {
	if a.place == nil && !a.live || a.cleanByOrigin() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepTimeout)
	defer cancel()
	look, kept := a.secrets.Sweep, ""
	if a.place != nil {
		look, kept = a.secrets.Scrub, ", masked in the copy that is kept"
	}
	found, err := look(ctx, a.dirs.workspace)
	a.touched = true // what is masked is no longer what was put there
	if err != nil {
		err = fmt.Errorf("look for secrets in the workspace: %w", err)
	}
	if len(found) == 0 {
		return err
	}
	places := make([]string, len(found))
	for i, f := range found {
		places[i] = f.String()
	}
	return errors.Join(err, fmt.Errorf("leak: the workspace holds secrets%s: %s", kept, strings.Join(places, "; ")))
}

// cleanByOrigin reports whether the workspace is known to hold no secret without being read: nothing has run in it, and
// none is in what it was made of.
func (a *attempt) cleanByOrigin() bool {
	if !a.ownWork() || does(a.unit.Steps, needsFiles) || !a.cleanTemplate() {
		return false
	}
	for path, text := range a.unit.Case.Files {
		if a.shows([]byte(path)) || a.shows([]byte(text)) {
			return false
		}
	}
	for _, t := range a.session.Turns() {
		for _, c := range t.Delta.Changes {
			if c.Writes() && c.Data == nil { // it is in the cassette alone
				return false
			}
			if a.shows([]byte(c.Path)) || a.shows([]byte(c.Target)) || a.shows(c.Data) {
				return false
			}
		}
	}
	return true
}

// ownWork reports whether all that is in the workspace was put there by us: nothing has run in it, and no turn has failed.
func (a *attempt) ownWork() bool {
	return !a.live && a.prepared && !a.touched && !a.pb.Workspace.Git && !does(a.unit.Steps, startsChild) &&
		evaluatorNeeds(a.unit)&evaluator.StartsChild == 0
}

// shows reports whether a secret is in a text.
func (r *Runner) shows(text []byte) bool {
	_, found := r.secrets.Contains(text)
	return found
}

// cleanTemplate reports whether there is no secret in the files that workspaces are made of. They are searched once for
// all units, and again when there are more secrets.
func (r *Runner) cleanTemplate() bool {
	r.template.mu.Lock()
	defer r.template.mu.Unlock()
	if secrets := r.secrets.Len(); !r.template.searched || r.template.secrets != secrets {
		clean := true
		held := r.template.t.Each(func(path string, content []byte) {
			clean = clean && !r.shows([]byte(path)) && !r.shows(content)
		})
		r.template.searched, r.template.secrets, r.template.clean = true, secrets, clean && held
	}
	return r.template.clean
}
