package interaction

import (
	"slices"
	"sync"

	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// Override is what a playbook says that a tool answers, whatever it would have answered.
type Override struct {
	Tool string
	// Args are members that the arguments must have, as normalised as those of an [Interaction]; nil: any will do.
	Args any
	// Nth is the call that is overridden, 1-based among those that match; 0: every one.
	Nth int
	// Output is the answer, as decoded JSON. With Error, the call fails instead.
	Output any
	Error  string
	// Position says for people where the override is written.
	Position string
}

// Overrides are those of one session, which count its calls. The methods may be called concurrently; nil is no
// overrides.
type Overrides struct {
	all []Override

	mu      sync.Mutex
	matched []int // calls, by override
	applied []bool
}

// NewOverrides returns overrides, of which the first that applies to a call counts. Arguments that cannot be JSON
// panic.
func NewOverrides(all []Override) *Overrides {
	o := &Overrides{all: slices.Clone(all), matched: make([]int, len(all)), applied: make([]bool, len(all))}
	for i := range o.all {
		o.all[i].Args = decoded(o.all[i].Args)
	}
	return o
}

// All returns the overrides.
func (o *Overrides) All() []Override {
	if o == nil {
		return nil
	}
	return slices.Clone(o.all)
}

// Apply counts a call and returns its answer, if an override gives one: an output, or an error if that is not empty.
func (o *Overrides) Apply(tool string, args any) (answer any, err string, ok bool) {
	if o == nil || len(o.all) == 0 {
		return nil, "", false
	}
	args = decoded(args)
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, over := range o.all {
		if over.Tool != tool || over.Args != nil && !contains(args, over.Args) {
			continue
		}
		o.matched[i]++
		if !ok && (over.Nth == 0 || over.Nth == o.matched[i]) {
			answer, err, ok = over.Output, over.Error, true
			o.applied[i] = true
		}
	}
	return answer, err, ok
}

// Unapplied returns the overrides that changed no answer: no call matched, or not that many, or an override before had
// its way.
func (o *Overrides) Unapplied() []Override {
	if o == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	var unapplied []Override
	for i, over := range o.all {
		if !o.applied[i] {
			unapplied = append(unapplied, over)
		}
	}
	return unapplied
}

// contains reports whether a value has all that part says: of an object the members that part names, of anything else
// the whole. An empty object says nothing.
func contains(v, part any) bool {
	want, ok := part.(map[string]any)
	if !ok {
		return jsonvalue.Equal(v, part)
	}
	got, _ := v.(map[string]any)
	for name, value := range want {
		other, ok := got[name]
		if !ok || !contains(other, value) {
			return false
		}
	}
	return true
}
