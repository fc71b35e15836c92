package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/cmd/sdd-eval-scale/internal/queue"
	"github.com/sdd-eval/sdd-eval/cmd/sdd-eval-scale/internal/scale"
	"github.com/sdd-eval/sdd-eval/internal/helper"
)

// agentProgram writes a shell script that does something and then is an agent that says that it is done.
func agentProgram(t *testing.T, before string) string {
	t.Helper()
	helper.Self()
	p, err := helper.Find()
	require.NoError(t, err)
	dir := t.TempDir()
	script, program := filepath.Join(dir, "agent.json"), filepath.Join(dir, "agent.sh")
	text := `{"turns": [{"actions": [{"say": {"text": "Done."}}]}]}`
	require.NoError(t, os.WriteFile(script, []byte(text), 0o644))
	text = fmt.Sprintf("#!/bin/sh\n%s\nexec %s\n", before, strings.Join(p.Command(helper.Agent, script), " "))
	require.NoError(t, os.WriteFile(program, []byte(text), 0o755))
	return program
}

// playbook is one with units of these agents, by their variants.
func playbook(trials int, agents map[string]string) map[string]string {
	var variants, names strings.Builder
	for id, agent := range agents {
		fmt.Fprintf(&variants, "  %s: {agent: {%s}}\n", id, agent)
		fmt.Fprintf(&names, "%s, ", id)
	}
	return map[string]string{"p.yaml": fmt.Sprintf(`name: p
task: {prompt: Do it.}
trials: {count: %d}
variants:
%sworkflow:
  jobs:
    eval:
      strategy: {matrix: {variant: [%s]}}
      steps: [{uses: builtin:sdd-eval/workspace.prepare}, {uses: builtin:sdd-eval/acp.prompt}]
`, trials, &variants, &names)}
}

// TestCancel cancels a run whose agents work: they end, and what has no result is not run.
func TestCancel(t *testing.T) {
	dir := t.TempDir()
	program := agentProgram(t, fmt.Sprintf("echo >> %s/begun; mkdir %[1]s/first 2>/dev/null || sleep 600", dir))
	c := newChaos(t, "127.0.0.1:-1", newProxy, playbook(4, map[string]string{"a": "kind: acp, command: " + program}))
	r := c.submit("p.yaml", nil)
	c.startWorker()
	c.until(r, func(s queue.Status) bool {
		begun, _ := os.ReadFile(filepath.Join(dir, "begun"))
		return s.Counts().Done == 1 && len(begun) == 3
	})
	code, _, said := c.command("fetch", r.ID)
	require.Equal(t, 3, code)
	require.Contains(t, said, "3 of its 4 units have no result yet")
	for range 2 { // the first end counts
		code, _, said = c.command("cancel", r.ID)
		require.Equal(t, 0, code, said)
		require.Contains(t, said, "the run has ended: cancelled: by hand\nnext: sdd-eval-scale fetch "+r.ID)
	}
	s := c.until(r, func(s queue.Status) bool { return s.Counts().Running == 0 })
	require.Equal(t, queue.Counts{Done: 1, Waiting: 3}, s.Counts())
	require.Eventually(t, func() bool { return len(marked(t, program)) == 0 }, time.Minute, 20*time.Millisecond)

	code, out, _ := c.command("status", r.ID)
	require.Equal(t, 0, code)
	require.Contains(t, out, "1 of 4 units done, 0 running, 3 waiting")
	require.Contains(t, out, "the run has ended: cancelled: by hand")
	code, out, said = c.command("fetch", r.ID)
	require.Equal(t, 3, code)
	require.Contains(t, said, "3 units have no result")
	require.Regexp(t, `no result: p/task/a/\d: cancelled: by hand`, said)
	code, text, _ := do(t, child(t.Context(), "sdd-eval", c.dir, "report", filepath.Base(lastLine(out))))
	require.Equal(t, 3, code, text)
	n := make(map[string]int)
	for _, outcome := range outcomes(t, lastLine(out)) {
		n[outcome]++
	}
	require.Equal(t, map[string]int{"completed": 1, "not_run": 3}, n)
}

// TestInterruptedEarly interrupts a run of which nothing is in the queue yet.
func TestInterruptedEarly(t *testing.T) {
	dir, bin := newProject(t, mixed), t.TempDir()
	text := "#!/bin/sh\necho >&2 > " + bin + "/begun; exec sleep 600\n"
	require.NoError(t, os.WriteFile(filepath.Join(bin, "git"), []byte(text), 0o755))
	cmd := child(t.Context(), "scale", dir, "run", "evals/mixed.yaml")
	cmd.Env = append(cmd.Env, "PATH="+bin+":"+os.Getenv("PATH"))
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool {
		_, err := os.Stat(filepath.Join(bin, "begun"))
		return err == nil
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	_ = cmd.Wait()
	require.Equal(t, 130, cmd.ProcessState.ExitCode())
}

// TestInterruptedWorker interrupts a worker as a terminal does, which tells all processes of the group: the worker ends
// its units, and what their agents have said that they cost counts, else all that was reserved.
func TestInterruptedWorker(t *testing.T) {
	for usage, spent := range map[string]float64{`{"usage": {"used": 1, "size": 9, "cost_usd": 0.25}}, `: .25, "": 5} {
		c, r := working(t, usage)
		w := c.workers[0].cmd
		require.NoError(t, syscall.Kill(-w.Process.Pid, syscall.SIGINT))
		_ = w.Wait()
		left, err := os.ReadDir(c.temp)
		require.NoError(t, err)
		require.Empty(t, left)
		s, err := c.q.Status(t.Context(), r.ID)
		require.NoError(t, err)
		require.Equal(t, queue.Counts{Waiting: 1}, s.Counts())
		require.Empty(t, s.Money.Reserved)
		require.InDelta(t, spent, s.Money.SpentUSD, 1e-9)
	}
}

// working starts a worker, in a process group of its own, and waits until the agent of a run's only unit works, which
// does something before and comes to no end.
func working(t *testing.T, before string) (*chaos, queue.Run) {
	t.Helper()
	begun := filepath.Join(t.TempDir(), "begun")
	files := playbook(1, map[string]string{"a": "kind: fake-acp, args: [agent.json]"})
	files["p.yaml"] += "limits: {max_cost_usd: 5}\n"
	files["agent.json"] = fmt.Sprintf(`{"turns": [{"actions": [%s
  {"exec": {"command": "sh", "args": ["-c", "echo > %s; sleep 600"]}}]}]}`, before, begun)
	c := newChaos(t, "127.0.0.1:-1", func(c *chaos, cmd *exec.Cmd) (way, string) {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		return newProxy(c, cmd)
	}, files)
	r := c.submit("p.yaml", func(o *scale.Options) { o.MaxUSD = 9 })
	c.startWorker()
	c.until(r, func(queue.Status) bool {
		_, err := os.Stat(begun)
		return err == nil
	})
	return c, r
}

// TestInterruptedAgain interrupts a worker again and again while a unit of its does not end. It does not wait for that.
func TestInterruptedAgain(t *testing.T) {
	c, _ := working(t, "")
	w := c.workers[0].cmd
	var units []int
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(t, err)
	for _, file := range stats {
		text, _ := os.ReadFile(file)
		var pid, parent int
		name, rest, _ := strings.Cut(string(text), ") ")
		if _, err := fmt.Sscanf(name, "%d", &pid); err == nil {
			_, _ = fmt.Sscanf(rest, "%1s %d", new(string), &parent)
		}
		if parent == w.Process.Pid {
			units = append(units, pid)
			require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
		}
	}
	require.Len(t, units, 1)
	ended := make(chan struct{})
	go func() { _ = w.Wait(); close(ended) }()
	require.Eventually(t, func() bool {
		_ = w.Process.Signal(os.Interrupt)
		select {
		case <-ended:
			return true
		default:
			return false
		}
	}, time.Minute, 50*time.Millisecond)
	require.Equal(t, syscall.SIGINT, w.ProcessState.Sys().(syscall.WaitStatus).Signal())
	require.NoError(t, syscall.Kill(units[0], syscall.SIGCONT))
	c.workers = nil
	c.sweeps()
}

// TestUnreadable: a worker can no longer read a file of the run's. It refuses the run, which goes on on others.
func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	wait := fmt.Sprintf("cd %s; touch begun; until test -e go; do sleep 0.02; done", dir)
	c := newChaos(t, "127.0.0.1:-1", newProxy, playbook(2, map[string]string{
		"a": "kind: acp, command: " + agentProgram(t, wait),
	}))
	r := c.submit("p.yaml", nil)
	c.startWorker("--parallel", "1")
	c.until(r, func(queue.Status) bool {
		_, err := os.Stat(filepath.Join(dir, "begun"))
		return err == nil
	})
	read, err := filepath.Glob(filepath.Join(c.temp, "*", "runs", r.ID, "project", "p.yaml"))
	require.NoError(t, err)
	require.Len(t, read, 1)
	require.NoError(t, os.Remove(read[0]))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
	s := c.until(r, func(s queue.Status) bool {
		require.NoError(t, c.q.Here(t.Context(), queue.Worker{ID: "another"}))
		return len(s.Refusals) == 1 || s.End != nil
	})
	require.Nil(t, s.End)
	require.Contains(t, fmt.Sprint(s.Refusals), "p.yaml: no such file or directory")
	c.startWorker()
	c.until(r, func(s queue.Status) bool { return s.Counts().Done == 2 })
}

// TestTooLarge: what a unit leaves is too large to travel. It is paid once, and its end says why and what the limit is.
func TestTooLarge(t *testing.T) {
	files := playbook(1, map[string]string{"a": "kind: fake-acp, args: [agent.json]"})
	files["agent.json"] = `{"turns": [{"actions": [{"usage": {"used": 1, "size": 9, "cost_usd": 0.25}},
  {"exec": {"command": "truncate", "args": ["-s", "1025M", "sparse"]}}]}]}`
	dir := newProject(t, files)
	code, _, said := do(t, child(t.Context(), "scale", dir, "run", "p.yaml", "--budget-usd", "9"))
	require.Equal(t, 3, code, said)
	require.Regexp(t, `no unit has a result: p/task/a/1: pack .llman/.*/sparse: too large to travel: `+
		`an archive has at most 200000 files with 1024 MiB, and 512 MiB packed`, said)
	id := regexp.MustCompile(`(?m)^run (.*)`).FindStringSubmatch(said)[1]
	_, out, _ := do(t, child(t.Context(), "scale", dir, "status", id))
	require.Contains(t, out, "attempt 1 on ")
	require.NotContains(t, out, "attempt 2 on ")
	require.Contains(t, out, "budget: $9.00, of which $0.25 are spent")
}

// TestRemoved removes a run for which somebody waits.
func TestRemoved(t *testing.T) {
	c := newChaos(t, "127.0.0.1:-1", newProxy, playbook(2, map[string]string{"a": "kind: fake-acp"}))
	cmd := child(t.Context(), "scale", c.dir, "run", "p.yaml", "--queue", "nats://"+c.addr)
	said, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewReader(said)
	line, err := lines.ReadString('\n')
	require.NoError(t, err)
	code, _, text := c.command("remove", strings.TrimSpace(strings.TrimPrefix(line, "run ")))
	require.Equal(t, 0, code, text)
	rest, err := io.ReadAll(lines)
	require.NoError(t, err)
	_ = cmd.Wait()
	require.Equal(t, 3, cmd.ProcessState.ExitCode())
	require.Contains(t, string(rest), "sdd-eval-scale: the run was removed: nothing is known of its units\n")
	require.NotContains(t, string(rest), "--resume")
}

// TestHalfSubmitted: a run of which the queue has a part, since its submission was killed, is not waited for.
func TestHalfSubmitted(t *testing.T) {
	c := newChaos(t, "127.0.0.1:-1", newProxy, playbook(1, map[string]string{"a": "kind: fake-acp"}))
	nc, err := nats.Connect("nats://" + c.addr)
	require.NoError(t, err)
	defer nc.Close()
	require.NoError(t, nc.Publish("$KV.sdd_eval_runs.half", []byte(`{"id": "half", "submitting": true}`)))
	require.NoError(t, nc.Flush())
	code, _, said := c.command("run", "--resume", "half")
	require.Equal(t, exitHarness, code)
	require.Contains(t, said, "the queue has only a part of the run half")
	require.Contains(t, said, "next: wait, or sdd-eval-scale remove half")
	_, out, _ := c.command("status")
	require.Contains(t, out, "is being submitted")
	code, _, said = c.command("remove", "half")
	require.Equal(t, exitOK, code, said)
}

// TestAccounts: a worker takes units of the accounts that it has. What it knows of these does not travel, whatever the
// agent does with it.
func TestAccounts(t *testing.T) {
	const key = "a-key-that-nobody-may-see"
	program := agentProgram(t, `echo "$TEAM_API_KEY" > leak.txt; echo "the key is $TEAM_API_KEY" >&2`)
	c := newChaos(t, "127.0.0.1:-1", newProxy,
		playbook(2, map[string]string{"a": "kind: acp, preset: team, command: " + program}))
	r := c.submit("p.yaml", nil)
	without, with := t.TempDir(), t.TempDir()
	text := fmt.Sprintf("[groups.team]\nTEAM_API_KEY = %q\n", key)
	require.NoError(t, os.WriteFile(filepath.Join(with, "acp.toml"), []byte(text), 0o600))
	c.startWorker("--config-dir", without)
	s := c.until(r, func(s queue.Status) bool { return len(s.Workers) == 1 && len(s.Workers[0].Lacks) == 1 })
	lacking := s.Workers[0].ID
	_, out, _ := c.command("status", r.ID)
	require.Contains(t, out, "worker "+lacking+" has not the account acp/team: preset \"team\": ")

	c.startWorker("--config-dir", with)
	s = c.until(r, func(s queue.Status) bool { return s.Counts().Done == 2 })
	c.end()
	for _, rec := range s.Records {
		require.Equal(t, 1, rec.Attempt, "no worker took it that has not the account")
		require.NotEqual(t, lacking, rec.Done.Worker)
		data, err := c.q.Load(t.Context(), *rec.Done.Archive)
		require.NoError(t, err)
		files := unpacked(t, data)
		leak := false
		for name, text := range files {
			require.NotContains(t, text, key, name)
			leak = leak || strings.HasSuffix(name, "leak.txt")
		}
		require.True(t, leak, "the file that has it is there: %v", files)
	}
	// So it is for all else that the server has.
	require.NoError(t, filepath.Walk(c.store, func(path string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NotContains(t, string(data), key, path)
		}
		return nil
	}))
}

// unpacked returns the files of an archive.
func unpacked(t *testing.T, data []byte) map[string]string {
	t.Helper()
	zip, err := gzip.NewReader(bytes.NewReader(data))
	require.NoError(t, err)
	files := make(map[string]string)
	for in := tar.NewReader(zip); ; {
		h, err := in.Next()
		if err == io.EOF {
			return files
		}
		require.NoError(t, err)
		text, err := io.ReadAll(in)
		require.NoError(t, err)
		files[h.Name] = string(text)
	}
}

// TestHostileArchives: a worker that means ill says of units that they are done, and has archives of its own make. The
// run is not fetched, and nothing is written for it.
func TestHostileArchives(t *testing.T) {
	c := newChaos(t, "127.0.0.1:-1", newProxy, playbook(2, map[string]string{"a": "kind: fake-acp"}))
	r := c.submit("p.yaml", nil)
	c.startWorker()
	s := c.until(r, func(s queue.Status) bool { return s.Counts().Done == 2 })
	c.end()
	first, err := c.q.Load(t.Context(), *s.Records[0].Done.Archive)
	require.NoError(t, err)
	outside := t.TempDir()
	archive := func(entries ...tar.Header) []byte {
		var out bytes.Buffer
		zip := gzip.NewWriter(&out)
		w := tar.NewWriter(zip)
		for _, h := range entries {
			require.NoError(t, w.WriteHeader(&h))
		}
		require.NoError(t, zip.Close())
		return out.Bytes()
	}
	for _, tt := range []struct {
		archive []byte
		want    string
	}{
		{archive(tar.Header{Name: "../evil"}), `unit p/task/a/1: unpack: the name "../evil" is not a path below the `},
		{archive(tar.Header{Name: outside + "/evil"}), `evil" is not a path below the archive's directory`},
		{
			archive(tar.Header{Typeflag: tar.TypeSymlink, Name: "l", Linkname: outside}, tar.Header{Name: "l/evil"}),
			`"l" is a link to "` + outside + `", which is outside of the archive`,
		},
		{archive(tar.Header{Name: "bomb", Size: 1 << 40}), "unpack: more than 1073741824 bytes"},
		{[]byte("no archive"), "unit p/task/a/1: unpack: "},
		{first, "unit p/task/a/2: its archive, of evil, has not its result and no other"},
	} {
		r := c.submit("p.yaml", nil)
		units, err := c.q.Units(t.Context(), r)
		require.NoError(t, err)
		for range units {
			var o *queue.Offer
			require.Eventually(t, func() bool {
				o, err = c.q.Next(t.Context(), r.Accounts[0])
				return err == nil && o != nil
			}, time.Minute, 10*time.Millisecond)
			l, err := o.Take(t.Context(), r, units[o.N], "evil")
			require.NoError(t, err)
			require.NoError(t, l.Commit(queue.Done{Outcome: "completed"}, tt.archive))
		}
		before := tree(t, c.dir)
		code, out, said := c.command("fetch", r.ID)
		require.Equal(t, 3, code, said)
		require.Empty(t, out)
		require.Contains(t, said, "fetch the run "+r.ID+": ")
		require.Contains(t, said, tt.want)
		require.Equal(t, before, tree(t, c.dir))
		require.Empty(t, tree(t, outside))
	}
}

// TestForeignBundle: somebody changes the bundle in the queue. No worker carries out what is in it.
func TestForeignBundle(t *testing.T) {
	c := newChaos(t, "127.0.0.1:-1", newProxy, playbook(2, map[string]string{"a": "kind: fake-acp"}))
	r := c.submit("p.yaml", nil)
	nc, err := nats.Connect("nats://" + c.addr)
	require.NoError(t, err)
	defer nc.Close()
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	files, err := js.KeyValue(t.Context(), "sdd_eval_files")
	require.NoError(t, err)
	_, err = files.Put(t.Context(), r.Bundle.Key+".0", []byte("another one"))
	require.NoError(t, err)
	c.startWorker()
	s := c.until(r, func(s queue.Status) bool { return s.End != nil })
	require.Equal(t, queue.Unfit, s.End.Kind)
	require.Contains(t, s.End.Why, "its content has the digest sha256:")
	require.Equal(t, make([]queue.Record, 2), s.Records, "nothing was begun")
	code, _, said := c.command("fetch", r.ID)
	require.Equal(t, 3, code)
	require.Contains(t, said, "no unit has a result: p/task/a/1: unfit: worker ")
}

// TestPausedForAll: while an account pauses, no worker begins a unit of it, and all go on with those of others.
func TestPausedForAll(t *testing.T) {
	c := newChaos(t, "127.0.0.1:-1", newProxy, playbook(8, map[string]string{
		"a": "kind: acp, command: " + agentProgram(t, ""), "b": "kind: fake-acp",
	}))
	paused := queue.Account{Kind: "acp"}
	require.NoError(t, c.q.Pause(t.Context(), paused, time.Hour, "429: slow down"))
	r := c.submit("p.yaml", nil)
	c.startWorker()
	c.startWorker()
	of := func(s queue.Status, variant string) (done, begun int) {
		for i, rec := range s.Records {
			if s.Units[i].Variant == variant && rec.Attempt > 0 {
				begun++
			}
			if s.Units[i].Variant == variant && rec.Done != nil {
				done++
			}
		}
		return done, begun
	}
	s := c.until(r, func(s queue.Status) bool { done, _ := of(s, "b"); return done == 8 })
	_, begun := of(s, "a")
	require.Zero(t, begun)
	require.Equal(t, map[string]string{"acp": "429: slow down"}, s.Paused)
	code, _, said := c.command("cancel", r.ID)
	require.Equal(t, 0, code, said)
}
