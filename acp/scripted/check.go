package scripted

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Validate returns an error that names everything invalid in s, a line each: "path: reason". [Run] refuses such a
// script.
func (s Script) Validate() error {
	var problems []error
	s.check(func(path, reason string) { problems = append(problems, fmt.Errorf("%s: %s", path, reason)) })
	return errors.Join(problems...)
}

// reporter takes a problem with the value that has a path, e.g. "turns[0].actions[2].say".
type reporter func(path, reason string)

// known reports a value that is not one of those that the protocol defines; an empty one stands for a default.
func (r reporter) known(path, value string, known ...string) {
	if value != "" && !slices.Contains(known, value) {
		r(path, fmt.Sprintf("must be one of %s, not %q", strings.Join(known, ", "), value))
	}
}

func (r reporter) required(path, value string) {
	if value == "" {
		r(path, "must not be empty")
	}
}

func (r reporter) notNegative(path string, value int) {
	if value < 0 {
		r(path, "must not be negative")
	}
}

var stopReasons = []string{"end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"}

func (s Script) check(r reporter) {
	s.Session.check(r)
	s.Faults.check(r)
	for i, t := range s.Turns {
		t.check(r, fmt.Sprintf("turns[%d]", i))
	}
	if s.Repeat && len(s.Turns) == 0 {
		r("repeat", "there are no turns to repeat")
	}
}

func (f Faults) check(r reporter) {
	r.notNegative("faults.stderr", f.Stderr)
	r.notNegative("faults.split_writes", f.SplitWrites)
	r.known("faults.request_ids", string(f.RequestIDs), string(CountIDs), string(PromptIDs), string(StringIDs))
	if strings.ContainsAny(f.Garbage, "\r\n") {
		r("faults.garbage", "must be one line")
	}
}

func (s Session) check(r reporter) {
	offer := func(path string, o *Offer) {
		if o != nil {
			checkChoices(r, path, o.Current, o.Choices)
		}
	}
	offer("session.modes", s.Modes)
	offer("session.models", s.Models)
	for i, o := range s.Options {
		path := fmt.Sprintf("session.options[%d]", i)
		r.required(path+".id", o.ID)
		checkChoices(r, path, o.Current, o.Choices)
	}
	checkActions(r, "session.before", s.Before)
	checkActions(r, "session.after", s.After)
}

func checkChoices(r reporter, path, current string, choices []Choice) {
	ids := make([]string, len(choices))
	for i, c := range choices {
		ids[i] = c.ID
		r.required(fmt.Sprintf("%s.choices[%d].id", path, i), c.ID)
	}
	if !slices.Contains(ids, current) {
		r(path+".current", fmt.Sprintf("must be one of the choices %s, not %q", strings.Join(ids, ", "), current))
	}
}

func (t Turn) check(r reporter, path string) {
	r.known(path+".stop", t.Stop, stopReasons...)
	if t.Stop != "" && t.Error != nil {
		r(path, "must not have both stop and error")
	}
	if t.Error != nil {
		r.required(path+".error.message", t.Error.Message)
	}
	if t.Tokens != nil && t.Error != nil {
		r(path, "must not have both error and tokens")
	}
	checkActions(r, path+".actions", t.Actions)
	checkActions(r, path+".on_cancel", t.OnCancel)
	checkActions(r, path+".after", t.After)
}

func checkActions(r reporter, path string, actions []Action) {
	for i, a := range actions {
		a.check(r, fmt.Sprintf("%s[%d]", path, i))
	}
}

func (a Action) check(r reporter, path string) {
	names, steps := a.set()
	if len(names) != 1 {
		got := strings.Join(names, " and ")
		if got == "" {
			got = "none"
		}
		r(path, "want exactly one action, got "+got)
		return
	}
	if c, ok := steps[0].(interface{ check(reporter, string) }); ok {
		c.check(r, path+"."+names[0])
	}
}

// set returns the fields of a that are set, with their names in JSON.
func (a Action) set() (names []string, steps []step) {
	v := reflect.ValueOf(a)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			continue
		}
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		names = append(names, name)
		steps = append(steps, v.Field(i).Interface().(step))
	}
	return names, steps
}

func (s *Say) check(r reporter, path string)   { r.notNegative(path+".chunks", s.Chunks) }
func (t *Think) check(r reporter, path string) { r.notNegative(path+".chunks", t.Chunks) }

func (p Plan) check(r reporter, path string) {
	for i, e := range p {
		entry := fmt.Sprintf("%s[%d]", path, i)
		r.known(entry+".priority", e.Priority, "high", "medium", "low")
		r.known(entry+".status", e.Status, "pending", "in_progress", "completed")
	}
}

func (t *Tool) check(r reporter, path string) {
	r.required(path+".title", t.Title)
	r.known(path+".kind", t.Kind,
		"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other")
	r.known(path+".status", t.Status, "pending", "in_progress", "completed", "failed")
	checkActions(r, path+".do", t.Do)
	if t.Ask == nil {
		return
	}
	checkActions(r, path+".ask.denied", t.Ask.Denied)
	for i, o := range t.Ask.Options {
		option := fmt.Sprintf("%s.ask.options[%d]", path, i)
		r.required(option+".id", o.ID)
		r.required(option+".kind", o.Kind)
		r.known(option+".kind", o.Kind, "allow_once", "allow_always", "reject_once", "reject_always")
	}
}

func (x *Read) check(r reporter, path string) {
	r.required(path+".path", x.Path)
	r.notNegative(path+".line", x.Line)
	r.notNegative(path+".limit", x.Limit)
}

func (x *Write) check(r reporter, path string)     { r.required(path+".path", x.Path) }
func (x *DiskWrite) check(r reporter, path string) { r.required(path+".path", x.Path) }
func (x *Terminal) check(r reporter, path string)  { r.required(path+".command", x.Command) }
func (x *Exec) check(r reporter, path string)      { r.required(path+".command", x.Command) }
func (x *Request) check(r reporter, path string)   { r.required(path+".method", x.Method) }

func (u Update) check(r reporter, path string) {
	if kind, _ := u["sessionUpdate"].(string); kind == "" {
		r(path+".sessionUpdate", "must be a non-empty string")
	}
}

func (x Raw) check(r reporter, path string) {
	if strings.ContainsAny(string(x), "\r\n") {
		r(path, "must be one line")
	}
}

func (x *Flood) check(r reporter, path string) {
	if x.Updates < 1 {
		r(path, "updates must be at least 1")
	}
	r.notNegative(path+".size", x.Size)
}
