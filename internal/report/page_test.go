package report

import (
	"bytes"
	"encoding/json"
	"html"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/result"
)

// inPage opens the page, runs the body of an async function in it, and returns its value decoded into T. The function
// has click(text), which clicks on the button or link with that text, and opened(hash), which goes there and waits.
func inPage[T any](t *testing.T, page []byte, body string) (v T) {
	t.Helper()
	page = regexp.MustCompile(`<meta http-equiv=.*?>`).ReplaceAllLiteral(page, nil)
	page = append(bytes.TrimSuffix(page, []byte("</body>\n</html>\n")), `<script>
		const told = (value) => { document.documentElement.dataset.told = JSON.stringify(value); };
		const texts = (selector) => [...document.querySelectorAll(selector)].map((n) => n.textContent.trim());
		const click = (text) => [...document.querySelectorAll("button, a")].find((n) =>
			n.offsetParent && n.textContent.replace(/\s+/g, " ").trim().startsWith(text)).click();
		const opened = async (hash) => {
			delete byId("unit").dataset.ready;
			location.hash = hash;
			while (!byId("unit").dataset.ready) await new Promise((done) => setTimeout(done, 10));
		};
		addEventListener("load", async () => {
			try { told(await (async () => {`+body+`})()); } catch (e) { told(String(e.stack)); }
		});
	</script>`...)
	dom := browse(t, page, "", "--virtual-time-budget=20000", "--window-size=1200,900")
	found := regexp.MustCompile(`data-told="([^"]*)"`).FindStringSubmatch(dom)
	require.NotNil(t, found, "the page did not come to an end")
	told := html.UnescapeString(found[1])
	require.NoError(t, json.Unmarshal([]byte(told), &v), told)
	return v
}

// listed is what the list of units shows.
type listed struct {
	Units, Chips, Groups []string
	Hash                 string
}

// TestList: what did not pass comes first, counts follow the filter, and a reason is shown once for all its units.
func TestList(t *testing.T) {
	s := sample(t, 2, 4, 1)
	for i := range s.units {
		u := &s.units[i]
		u.Outcome, u.Reason, u.Evaluations = result.Pass, "", nil
	}
	set := func(i int, o result.Outcome, reason string) { s.units[i].Outcome, s.units[i].Reason = o, reason }
	set(2, result.Fail, "the same")      // case-2/variant-1
	set(4, result.Fail, "the same")      // case-3, both
	set(5, result.Fail, "another")       //
	set(7, result.Error, "an exception") // case-4/variant-2
	page, err := reportOf(t, s).HTML()
	require.NoError(t, err)
	const look = `const look = () => ({
		Units: [...document.querySelectorAll("a.row")].map((a) => a.getAttribute("href").slice(11)),
		Chips: texts(".chip"), Groups: texts(".groups li"), Hash: location.hash,
	});`
	steps := inPage[[]listed](t, page, look+`
		const steps = [look()];
		click("2 × the same"); steps.push(look());
		click("2 × the same"); click("Variants differ"); steps.push(look());
		click("!error"); steps.push(look());
		location.hash = "#variant=variant-1"; await new Promise((done) => setTimeout(done, 50)); steps.push(look());
		return steps;`)
	require.Len(t, steps, 5)
	require.Equal(t, []string{
		"case-4/variant-2/1", "case-2/variant-1/1", "case-3/variant-1/1", "case-3/variant-2/1", "case-1/variant-1/1",
		"case-1/variant-2/1", "case-2/variant-2/1", "case-4/variant-1/1",
	}, steps[0].Units, "what did not pass comes first")
	require.Equal(t, []string{"✓passed 4", "✗failed 3", "!error 1", "Variants differ 4"}, steps[0].Chips)
	require.Equal(t, []string{"2 × the same"}, steps[0].Groups)

	require.Equal(t, []string{"case-2/variant-1/1", "case-3/variant-1/1"}, steps[1].Units)
	require.Equal(t, []string{"✓passed 0", "✗failed 2", "!error 0", "Variants differ 1"}, steps[1].Chips)
	require.Equal(t, "#reason=the%20same", steps[1].Hash)

	require.Equal(t, []string{
		"case-4/variant-2/1", "case-2/variant-1/1", "case-2/variant-2/1", "case-4/variant-1/1",
	}, steps[2].Units, "cases 2 and 4")
	require.Equal(t, []string{"✓passed 2", "✗failed 1", "!error 1", "Variants differ 4"}, steps[2].Chips)
	require.Empty(t, steps[2].Groups)

	require.Equal(t, []string{"case-4/variant-2/1"}, steps[3].Units)
	require.Equal(t, []string{"✓passed 2", "✗failed 1", "!error 1", "Variants differ 1"}, steps[3].Chips,
		"outcomes as if none were chosen")
	require.Equal(t, []string{"✓passed 2", "✗failed 2", "!error 0", "Variants differ 2"}, steps[4].Chips)
	cells := inPage[[]string](t, page, `return texts(".matrix tbody th strong");`)
	require.Equal(t, []string{"case-4", "case-2", "case-3", "case-1"}, cells, "the matrix begins with them, too")
}
