package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
	"github.com/sdd-eval/sdd-eval/internal/testkit/usermodule"
)

// TestTutorial does what docs/tutorial.md says, from its top to its end, in a new module:
//
//   - a block of "console" has commands, after "$ ", and what they print; "..." stands for any lines
//   - a block of "diff" changes the file that its first line names: its lines with "-", or with " ", have to be there
//   - a block of "yaml" is the file that its first line names, as far as it goes
//   - nothing else is done: blocks of "sh" and "toml" are for what needs a network or an account
//
// UPDATE_GOLDEN=1 puts what the commands print into the page.
func TestTutorial(t *testing.T) {
	t.Parallel()
	const page = "../../docs/tutorial.md"
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	m := tutorial{t: t, dir: t.TempDir()}
	// The page's `go mod init` makes this module, so that `go get` in init has nothing to download.
	require.NoError(t, usermodule.Write(m.dir, root, "example.com/mugs", "sdd-eval", "gotestsum"))
	var done strings.Builder
	at := 0
	for _, b := range regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```").FindAllSubmatchIndex(text, -1) {
		done.Write(text[at:b[4]])
		body := string(text[b[4]:b[5]])
		switch string(text[b[2]:b[3]]) {
		case "console":
			body = m.console(body)
		case "diff":
			m.change(body)
		case "yaml":
			name, rest, _ := strings.Cut(strings.TrimPrefix(body, "# "), "\n")
			require.Contains(t, m.read(name), rest, "docs/tutorial.md shows another %s", name)
		}
		done.WriteString(body)
		at = b[5]
	}
	require.NotZero(t, at, "the page has no blocks")
	done.Write(text[at:])
	if golden.Updating() {
		require.NoError(t, os.WriteFile(page, []byte(done.String()), 0o644))
		return
	}
	require.Equal(t, string(text), done.String(), "UPDATE_GOLDEN=1 go test ./cmd/sdd-eval -run TestTutorial")
}

type tutorial struct {
	t   *testing.T
	dir string
}

func (m tutorial) read(name string) string {
	data, err := os.ReadFile(filepath.Join(m.dir, name))
	require.NoError(m.t, err)
	return string(data)
}

// change carries a block of "diff" out.
func (m tutorial) change(block string) {
	name, lines, _ := strings.Cut(strings.TrimPrefix(block, "# "), "\n")
	var was, is strings.Builder
	for line := range strings.Lines(lines) {
		switch rest := line[1:]; line[0] {
		case '-':
			was.WriteString(rest)
		case '+':
			is.WriteString(rest)
		default:
			was.WriteString(rest)
			is.WriteString(rest)
		}
	}
	text := m.read(name)
	require.Equal(m.t, 1, strings.Count(text, was.String()), "%s has these lines once:\n%s", name, was.String())
	text = strings.Replace(text, was.String(), is.String(), 1)
	require.NoError(m.t, os.WriteFile(filepath.Join(m.dir, name), []byte(text), 0o644))
}

// console runs the commands of a block, and returns the block with what they printed: as it is where that fits.
func (m tutorial) console(block string) string {
	var done strings.Builder
	for _, part := range regexp.MustCompile(`(?m)^\$ (.*)\n((?:[^$].*\n|\n)*)`).FindAllStringSubmatch(block, -1) {
		cmd := exec.Command("sh", "-c", part[1]+" 2>&1")
		cmd.Dir = m.dir
		cmd.Env = []string{
			"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"), "NO_COLOR=1", "GOPROXY=off", "GOWORK=off",
			"GOFLAGS=", "LLMAN_CONFIG_DIR=" + filepath.Join(m.dir, "no-presets"),
		}
		for _, name := range []string{"HOME", "TMPDIR", "GOCACHE", "GOMODCACHE", "GOPATH", "GOTOOLCHAIN"} {
			if value, ok := os.LookupEnv(name); ok {
				cmd.Env = append(cmd.Env, name+"="+value)
			}
		}
		out, err := cmd.CombinedOutput()
		if _, exited := err.(*exec.ExitError); !exited {
			require.NoError(m.t, err)
		}
		printed := m.stable(string(out))
		if fits(part[2], printed) {
			printed = part[2]
		}
		done.WriteString("$ " + part[1] + "\n" + printed)
	}
	return done.String()
}

// measured matches what differs from run to run: times, and ids of runs.
var measured = regexp.MustCompile(`\b(?:\d+m)?\d+(?:\.\d+)?m?s\b|\b\d{8}-\d{6}-([a-z]+)-[a-z0-9]+\b`)

// stable has times and ids of runs the same each time, and the module in the home of the reader.
func (m tutorial) stable(out string) string {
	out = strings.ReplaceAll(out, m.dir, "/home/you/mugs")
	return measured.ReplaceAllStringFunc(out, func(s string) string {
		if name := measured.FindStringSubmatch(s)[1]; name != "" {
			return "20261123-101112-" + name + "-abcdefgh"
		}
		return "0.1s"
	})
}

// fits reports whether the lines of a page are what was printed, however wide columns are. A line "..." stands for any
// lines.
func fits(page, printed string) bool {
	spaces := regexp.MustCompile(` +`)
	var want strings.Builder
	for line := range strings.Lines(spaces.ReplaceAllString(page, " ")) {
		if line == "...\n" {
			want.WriteString(`(?:.*\n)*`)
			continue
		}
		want.WriteString(regexp.QuoteMeta(line))
	}
	return regexp.MustCompile(`^` + want.String() + `$`).MatchString(spaces.ReplaceAllString(printed, " "))
}
