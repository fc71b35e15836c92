package report

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// browse opens the page in a headless browser and returns the document that its scripts made.
func browse(t *testing.T, page []byte, hash string, args ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.html")
	require.NoError(t, os.WriteFile(file, page, 0o644))
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	args = append(args, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--user-data-dir="+filepath.Join(t.TempDir(), "profile"), "--dump-dom", "file://"+file+hash)
	cmd := exec.CommandContext(ctx, chromium(t), args...)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	require.NoError(t, err)
	return string(out)
}

func chromium(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser is a process of its own")
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no chromium: the page is not tested in a browser (Debian: apt-get install chromium)")
	return ""
}

// hostile is a text with which an agent may try to get markup into the page. As an id it has no slash.
const (
	hostileID = `"'><img src=x onerror=document.body.dataset.broken=1>`
	hostile   = `</script><script>document.body.dataset.broken=1</script><!--` + hostileID
)

// poison puts a text into every string below v.
func poison(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return
		}
		if v.Kind() == reflect.Interface {
			inner := reflect.New(v.Elem().Type()).Elem()
			inner.Set(v.Elem())
			poison(inner, text)
			v.Set(inner)
			return
		}
		poison(v.Elem(), text)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for _, field := range v.Fields() {
			if field.CanSet() {
				poison(field, text)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			poison(v.Index(i), text)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(v.MapIndex(key))
			poison(value, text)
			v.SetMapIndex(key, reflect.Value{})
			v.SetMapIndex(reflect.ValueOf(text+key.String()).Convert(v.Type().Key()), value)
		}
	case reflect.String:
		if v.Type() != reflect.TypeFor[result.Outcome]() {
			v.SetString(text)
		}
	}
}

// hostileSource is a run in which every text is hostile.
func hostileSource(t *testing.T) source {
	t.Helper()
	s := sample(t, 1, 2, 1)
	exit, n := 1, 3
	run := trajectory.Run{Events: []trajectory.Event{
		{Turn: 1, Body: trajectory.Prompt{Text: "x"}},
		{Turn: 1, Body: trajectory.Message{Text: "x"}},
		{Turn: 1, Body: trajectory.Thought{Text: "x"}},
		{Turn: 1, Body: trajectory.Plan{Entries: []trajectory.PlanEntry{{Content: "x", Status: "x", Priority: "x"}}}},
		{Turn: 1, Body: trajectory.ToolStart{
			ID: "x", Name: "x", Kind: "x", Title: "x", Args: map[string]any{"a": "x"},
			Locations: []trajectory.Location{{Path: "x", Line: &n}},
		}},
		{Turn: 1, Body: trajectory.FileRead{Path: "x", Text: "x"}},
		{Turn: 1, Body: trajectory.FileWrite{Path: "x", Error: "x", Text: "x"}},
		{Turn: 1, Body: trajectory.Terminal{
			ID: "x", Command: "x", Args: []string{"x"}, Output: "x", Signal: "x", Error: "x", ExitCode: &exit,
		}},
		{Turn: 1, Body: trajectory.Permission{
			ID: "x", Options: []trajectory.PermissionOption{{ID: "x", Name: "x", Kind: "x"}}, Decision: "x",
		}},
		{Turn: 1, Body: trajectory.Notice{Name: "x", Data: map[string]any{"a": []any{"x"}}}},
		{Turn: 1, Body: trajectory.State{
			Title: "x", Mode: "x", Commands: []string{"x"}, Options: map[string]string{"a": "x"},
		}},
		{Turn: 1, Body: trajectory.ToolEnd{
			ID: "x", Status: "x", Output: map[string]any{"a": "x"}, Printed: "x",
			Diffs: []trajectory.Diff{{Path: "x", New: "x"}},
		}},
		{Turn: 1, Body: trajectory.Stop{Reason: "x"}},
	}}
	poison(reflect.ValueOf(&run).Elem(), hostile)
	data, err := json.Marshal(&run)
	require.NoError(t, err)
	s.look = func(u *Unit) error {
		u.Missing, u.TooLarge = []string{hostile}, []string{hostile}
		return nil
	}
	files := artifacts{run: data, diff: sampleDiff + hostile + "\n" + strings.ReplaceAll(sampleDiff, "order", hostile)}
	s.artifacts = func(*Unit) (artifacts, error) { return files, nil }
	s.paths = func(*Unit) Paths { return Paths{hostile, hostile, hostile} }
	u := &s.units[0]
	u.Outcome, u.Warnings, u.Attempts, u.Next, u.Session = result.Error, []string{"x"}, []string{"x"}, "x", "x"
	u.Evaluations[0].Outcome = result.Error
	u.Steps[0].Outcome = result.Fail
	s.jobs = []result.Job{{
		Outcome: result.Fail, Reason: "x", Steps: []result.Step{{Name: "x", Outcome: result.Fail, Output: "x"}},
	}}
	m := &s.manifest
	m.Jobs, m.Problems = []string{"x"}, []string{"x"}
	v := &m.Variants[0]
	v.Args, v.Env, v.Preset, v.Mode = []string{"x"}, []string{"x"}, "x", "x"
	m.Cases[0].ExpectedOutcome, m.Cases[0].ReferenceAnswer = "x", "x"
	state := m.State
	poison(reflect.ValueOf(m).Elem(), hostile)
	poison(reflect.ValueOf(&s.units[0]).Elem(), hostile)
	poison(reflect.ValueOf(&s.jobs).Elem(), hostile)
	m.State = state
	id := "shop/" + hostileID + "/" + hostileID + "/1"
	u.ID, u.Case, u.Variant = id, hostileID, hostileID
	m.Units = []string{id, "shop/" + hostileID + "2/" + hostileID + "/1"}
	m.Cases[0].ID, m.Cases[1].ID, m.Variants[0].ID = hostileID, hostileID+"2", hostileID
	s.notes = []string{hostile}
	s.ai = map[string][]AIScore{id: {{Model: hostile, Score: 5, Reason: hostile}}}
	s.human = []rating{{hostileID, Opinion{By: hostile, Score: 5, Notes: hostile}}}
	return s
}

func reportOf(t testing.TB, s source) *Report {
	t.Helper()
	rep, err := s.report()
	require.NoError(t, err)
	return rep
}

func TestHostileTexts(t *testing.T) {
	rep := reportOf(t, hostileSource(t))
	t.Run("html", func(t *testing.T) {
		page, err := rep.HTML()
		require.NoError(t, err)
		require.NotContains(t, string(page), "<img")
		require.Equal(t, 2, strings.Count(string(page), "<script>")+strings.Count(string(page), `id="index"`))
	})
	t.Run("in a browser", func(t *testing.T) {
		page, err := rep.HTML()
		require.NoError(t, err)
		unit := hash(rep.Units[0].ID)
		for _, address := range []string{unit, strings.Replace(hash(rep.Units[0].Case), "unit", "compare", 1)} {
			dom := browse(t, page, address+"&unfold=all", "--virtual-time-budget=5000")
			_, shown, found := strings.Cut(dom, `<main id="unit"`)
			require.True(t, found)
			shown, _, _ = strings.Cut(shown, "</main>")
			require.Contains(t, shown, "data-ready=", "the page was opened")
			require.NotContains(t, shown, "cannot be shown")
			require.False(t, strings.Contains(dom, "<img"), "markup got into the document")
			require.False(t, strings.Contains(dom, "data-broken"), "a script ran")
			require.Greater(t, strings.Count(shown, "&lt;img"), 20, "hostile texts are shown as text")
			for _, link := range regexp.MustCompile(`href="[^"]*"`).FindAllString(dom, -1) {
				require.True(t, strings.HasPrefix(link, `href="#`),
					"agents' pages would run where the report is: %s", link)
			}
		}
	})
}

func hash(unit string) string {
	const unsafe = `%"'<> &=`
	var b strings.Builder
	for _, r := range unit {
		if strings.ContainsRune(unsafe, r) {
			b.WriteString("%" + strings.ToUpper(strconv.FormatInt(int64(r), 16)))
			continue
		}
		b.WriteRune(r)
	}
	return "#unit=" + b.String()
}

// TestDamagedTrajectory: a trajectory that cannot be shown is noted in its unit, and nothing in it becomes the unit's.
func TestDamagedTrajectory(t *testing.T) {
	tests := []struct{ name, run, want string }{
		{"no JSON inside", `{"agent":{},"events":[}`, "The trajectory is damaged, so it is not shown: "},
		{"two values", `{"events":[]},"result":{"outcome":"pass"}`, "The trajectory is damaged, so it is not shown: "},
		{"unknown event", `{"agent":{},"events":[{"event":"dance","turn":1,"at_us":0}]}`, "Unknown event dance"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := sample(t, 1, 1, 1)
			s.artifacts = func(*Unit) (artifacts, error) { return artifacts{run: []byte(tt.run)}, nil }
			rep := reportOf(t, s)
			page, err := rep.HTML()
			require.NoError(t, err)
			dom := browse(t, page, hash(rep.Units[0].ID), "--virtual-time-budget=5000")
			_, shown, _ := strings.Cut(dom, `<main id="unit"`)
			require.Contains(t, shown, tt.want)
			require.Contains(t, shown, "refunds-40", "the verdicts are shown")
		})
	}
}

// TestPageOpensAtOnce opens a page of 10,000 units.
func TestPageOpensAtOnce(t *testing.T) {
	page, err := reportOf(t, sample(t, 10, 1000, 1)).HTML()
	require.NoError(t, err)
	require.Equal(t, 3, strings.Count(string(page), "<script"), "the index, the script and the details")
	// The details are removed in the end, since printing them would take longer than opening the page.
	const removal = `<script>
		document.documentElement.dataset.parsedMs = Math.round(performance.now());
		addEventListener("load", () => {
			byId("details").remove();
			const filter = (change) => {
				const before = performance.now();
				app.list.set(change);
				byId("units").getBoundingClientRect(); // lays the page out
				return Math.round(performance.now() - before);
			};
			const times = [
				{ q: "refund case-77" }, { q: "", outcome: "fail" }, { variant: "variant-3" },
				{ outcome: "", variant: "" },
			].map(filter);
			document.documentElement.dataset.filterMs = Math.max(...times);
		});
	</script>`
	tried := regexp.MustCompile(`<meta http-equiv=.*?>`).ReplaceAllLiteral(page, nil)
	tried = append(bytes.TrimSuffix(tried, []byte("</body>\n</html>\n")), removal...)
	dom := browse(t, tried, "")
	for _, what := range []string{"shown", "parsed", "filter"} {
		found := regexp.MustCompile(`data-` + what + `-ms="(\d+)"`).FindStringSubmatch(dom)
		require.NotNil(t, found, what)
		t.Logf("%d MiB, %s: %s ms", len(page)>>20, what, found[1])
	}
	require.Less(t, strings.Count(dom, `class="item"`), 100, "only rows that can be seen are in the document")
}
