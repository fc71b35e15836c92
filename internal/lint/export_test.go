package lint

import (
	"slices"
	"strings"
)

// RuleIDs returns the ids of the rules.
func RuleIDs() (ids []string) {
	for _, r := range rules {
		ids = append(ids, r.id)
	}
	return ids
}

// Strength returns how much it means to find a text: nothing, weak or strong. A target is a file that is to hold it.
func Strength(text, target string, prose bool) string {
	a := answer{text: text, target: target, prose: prose}
	return [...]string{"nothing", "weak", "strong"}[a.strength()]
}

// Told reports whether a text tells an answer of prose.
func Told(want, name, text string) bool {
	return answer{text: want, prose: true}.told(name, text) != nil
}

// IsTest reports whether a path is that of a test.
func IsTest(path string) bool { return testFile.MatchString(path) }

// ReadRepository returns the texts of a repository that is given as its files, in order.
func ReadRepository(files map[string][]byte) ([]string, error) {
	r := repository{path: ".git", files: files}
	all, err := r.read()
	var texts []string
	for _, p := range historyOf(r, all) {
		texts = append(texts, string(p.text))
	}
	slices.SortFunc(texts, strings.Compare)
	return texts, err
}
