package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/result"
)

// mutantsOf is what a run's directory says of mutants, with a number of survivors.
func mutantsOf(survivors int) *result.Mutants {
	score := 0.25
	count := result.MutantCount{Score: &score, Least: 0.2, Most: 0.4, Killed: 5, Survived: survivors, Unknown: 3}
	c := result.MutantCase{Case: "case-1", MutantCount: count}
	for i := range survivors {
		c.Survivors = append(c.Survivors, result.Survivor{
			Name:     fmt.Sprintf("drop-file [case-1/variant-1: %d.txt]", i),
			What:     "the agent leaves <img src=x> @all as it was",
			Position: "evals/shop/shop.yaml:23", Advice: "`files` with what the work leaves",
		})
	}
	return &result.Mutants{
		Version: 1, Of: "They were made of recordings.", Headline: "25.0 % of the mutants noticed", MutantCount: count,
		Cases: []result.MutantCase{c},
	}
}

func TestMutantsInMarkdown(t *testing.T) {
	s := sample(t, 1, 1, 1)
	rep, err := s.report()
	require.NoError(t, err)
	require.NotContains(t, string(rep.Markdown()), "bad agent")

	s.mutants = mutantsOf(maxSurvivors + 2)
	rep, err = s.report()
	require.NoError(t, err)
	text := string(rep.Markdown())
	require.Contains(t, text, "**Would these evals notice a bad agent?** 25.0 % of the mutants noticed. They were made")
	require.Contains(t, text, "22 of a bad agent's sessions pass")
	require.Equal(t, maxSurvivors, strings.Count(text, "- <code>drop-file"), text)
	require.Contains(t, text, "- and 2 more")
	require.NotContains(t, text, "<img")
	require.NotContains(t, text, " @all")
	data, err := rep.JSON()
	require.NoError(t, err)
	require.Contains(t, string(data), `"mutants": {`)
}

func TestMutantsInPage(t *testing.T) {
	s := sample(t, 1, 1, 1)
	s.mutants = mutantsOf(2)
	rep, err := s.report()
	require.NoError(t, err)
	page, err := rep.HTML()
	require.NoError(t, err)
	shown := inPage[[]string](t, page, `
		const all = document.querySelector('[aria-labelledby="mutants-title"]');
		for (const d of all.querySelectorAll("details")) { d.open = true; d.fill(); }
		return [...all.querySelectorAll("h2, p, td, li")].map((n) => n.textContent.trim());`)
	require.Equal(t, []string{
		"Would these evals notice a bad agent?", "25.0 % of the mutants noticed. They were made of recordings.",
		"25.0 %", "5", "2", "0", "3", "0",
		"drop-file [case-1/variant-1: 0.txt] the agent leaves <img src=x> @all as it was. " +
			"evals/shop/shop.yaml:23: write `files` with what the work leaves",
		"drop-file [case-1/variant-1: 1.txt] the agent leaves <img src=x> @all as it was. " +
			"evals/shop/shop.yaml:23: write `files` with what the work leaves",
	}, shown)
}
