package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/result"
)

// Place is where a unit's workspace, logs and artifacts are kept once it has ended: directories that exist.
type Place struct {
	Workspace, Logs, Artifacts string
}

// The files in a place.
const (
	sessionLogFile = "acp-session.jsonl"
	metricsFile    = "acp-metrics.json"
	trajectoryFile = "trajectory.json"
	diffFile       = "workspace.diff"
	changesFile    = "workspace-changes.json"
)

// keepTimeout bounds the writing of artifacts of a unit that was interrupted.
const keepTimeout = time.Minute

// keep writes what is to be known of the unit to its place, and makes sure that no secret stays in its workspace.
func (a *attempt) keep(ctx context.Context) error {
	a.result.Metrics = a.measure()
	if a.place == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepTimeout)
	defer cancel()
	return errors.Join(a.keepChanges(ctx), a.keepJSON(metricsFile, a.result.Metrics), a.keepRun(), a.sweep(ctx))
}

// keepChanges compares the workspace with what was prepared.
func (a *attempt) keepChanges(ctx context.Context) error {
	d, err := a.baseline.Diff(ctx, a.dirs.workspace)
	if err != nil {
		return err
	}
	changes := &result.Changes{Files: []result.FileChange{}}
	for _, f := range d.Files {
		switch f.Op {
		case "added":
			changes.Added++
		case "modified":
			changes.Modified++
		case "deleted":
			changes.Deleted++
		}
		if f.Op != "deleted" {
			changes.Bytes += f.Size
		}
		changes.Files = append(changes.Files, result.FileChange{
			Path: f.Path, Op: string(f.Op), Kind: string(f.Kind), Bytes: f.Size, LinesAdded: f.Added, LinesRemoved: f.Removed,
		})
	}
	if a.result.Metrics != nil {
		a.result.Metrics.Changes = changes
	}
	return errors.Join(a.keepJSON(changesFile, changes), a.keepFile(diffFile, d.Text))
}

func (a *attempt) keepRun() error {
	if a.result.Run == nil {
		return nil
	}
	return a.keepJSON(trajectoryFile, a.result.Run)
}

func (a *attempt) keepJSON(name string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return a.keepFile(name, append(a.secrets.JSON(data), '\n'))
}

func (a *attempt) keepFile(name string, data []byte) error {
	return a.secrets.WriteFile(filepath.Join(a.place.Artifacts, name), data, 0o644)
}

// sweep masks the secrets that the agent left in the workspace. That it could is an error: what it wrote down it could
// have sent elsewhere, and the workspace is no longer what it made.
func (a *attempt) sweep(ctx context.Context) error {
	found, err := a.secrets.Scrub(ctx, a.place.Workspace)
	if err != nil {
		return fmt.Errorf("mask secrets in the workspace: %w", err)
	}
	var places []string
	for _, f := range found {
		places = append(places, f.String())
	}
	if places == nil {
		return nil
	}
	return fmt.Errorf("leak: the agent wrote secrets into the workspace, which are masked in the copy that is kept: %s",
		strings.Join(places, "; "))
}
