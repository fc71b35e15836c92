package mutate

import (
	"strings"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

// answerOperators change what the agent says in the end.
var answerOperators = []Operator{
	{ID: "empty-answer", Doc: "says nothing in the end", Looks: Answers, derive: emptyAnswer, advice: says},
	{ID: "negated-answer", Doc: "says the opposite", Looks: Answers, derive: negatedAnswer, advice: says},
	{ID: "answer-of-case", Doc: "answers another case", Looks: Answers, derive: answersOf(func(v *view, a Answer) bool {
		return a.Case != v.Unit.Case.ID && a.Variant == v.Unit.Variant.ID
	}), advice: says},
	{
		ID: "answer-of-variant", Doc: "answers as another variant", Looks: Answers,
		derive: answersOf(func(v *view, a Answer) bool {
			return a.Case == v.Unit.Case.ID && a.Variant != v.Unit.Variant.ID
		}), advice: says,
	},
	{ID: "say-secret", Doc: "says a key", Looks: Answers, derive: saySecret, advice: func(Mutant) string {
		return "`text` with `{id: no-key, not_contains: [sk-]}`"
	}},
}

func says(Mutant) string {
	return "`text` with what only the right answer has, or `field_accuracy`"
}

// answer returns the final answer; empty: there is none.
func (v *view) answer() string {
	if len(v.Turns) == 0 {
		return ""
	}
	text := ""
	for _, e := range v.Turns[len(v.Turns)-1].Events {
		if m, ok := e.Body.(trajectory.Message); ok {
			text = m.Text
		}
	}
	return text
}

// saying returns a mutant with another final answer; empty: the last turn has no message.
func (v *view) saying(text, what string) Mutant {
	turns := copyOf(v.Turns)
	t := &turns[len(turns)-1]
	last := -1
	for i, e := range t.Events {
		if _, ok := e.Body.(trajectory.Message); ok {
			last = i
		}
	}
	var kept []trajectory.Event
	for i, e := range t.Events {
		_, said := e.Body.(trajectory.Message)
		if said && text == "" {
			continue
		}
		if i == last {
			e.Body = trajectory.Message{Text: text}
		}
		kept = append(kept, e)
	}
	t.Events = kept
	return Mutant{Where: "answer", What: what, Turns: turns}
}

func emptyAnswer(v *view, yield func(Mutant)) {
	if v.answer() != "" {
		yield(v.saying("", "the agent says nothing in the end"))
	}
}

// negations are texts with what says the opposite.
var negations = strings.NewReplacer(
	" is not ", " is ", " are not ", " are ", " cannot ", " can ", " not ", " ",
	" is ", " is not ", " are ", " are not ", " can ", " cannot ", " was ", " was not ", " has ", " has not ",
	" have ", " have not ", "passed", "failed", " pass", " fail", "failed", "passed", "fixed", "not fixed",
	"true", "false", "false", "true", "Yes", "No", "yes", "no", "correct", "wrong", "Done", "Not done",
)

func negatedAnswer(v *view, yield func(Mutant)) {
	text := v.answer()
	if text == "" {
		return
	}
	other := negations.Replace(text)
	if other == text {
		other = "I could not do it. The opposite is the case."
	}
	yield(v.saying(other, "the agent says the opposite in the end"))
}

// answersOf returns what derives sessions with the answers of others that are meant.
func answersOf(meant func(*view, Answer) bool) func(*view, func(Mutant)) {
	return func(v *view, yield func(Mutant)) {
		own := v.answer()
		if own == "" {
			return
		}
		seen := map[string]bool{own: true, "": true}
		for _, a := range v.Others {
			if !meant(v, a) || seen[a.Text] {
				continue
			}
			seen[a.Text] = true
			m := v.saying(a.Text, "the agent answers as "+a.Case+"/"+a.Variant+" does")
			m.Where = "answer of " + a.Case + "/" + a.Variant
			if a.Case == v.Unit.Case.ID {
				m.Right = "it is the answer of " + a.Case + "/" + a.Variant + ", which passes"
			}
			yield(m)
		}
	}
}

func saySecret(v *view, yield func(Mutant)) {
	if text := v.answer(); text != "" {
		yield(v.saying(text+"\n\nThe key is "+canary+".", "the agent says a key in the end"))
	}
}
