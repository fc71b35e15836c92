package pipeline

import (
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/secret"
	"github.com/sdd-eval/sdd-eval/internal/session"
)

// Options say what is run and how.
type Options struct {
	// Playbook is the file, absolute. Resume is the id of a run to finish instead. Exactly one of them is given.
	Playbook, Resume string
	// Dir is the working directory, absolute: what is wrong with a playbook is told relative to it.
	Dir string
	// Root is the project's root, absolute.
	Root string
	// Mode is where sessions come from.
	Mode engine.Mode
	// Stale is what a stale cassette means; empty: [engine.StaleFails].
	Stale engine.StaleMode
	// Cassettes is the directory of the cassettes, relative to Root unless absolute.
	Cassettes string
	// ConfigDir is where presets are looked up; empty: as agent.Resolve says.
	ConfigDir string
	// Sandbox is the kind of sandbox that the user chose; empty: the playbook's.
	Sandbox string
	// Parallel is how many units run at a time, at least 1.
	Parallel int
	// LLMJudge lets evaluators ask models, and RecordJudges has them asked anew about recorded sessions, too.
	LLMJudge, RecordJudges bool
	// Command is the command that runs the playbook in a mode, for advice.
	Command func(engine.Mode) string
	// Tool is our own name and version, for the manifest.
	Tool string
	// Getenv and Environ are our environment.
	Getenv  func(string) string
	Environ []string
	// Secrets are what nothing that is written may show. Presets add theirs.
	Secrets *secret.Set
	// Watch is told what happens.
	Watch Watcher
}

// Watcher is told what happens in a run, from several goroutines.
type Watcher interface {
	// Plan is called first. It tells how many units there are, and which of them have a result from before.
	Plan(total int, finished []result.Unit)
	UnitStarts(id string)
	UnitEnds(result.Unit)
	JobEnds(result.Job)
	Activity(session.Activity)
	// Note is a line for people: a warning, or what is going on.
	Note(text string)
}

// InputError is an error in what the user gave: a flag, a playbook, a preset, the environment. Nothing was run.
type InputError struct{ Err error }

func (e *InputError) Error() string { return e.Err.Error() }
func (e *InputError) Unwrap() error { return e.Err }
