package supervise_test

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/lockdown"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
)

// run returns what a shell script printed, and the supervisor above it.
func run(t *testing.T, c supervise.Command, script string) (text string, above process) {
	t.Helper()
	var out bytes.Buffer
	c.Path, c.Args, c.Stdout = "/bin/sh", []string{"sh", "-c", "echo $PPID; " + script}, &out
	exit, err := start(t, c).Wait()
	require.NoError(t, err)
	require.Equal(t, supervise.Exit{}, exit)
	first, rest, _ := strings.Cut(out.String(), "\n")
	pid, err := strconv.Atoi(first)
	require.NoError(t, err)
	return rest, look(pid)
}

// TestSupervisorsAreKept for the next child, which gets nothing that the last one had.
func TestSupervisorsAreKept(t *testing.T) {
	const describe = `pwd; env | grep SECRET; ulimit -c; cat <&0`
	plain := supervise.Command{Dir: "/", Env: []string{"PATH=/usr/bin:/bin"}}
	supervise.EndIdle()
	before, _ := run(t, plain, describe)

	other := supervise.Command{
		Dir: t.TempDir(), Env: []string{"PATH=/usr/bin:/bin", "SECRET=1"}, Stdin: strings.NewReader("input"),
		Limits: supervise.Limits{Threads: 50},
	}
	_, first := run(t, other, describe)
	after, second := run(t, plain, describe)
	assert.Equal(t, before, after)
	assert.Equal(t, first.pid, second.pid, "the supervisor")
	supervise.EndIdle()
	assert.False(t, first.there())
}

// TestLockedDownSupervisors are kept only for children that are locked down, too: to lock one down, the supervisor
// gives up a right of its own.
func TestLockedDownSupervisors(t *testing.T) {
	supervise.EndIdle()
	limit, plain := run(t, supervise.Command{}, "ulimit -c")
	_, locked := run(t, supervise.Command{Rules: &lockdown.Rules{}}, "ulimit -c")
	assert.NotEqual(t, plain.pid, locked.pid)
	again, third := run(t, supervise.Command{}, "ulimit -c")
	assert.Equal(t, limit, again)
	assert.Equal(t, plain.pid, third.pid)
	_, fourth := run(t, supervise.Command{Rules: &lockdown.Rules{}}, "ulimit -c")
	assert.Equal(t, locked.pid, fourth.pid)
	largest, _ := run(t, supervise.Command{Rules: &lockdown.Rules{}}, "ulimit -f")
	assert.Contains(t, []string{"4294967296\n", "2147483648\n"}, largest, "2 TiB in units of 512 or 1024 bytes")
}

// TestKilledIdleSupervisor: an idle supervisor that somebody killed is replaced.
func TestKilledIdleSupervisor(t *testing.T) {
	supervise.EndIdle()
	_, first := run(t, supervise.Command{}, "")
	require.NoError(t, syscall.Kill(first.pid, syscall.SIGKILL))
	require.Eventually(t, func() bool { return !first.lives() }, lifetime/2, time.Millisecond)
	_, second := run(t, supervise.Command{}, "")
	assert.NotEqual(t, first.pid, second.pid)
	assert.False(t, first.there(), "a zombie")
}

// TestIdleSupervisorEndsWithUs, however we end.
func TestIdleSupervisorEndsWithUs(t *testing.T) {
	if os.Getenv(hostVariable) != "" {
		_, idle := run(t, supervise.Command{}, "")
		w := os.NewFile(hostTetherFD, "tether")
		fmt.Fprintf(w, "pid %d\n", idle.pid)
		w.Close()
		_, _ = os.Stdin.Read(make([]byte, 1))
		return
	}
	tether, host, _ := startHost(t, "TestIdleSupervisorEndsWithUs", "1m")
	all := tether.processes(1)
	assert.True(t, all[0].lives())
	require.NoError(t, host.Process.Kill())
	require.Error(t, host.Wait())
	tether.ended(all)
}
