package report

import "fmt"

// notes says what of the units a reader must know to judge the figures.
func notes(units []Unit) []string {
	scripted, replayed, missing, large, repeated := 0, 0, 0, 0, 0
	warnings := make(map[string]int)
	var order []string
	for _, u := range units {
		if len(u.Missing) > 0 {
			missing++
		}
		if len(u.TooLarge) > 0 {
			large++
		}
		if u.Result == nil {
			continue
		}
		if u.Result.Endpoint == "scripted" {
			scripted++
		}
		if u.Result.Replayed {
			replayed++
		}
		if len(u.Result.Attempts) > 0 {
			repeated++
		}
		for _, w := range u.Result.Warnings {
			if warnings[w]++; warnings[w] == 1 {
				order = append(order, w)
			}
		}
	}
	list := []string{}
	note := func(n int, text string) {
		if n > 0 {
			list = append(list, fmt.Sprintf("%s of %d: %s", plural(n, "unit"), len(units), text))
		}
	}
	note(scripted, "a scripted model stood behind the agent, so its figures are not a model's.")
	note(replayed, "replayed from recordings; no agent ran, and times are those of the replay.")
	note(repeated, "earlier attempts ended in errors and were repeated.")
	note(missing, "artifacts are missing though the unit ran.")
	note(large, "artifacts are too large to show.")
	for i, w := range order {
		if i == maxWarnings {
			return append(list, fmt.Sprintf("%s more.", plural(len(order)-i, "warning")))
		}
		note(warnings[w], "warning: "+w)
	}
	return list
}

// maxWarnings is how many different warnings the notes repeat.
const maxWarnings = 10
