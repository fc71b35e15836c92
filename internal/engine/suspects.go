package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/secret"
)

const (
	// maxSuspects is how many places a warning or an error names.
	maxSuspects = 5
	// maxGiven bounds what is read of a file that an agent begins with, and the keys in all of them, in bytes.
	maxGiven = 64 << 20
	// maxPlace is how many characters of a path are shown.
	maxPlace = 200
)

// noteGiven remembers the keys that are in the files that an agent begins with: fixtures have some, and they are not
// the agent's. A file that cannot be read has none.
func (a *attempt) noteGiven(ctx context.Context) error {
	root, err := os.OpenRoot(a.site.dirs.workspace)
	if err != nil {
		return err
	}
	defer root.Close()
	size := 0
	return fs.WalkDir(root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return ctx.Err()
		}
		f, err := disk.OpenRegularIn(root, path)
		if err != nil {
			return ctx.Err()
		}
		defer f.Close()
		data, err := disk.ReadAll(f, maxGiven)
		if err != nil {
			return ctx.Err()
		}
		for _, key := range a.secrets.Keys(data) {
			if size += len(key); size <= maxGiven {
				a.given = append(a.given, key)
			}
		}
		return ctx.Err()
	})
}

// unnamed finds the keys that nobody gave the agent.
func (a *attempt) unnamed() *secret.Set {
	given := slices.Clone(a.given)
	for _, t := range a.session.Turns() {
		for _, e := range t.Events {
			if p, ok := e.Body.(trajectory.Prompt); ok {
				given = append(given, a.secrets.Keys([]byte(p.Text))...)
			}
		}
	}
	return a.secrets.Given(given)
}

// warnOfSuspects warns if what an agent wrote or said may hold a credential that nobody has named: it is judged as it
// is, and a recording that holds keys is refused, but one with what ordinary code says, too, is not.
func (a *attempt) warnOfSuspects() {
	if a.session == nil || !a.role.runsAgent() {
		return
	}
	if places := a.suspects(true); places != "" {
		a.result.Warnings = append(a.result.Warnings, fmt.Sprintf("what the agent wrote or said may hold credentials "+
			"that nobody has named: %s: if one is real, revoke it, and do not commit the recording", places))
	}
}

// checkKeys returns an error if a recording would show what looks like a key, and nobody gave it to the agent. It is
// not masked: evaluators would judge another text than the agent's.
func (a *attempt) checkKeys() error {
	places := a.suspects(false)
	name, err := json.Marshal(a.session.Identity().Agent)
	if err != nil {
		return err
	}
	if places == "" && a.unnamed().Suspect(name, false) >= 0 {
		places = "what the agent calls itself"
	}
	if places == "" {
		return nil
	}
	return fault.Advise(
		fmt.Errorf("leak: the session has what looks like a key of a vendor: %s; no cassette was written", places),
		"revoke it if it is real; else give it to the agent, in its prompt or in a file that it begins with, have it "+
			"write one that says EXAMPLE, or leave it out of recordings by cassette.exclude and cassette.normalise")
}

// suspects returns where the agent wrote or said what looks like a key and, if guesses is set, what is guessed to be a
// credential. Prompts are the author's own.
func (a *attempt) suspects(guesses bool) string {
	var places []string
	secrets := a.unnamed()
	for _, t := range a.session.Turns() {
		for _, c := range t.Delta.Changes {
			path := excerpt.Name(c.Path, maxPlace)
			if at := secrets.Suspect(c.Data, guesses); at >= 0 {
				places = append(places, fmt.Sprintf("%s:%d", path, 1+bytes.Count(c.Data[:at], []byte("\n"))))
			} else if secrets.Suspect([]byte(c.Path+"\n"+c.Target), false) >= 0 {
				places = append(places, path)
			}
		}
		for _, e := range t.Events {
			if suspicious(secrets, e.Body, guesses) {
				places = append(places, fmt.Sprintf("turn %d, %s", e.Turn, e.Body.EventName()))
			}
		}
	}
	return some(places)
}

// some lists the first of the places.
func some(places []string) string {
	more := ""
	if n := len(places) - maxSuspects; n > 0 {
		places, more = places[:maxSuspects], fmt.Sprintf("; and %d more", n)
	}
	return strings.Join(places, "; ") + more
}

// suspicious reports whether an event may show a credential.
func suspicious(secrets *secret.Set, body trajectory.Body, guesses bool) bool {
	if _, ok := body.(trajectory.Prompt); ok {
		return false
	}
	data, err := json.Marshal(body)
	if err != nil {
		return false
	}
	mask := secrets.JSON
	if guesses {
		mask = secrets.GuessJSON
	}
	return !bytes.Equal(mask(data), data)
}

// maskKeys masks, in a workspace that is kept, the keys that nobody gave the agent. It was judged as the agent left it.
func (a *attempt) maskKeys(ctx context.Context) error {
	if a.site.runDirs == nil || a.site.dropped || !a.role.runsAgent() {
		return nil
	}
	if was := a.site.searched; was != nil && !was.keys && was.secrets == a.secrets.Len() {
		return nil
	}
	ctx, cancel := closing(ctx, keepTimeout)
	defer cancel()
	found, err := a.unnamed().ScrubKeys(ctx, a.site.dirs.workspace)
	if errors.Is(err, secret.ErrCutOff) {
		return errors.Join(fmt.Errorf("%w; the workspace is not kept", err), a.site.drop())
	}
	places := make([]string, len(found))
	for i, f := range found {
		places[i] = f.String()
	}
	if len(places) > 0 {
		a.result.Masked = true
		a.result.Warnings = append(a.result.Warnings,
			"what looks like a key of a vendor is masked in the copy that is kept: "+some(places))
	}
	return err
}
