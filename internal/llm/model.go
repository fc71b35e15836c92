package llm

import (
	"fmt"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
)

// snapshot matches what servers append to the name of a model that was asked for without it: a date, a number of at
// least three digits, or "latest".
var snapshot = lazyregexp.New(`^[-@:](\d{3,8}|\d{4}-\d\d-\d\d|\d\d-\d\d|latest)$`)

// Another says that another model answered than the one that was asked, as far as their names tell; else it is empty.
// Servers may name the snapshot of the model, leave it out, or leave out who offers the model. A server that names no
// model says nothing.
func Another(asked, answered string) string {
	if !isAnother(asked, answered) {
		return ""
	}
	return anotherOf("server", asked, answered)
}

func isAnother(asked, answered string) bool {
	a, b := strings.ToLower(asked), strings.ToLower(answered)
	a, b = a[strings.LastIndexByte(a, '/')+1:], b[strings.LastIndexByte(b, '/')+1:]
	rest, longer := strings.CutPrefix(b, strings.TrimSuffix(a, "-latest"))
	less, shorter := strings.CutPrefix(a, b)
	return answered != "" && a != b && !(longer && snapshot.MatchString(rest)) &&
		!(shorter && snapshot.MatchString(less))
}

// anotherOf says that by the word of a server or an agent another model answered.
func anotherOf(who, asked, answered string) string {
	return fmt.Sprintf("the model %s was asked to judge, and by the %s's word another one answered: %s",
		excerpt.Quote(asked, maxName), who, excerpt.Quote(answered, maxName))
}

// maxName is how many characters of a model's name are shown.
const maxName = 200
