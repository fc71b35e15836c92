package skill

import (
	"path"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
)

// Suggestion is a check that code could decide in the place of a model, as an author may write it in evals.json. It
// keeps its text, and with that its id.
type Suggestion struct {
	At    doc.Position
	Case  string
	Check string // JSON
}

var (
	quotedText = lazyregexp.New("\"([^\"]+)\"|`([^`]+)`|“([^”]+)”")
	saysText   = lazyregexp.New(`(?i)\b(contain|include|mention|say|state|name|use the (?:word|phrase))(s|ing)?\b`)
	negates    = lazyregexp.New(`(?i)\b(not|never|no|without|avoid(s|ing)?|n't)\b`)
	namesCall  = lazyregexp.New(`(?i:\b(?:calls?|uses?|invokes?)(?: the)?) ` +
		`(?:([A-Z]\w+|mcp__\w+) tool|tool ([A-Z]\w+|mcp__\w+))\b`)
)

// Suggest returns checks that ask a model and seem to be of a quoted text, in the answer or in a file, or of a tool's
// call. It guesses by words: an author has to read each.
func (s *Suite) Suggest() []Suggestion {
	var all []Suggestion
	for _, c := range s.Cases {
		for _, k := range c.Checks {
			if k.By != Model || k.Synthetic {
				continue
			}
			if check := suggest(k.Text); check != nil {
				text, err := jsonvalue.Marshal(check)
				if err == nil {
					all = append(all, Suggestion{k.Position, c.ID, string(text)})
				}
			}
		}
	}
	return all
}

// suggested is a check in JSON.
type suggested struct {
	Text  string `json:"text"`
	Type  string `json:"type"`
	Value string `json:"value"`
	File  string `json:"file,omitempty"`
}

// suggest returns nil for a text that says nothing that code could look for, or more than one thing.
func suggest(text string) *suggested {
	not := negates.MatchString(text)
	if m := namesCall.FindStringSubmatch(text); m != nil && !not {
		return &suggested{Text: text, Type: "tool_use", Value: m[1] + m[2]}
	}
	if !saysText.MatchString(text) {
		return nil
	}
	check := suggested{Text: text, Type: "content_contains"}
	if not {
		check.Type = "content_not_contains"
	}
	for _, m := range quotedText.FindAllStringSubmatch(text, -1) {
		switch quoted := m[1] + m[2] + m[3]; {
		case check.File == "" && isPath(quoted):
			check.File = quoted
		case check.Value == "":
			check.Value = quoted
		default:
			return nil
		}
	}
	if check.Value == "" {
		check.Value, check.File = check.File, "" // the answer names the file
	}
	if check.Value == "" {
		return nil
	}
	return &check
}

// isPath reports whether a text looks like the path of a file.
func isPath(text string) bool {
	ext := path.Ext(text)
	return len(ext) > 1 && len(ext) < 7 && !strings.ContainsAny(text, " \t*:")
}
