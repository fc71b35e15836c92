package evaltest

import (
	"runtime"
	"slices"
	"testing"

	"github.com/sdd-eval/sdd-eval/internal/spec"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// override is an override written in Go, and where it stands.
type override struct {
	playbook.Override
	file string
	line int
}

// Override gives calls of a tool another answer, in all units, as `cassette.overrides` does in a playbook: to see how
// graders react to it or, at levels at which the agent runs, how the agent does.
//
//	evaltest.Override(playbook.Override{
//		Tool: "Bash", Args: map[string]any{"command": "go test ./..."}, Nth: 2, Error: "disk full",
//	})
//
// An override that no call of a unit matches is an error. With a Case or a Variant it applies only to units of that.
func Override(o playbook.Override) Option {
	_, file, line, _ := runtime.Caller(1)
	return override{o, file, line}
}

// override adds overrides that are written in Go to those of the playbook.
func (h *harness) override(t *testing.T, pb *spec.Playbook, all []override) {
	t.Helper()
	for _, o := range all {
		at := h.position(o.file, o.line)
		if err := pb.Override(spec.Override{Override: o.Override, Position: at}); err != nil {
			t.Fatalf("evaltest.Override: %s: %v", at, err)
		}
	}
}

// ownOverrides are those that hold in the row.
func (r *rowRun) ownOverrides() []override {
	return slices.DeleteFunc(slices.Clone(r.overrides), func(o override) bool { return o.Case != "" && o.Case != r.id })
}

// overridesAt are overrides of a suite or of a run, which stand at one place.
func overridesAt(all []playbook.Override, file string, line int) []override {
	var placed []override
	for _, o := range all {
		placed = append(placed, override{o, file, line})
	}
	return placed
}
