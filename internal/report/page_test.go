package report

import (
	"bytes"
	"encoding/json"
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
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

// event returns an event of a session.
func event(turn int, b trajectory.Body) trajectory.Event {
	return trajectory.Event{Turn: turn, Body: b}
}

// withRuns has the source's units do what is given, by variant, with a diff of their own.
func withRuns(t *testing.T, s source, runs map[string][]trajectory.Event, diffs map[string]string) []byte {
	t.Helper()
	s.artifacts = func(u *Unit) (artifacts, error) {
		data, err := json.Marshal(&trajectory.Run{Events: runs[u.Variant]})
		return artifacts{run: data, diff: diffs[u.Variant]}, err
	}
	page, err := reportOf(t, s).HTML()
	require.NoError(t, err)
	return page
}

// TestCase: the variants of a case stand side by side, the same calls in the same row.
func TestCase(t *testing.T) {
	run := func(answer string, calls ...string) []trajectory.Event {
		events := []trajectory.Event{event(1, trajectory.Message{Text: "first"})}
		for _, c := range calls {
			name, arg, _ := strings.Cut(c, " ")
			start := trajectory.ToolStart{ID: c, Name: name, Title: arg, Args: map[string]any{"a": arg}}
			events = append(events, event(1, start), event(1, trajectory.ToolEnd{ID: c, Status: trajectory.Completed}))
		}
		return append(events, event(1, trajectory.Message{Text: answer}), event(1, trajectory.Stop{}))
	}
	other := strings.Replace(sampleDiff, "40", "100", 1)
	s := sample(t, 3, 2, 2)
	s.manifest.Cases[1].Title = "case-2"
	s.manifest.Axes = []rundir.Axis{{Name: "skill", Values: []string{"with", "without"}}}
	for i, value := range []string{"with", "without", "without"} {
		s.manifest.Variants[i].Axes = map[string]string{"skill": value}
	}
	page := withRuns(t, s, map[string][]trajectory.Event{
		"variant-1": run("**one**", "Read a", "Edit a", "Bash test"),
		"variant-2": run("two", "Read a", "Read b", "Edit b", "Bash test"),
		"variant-3": run("three", "Bash test"),
	}, map[string]string{"variant-1": sampleDiff, "variant-2": other, "variant-3": sampleDiff})
	rows := inPage[map[string][][]string](t, page, `
		await opened("#compare=case-2&trial=2");
		const rows = (id) => [...document.querySelectorAll("[aria-labelledby=" + id + "-title] tbody tr")].map((tr) =>
			[...tr.children].map((td) => [...(td.querySelectorAll("summary > .tool, summary > code, .plus"))]
				.map((n) => n.textContent).join(" ") || td.textContent));
		const all = { calls: rows("calls"), answers: rows("answers"), diffs: rows("diffs") };
		all.title = [texts("#unit h1")];
		all.axes = rows("axes").map((row) => row.slice(0, 3));
		click("variant-2");
		while (texts(".side thead th").length !== 4 * 3) await new Promise((done) => setTimeout(done, 10));
		document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "k", bubbles: true }));
		return { ...all, at: [[location.hash]] };`)
	require.Equal(t, [][]string{
		{"1 ≠", "Read a", "Read a", "–"},
		{"2 ≠", "–", "Read b", "–"},
		{"3 ≠", "Edit a", "Edit b", "–"},
		{"4", "Bash test", "Bash test", "Bash test"},
	}, rows["calls"])
	require.Equal(t, [][]string{{"Last message", "one", "two", "three"}}, rows["answers"])
	require.Equal(t, [][]string{{"order.json", "+1", "+1", "as variant-1"}}, rows["diffs"])
	require.Equal(t, [][]string{{"#compare=case-1&trial=2"}}, rows["at"])
	require.Equal(t, [][]string{{"case-2"}}, rows["title"], "a title that is the id is not shown beside it")
	require.Equal(t, [][]string{{"skill", "with", "1"}, {"skill", "without", "2"}}, rows["axes"])
	require.Equal(t, []string{"8 of 12 units"}, inPage[[]string](t, page, `
		location.hash = "#variant=skill: without";
		await new Promise((done) => setTimeout(done, 200));
		return texts("#units [role=status]");`))
}

// TestAgentsMarkdown: it becomes elements that load nothing and lead nowhere.
func TestAgentsMarkdown(t *testing.T) {
	page := withRuns(t, sample(t, 1, 1, 1), nil, nil)
	tests := []struct{ text, want string }{
		{
			"# Done\n\nIt **is *so*** and *it* `a**b`.",
			`<p class="heading">Done</p><p>It **is *so*** and <em>it</em> <code>a**b</code>.</p>`,
		},
		{"**a `b` c**", `<p><strong>a <code>b</code> c</strong></p>`},
		{"- a\n- b\n  1. c\n- d", `<ul><li>a</li><li><p>b</p><ol start="1"><li>c</li></ol></li><li>d</li></ul>`},
		{"> a\n> > b", `<blockquote><p>a</p><blockquote><p>b</p></blockquote></blockquote>`},
		{"```go\n<b>**x**\n```\nafter", `<pre tabindex="0">&lt;b&gt;**x**</pre><p>after</p>`},
		{"```\nopen", `<pre tabindex="0">open</pre>`},
		{"[a](https://a.example)", `<p>a<span class="dim"> (https://a.example)</span></p>`},
		{"[a](javascript:x)", `<p>a<span class="dim"> (javascript:x)</span></p>`},
		{"![a](http://a.example/x.png)", `<p>a<span class="dim"> (http://a.example/x.png)</span></p>`},
		{"<img src=x onerror=1>\n<a href=x>", `<p>&lt;img src=x onerror=1&gt;` + "\n" + `&lt;a href=x&gt;</p>`},
		{"a_b_c and 2 * 3 * 4 \\*x\\*", `<p>a_b_c and 2 * 3 * 4 *x*</p>`},
		{"a\n\n---\n", `<p>a</p><hr>`},
		{strings.Repeat("> ", 7) + "deep", strings.Repeat("<blockquote>", 5) + "<p>&gt; &gt; deep</p>" +
			strings.Repeat("</blockquote>", 5)},
	}
	texts := make([]string, len(tests))
	for i, tt := range tests {
		texts[i] = tt.text
	}
	data, err := json.Marshal(texts)
	require.NoError(t, err)
	got := inPage[[]string](t, page, "return "+string(data)+".map((x) => markdown(x).innerHTML);")
	for i, tt := range tests {
		require.Equal(t, tt.want, got[i], tt.text)
	}
	cells := inPage[int](t, page, `
		return markdown("|a|b|\n|-|:-:|\n|1|2|3|\n|4|").querySelectorAll("td, th").length;`)
	require.Equal(t, 5, cells, "a table has the columns of its head")
}

// TestSearchInUnit: what is folded is found, and shown.
func TestSearchInUnit(t *testing.T) {
	page, err := reportOf(t, sample(t, 1, 2, 1)).HTML()
	require.NoError(t, err)
	found := inPage[[]string](t, page, `
		await opened("#unit=shop/case-1/variant-1/1");
		document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "/", bubbles: true }));
		const input = document.activeElement;
		const status = () => input.nextElementSibling.textContent;
		const search = async (text) => {
			input.value = text;
			input.dispatchEvent(new Event("input"));
			await new Promise((done) => setTimeout(done, 400));
			return status();
		};
		const enter = (shiftKey) => {
			input.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", shiftKey }));
			return status();
		};
		const first = await search("$workspace/ORDER");
		return [first, String(document.querySelectorAll(".call[open]").length), enter(), enter(true), enter(true),
			String(CSS.highlights.get("found").size), await search("no such text"), await search("")];`)
	require.Equal(t, []string{"1 of 20", "1", "2 of 20", "1 of 20", "20 of 20", "20", "not found", ""}, found)
}

// TestCallNotAsExpected: a verdict leads to the call that it is about, which says what was wanted.
func TestCallNotAsExpected(t *testing.T) {
	s := sample(t, 1, 1, 1)
	s.units[0].Outcome = result.Fail
	e := &s.units[0].Evaluations[0]
	e.Outcome, e.Detail = result.Fail, "2 ✗ Read"
	e.Calls = []result.Call{{Number: 3, Want: "step 2: want <b>"}, {Number: 99, Want: "not there"}}
	page, err := reportOf(t, s).HTML()
	require.NoError(t, err)
	got := inPage[[]string](t, page, `
		await opened("#unit=shop/case-1/variant-1/1");
		const calls = [...document.querySelectorAll(".call")];
		const marked = calls.map((c, i) => c.querySelector(".flaw") && i + c.querySelector(".flaw").textContent);
		click("→ Read step 2");
		return [...marked.filter(Boolean), ...texts("#unit .groups li"), String(calls.findIndex((c) => c.open)),
			String(calls.findIndex((c) => c === document.activeElement.parentElement))];`)
	require.Equal(t, []string{
		"2✗ refunds-40: step 2: want <b>", "→ Read step 2: want <b>", "not there", "2", "2",
	}, got)
}
