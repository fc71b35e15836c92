package hostile_test

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/acp/scripted"
	"github.com/sdd-eval/sdd-eval/internal/cli"
	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/helper"
	"github.com/sdd-eval/sdd-eval/internal/testkit/hostile"
)

// playbook has an agent that follows a script, and a run step after it. Both start the hostile process.
const playbook = `name: hostile
task: {prompt: Get out.}
variants: {a: {agent: {kind: fake-acp, args: [script.json]}}}
sandbox: {allow_commands: [sh], allow_read: [PROGRAM]}
workflow:
  jobs:
    eval:
      strategy: {matrix: {variant: [a]}}
      steps:
        - uses: builtin:sdd-eval/workspace.prepare
        - uses: builtin:sdd-eval/acp.prompt
        - run: sh step.sh
`

// TestRun attacks a whole run: from the agent's own process, through a terminal, and by what the agent leaves for a run
// step.
func TestRun(t *testing.T) {
	t.Parallel()
	forEachKind(t, func(t *testing.T, _ *confine.Sandbox, properties confine.Properties) {
		s := newScene(t)
		s.bait(t)
		s.target.Workspace = "."
		s.own = filepath.Join(s.target.Project, ".llman")
		escapes := slices.DeleteFunc(hostile.Escapes(), func(e hostile.Escape) bool {
			// An agent has the network. A process can only be stopped once, and a file only be made once.
			return e.Alone || e.Property == confine.Network ||
				properties.Kind == confine.None && e.Proof != hostile.Secret
		})
		s.writePlaybook(t, escapes)
		before := s.survey(t, escapes)
		files := s.run(t, properties.Kind)
		after := s.survey(t, escapes)
		t.Cleanup(func() { s.removeMarks(escapes, before) })
		for _, who := range []string{"agent", "terminal", "step"} {
			reports := reportsOf(t, files[who])
			for _, e := range escapes {
				t.Run(who+"/"+e.Name, func(t *testing.T) {
					r, ok := reports[e.Name]
					require.True(t, ok, "no report")
					s.judge(t, properties, e, r, s.escaped(e, r, before, after))
				})
			}
		}
		if properties.Kind != confine.None {
			s.checkSurvey(t, properties, before, after)
		}
	})
}

// writePlaybook writes the playbook and the script of its agent, which has the hostile process started in each of these
// ways.
func (s *scene) writePlaybook(t *testing.T, escapes []hostile.Escape) {
	t.Helper()
	args := hostile.Args(s.target, escapes...)
	for i, arg := range args[1:] {
		args[1+i] = "'" + arg + "'" // nothing has a quote in it
	}
	program := "./" + strings.Join(args, " ")
	line := func(who string) []string { return []string{"-c", program + " >" + who + ".reports"} }
	turn := scripted.Turn{Actions: []scripted.Action{
		{Exec: &scripted.Exec{Command: "cp", Args: []string{s.exe, hostile.Name}}},
		{Exec: &scripted.Exec{Command: "sh", Args: line("agent")}},
		{Terminal: &scripted.Terminal{Command: "sh", Args: line("terminal")}},
		{DiskWrite: &scripted.DiskWrite{Path: "step.sh", Text: program + " >step.reports; rm " + hostile.Name + "\n"}},
	}}
	script, err := json.Marshal(scripted.Script{Turns: []scripted.Turn{turn}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(s.target.Project, "script.json"), script, 0o644))
	text := []byte(strings.ReplaceAll(playbook, "PROGRAM", s.exe))
	require.NoError(t, os.WriteFile(filepath.Join(s.target.Project, "p.yaml"), text, 0o644))
}

// run runs the playbook and returns the output of the hostile processes, by who started them.
func (s *scene) run(t *testing.T, kind confine.Kind) map[string]string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	env := map[string]string{"PATH": systemPath, "HOME": s.target.Home}
	app := cli.App{
		Args: []string{"run", "--playbook", "p.yaml", "--sandbox", string(kind)}, Stdout: &stdout, Stderr: &stderr,
		Getenv:  func(name string) string { return env[name] },
		Environ: []string{"PATH=" + systemPath, "HOME=" + s.target.Home},
		Dir:     s.target.Project, Now: time.Now,
	}
	require.Zero(t, app.Run(t.Context()), "%s", &stderr)
	files := make(map[string]string)
	for _, who := range []string{"agent", "terminal", "step"} {
		workspace := filepath.Join(s.own, "sdd-eval", "runs", "*", "variants", "a", "workspace")
		paths, err := filepath.Glob(filepath.Join(workspace, who+".reports"))
		require.NoError(t, err)
		require.Len(t, paths, 1, "%s: %s", who, &stderr)
		data, err := os.ReadFile(paths[0])
		require.NoError(t, err)
		files[who] = string(data)
	}
	return files
}

// reportsOf returns the reports that the hostile process printed.
func reportsOf(t *testing.T, printed string) map[string]hostile.Report {
	t.Helper()
	reports := make(map[string]hostile.Report)
	for line := range strings.Lines(printed) {
		var r hostile.Report
		require.NoError(t, json.Unmarshal([]byte(line), &r), line)
		reports[r.Escape] = r
	}
	return reports
}

// ordinary is a user as whom the tests are run again if we are root.
const ordinary = 1000

func TestMain(m *testing.M) {
	if from := os.Getenv(copyVariable); from != "" {
		serveCache(from, os.Getenv(buildCacheVariable))
		return
	}
	flag.Parse()
	if testing.Short() {
		return // the hostile process is one of its own
	}
	os.Exit(m.Run())
}

// TestAsUser runs the tests of this package again, as an ordinary user, if we are root.
func TestAsUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("we are one, so all tests have run as one")
	}
	t.Parallel()
	base, err := os.MkdirTemp("", "hostile-user")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(base)) })
	in := func(name string) string { return filepath.Join(base, name) }
	exe, err := os.Executable()
	require.NoError(t, err)
	binary, err := os.ReadFile(exe)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(in("hostile.test"), binary, 0o755))
	h, err := helper.Find()
	require.NoError(t, err)
	binary, err = os.ReadFile(h.Path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(in("sdd-eval-helper"), binary, 0o755))
	buildCommand(t, in("sdd-eval"))
	require.NoError(t, os.CopyFS(in("testdata"), os.DirFS("testdata")))
	for _, dir := range []string{"home", "tmp", "cache"} {
		require.NoError(t, os.Mkdir(in(dir), 0o755))
	}
	copyCache(t, in("hostile.test"), in("cache"))
	require.NoError(t, filepath.WalkDir(base, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, ordinary, ordinary)
	}))
	// What is said, and how much of it, is the same for every user.
	cmd := exec.CommandContext(t.Context(), in("hostile.test"), "-test.v", "-test.timeout=10m",
		"-test.skip=^(TestAsUser|TestFlood|TestSoakFlood)$")
	cmd.Dir = base
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + in("home"), "TMPDIR=" + in("tmp"), "CI=" + os.Getenv("CI"),
		buildCacheVariable + "=" + in("cache"),
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinary, Gid: ordinary}}
	out, err := cmd.CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if err != nil || testing.Verbose() || strings.Contains(line, "SKIP:") {
			fmt.Fprint(t.Output(), "uid 1000: ", line)
		}
	}
	require.NoError(t, err)
}

// copyVariable is set for a test binary that is to be a build cache of the go command. It names the user's cache, from
// which each entry that is asked for is copied to the directory in buildCacheVariable.
const copyVariable = "HOSTILE_TEST_COPY_FROM"

// copyCache copies the entries that building the module needs from our build cache to another one, for a user who may
// not read ours.
func copyCache(t *testing.T, exe, to string) {
	t.Helper()
	g := newGoCaches(t)
	env := append(g.env(), "GOCACHEPROG="+exe, copyVariable+"="+g.build, buildCacheVariable+"="+to)
	warm := filepath.Join(t.TempDir(), "warm")
	goOutput(t, g.module, env, "test", "-vet=off", "-c", "-o", warm, ".")
	goOutput(t, g.module, env, "build", "-o", warm, "./steal")
}

// serveCache is the cache for the go command: the protocol of GOCACHEPROG on standard input and output.
func serveCache(from, to string) {
	type answer struct {
		ID            int64
		KnownCommands []string   `json:",omitempty"`
		Miss          bool       `json:",omitempty"`
		OutputID      []byte     `json:",omitempty"`
		Size          int64      `json:",omitempty"`
		Time          *time.Time `json:",omitempty"`
		DiskPath      string     `json:",omitempty"`
	}
	out := json.NewEncoder(os.Stdout)
	_ = out.Encode(answer{KnownCommands: []string{"get"}})
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var request struct {
			ID       int64
			ActionID []byte
		}
		if json.Unmarshal(lines.Bytes(), &request) != nil {
			continue // an empty line is between requests
		}
		entry, err := copyEntry(from, to, hex.EncodeToString(request.ActionID), "-a")
		// Version, action, output, size and time.
		fields := bytes.Fields(entry)
		if err != nil || len(fields) != 5 {
			_ = out.Encode(answer{ID: request.ID, Miss: true})
			continue
		}
		output := string(fields[2])
		data, err := copyEntry(from, to, output, "-d")
		id, _ := hex.DecodeString(output)
		now := time.Now()
		_ = out.Encode(answer{
			ID: request.ID, Miss: err != nil, OutputID: id, Size: int64(len(data)), Time: &now,
			DiskPath: filepath.Join(to, output[:2], output+"-d"),
		})
	}
}

// copyEntry copies a file of a build cache to another cache and returns its content.
func copyEntry(from, to, name, suffix string) ([]byte, error) {
	path := filepath.Join(name[:2], name+suffix)
	data, err := os.ReadFile(filepath.Join(from, path))
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(to, name[:2]), 0o755); err != nil {
		return nil, err
	}
	return data, os.WriteFile(filepath.Join(to, path), data, 0o644)
}
