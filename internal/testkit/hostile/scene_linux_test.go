package hostile_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
	"github.com/sdd-eval/sdd-eval/internal/testkit/hostile"
)

// deadline is how long a process in a sandbox may take.
const deadline = 60 * time.Second

// scene is a project and a home with a secret, and a unit with a workspace in which the hostile process starts. bait
// adds other things that have the secret.
type scene struct {
	secret    string
	home, tmp string // of the unit
	target    hostile.Target
	exe       string
	own       string // not outside, and not surveyed
}

func newScene(t *testing.T) *scene {
	t.Helper()
	base, err := os.MkdirTemp("", "hostile") // t.TempDir is too long for the name of a socket
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(base)) })
	base, err = filepath.EvalSymlinks(base)
	require.NoError(t, err)
	s := &scene{secret: "planted-" + rand.Text()}
	s.exe, err = os.Executable()
	require.NoError(t, err)
	project := filepath.Join(base, "project")
	units := filepath.Join(project, ".evaltest")
	s.home, s.tmp = filepath.Join(units, "a", "home"), filepath.Join(units, "a", "tmp")
	s.target = hostile.Target{
		Workspace: filepath.Join(units, "a", "workspace"), Project: project, Home: filepath.Join(base, "home"),
		Other: filepath.Join(units, "b", "workspace"),
	}
	s.own = filepath.Dir(s.target.Workspace)
	for _, dir := range []string{s.home, s.tmp, s.target.Workspace} {
		require.NoError(t, os.MkdirAll(dir, 0o755))
	}
	for _, dir := range s.outside() {
		require.NoError(t, os.MkdirAll(dir, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, hostile.SecretFile), []byte(s.secret), 0o644))
		require.NoError(t, os.WriteFile(filepath.Join(dir, s.secret), nil, 0o644)) // for those who list
		require.NoError(t, hostile.Furnish(dir))
	}
	return s
}

// bait adds things outside that are not files.
func (s *scene) bait(t *testing.T) {
	t.Helper()
	s.target.Victim, s.target.Stopper, s.target.Killer = s.victim(t), s.victim(t), s.victim(t)
	s.sockets(t)
	s.memory(t)
	s.terminal(t)
}

func (s *scene) outside() []string { return []string{s.target.Project, s.target.Home, s.target.Other} }

// victim starts a process that has the secret.
func (s *scene) victim(t *testing.T) (pid int) {
	t.Helper()
	f, err := os.Open(filepath.Join(s.target.Project, hostile.SecretFile))
	require.NoError(t, err)
	defer f.Close()
	cmd := exec.Command(s.exe)
	cmd.Args, cmd.Env, cmd.Dir = hostile.Victim(s.secret), []string{"SECRET=" + s.secret}, s.target.Project
	cmd.ExtraFiles = []*os.File{f}
	_, err = cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	_, err = io.ReadFull(out, make([]byte, len("ready\n")))
	require.NoError(t, err)
	return cmd.Process.Pid
}

// sockets listens on sockets of every kind, and answers with the secret.
func (s *scene) sockets(t *testing.T) {
	t.Helper()
	listen := func(network, address string) string {
		l, err := net.Listen(network, address)
		if err != nil && address != "127.0.0.1:0" && strings.HasPrefix(network, "tcp") {
			return "" // the machine has no such address
		}
		require.NoError(t, err)
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				go s.answer(conn)
			}
		}()
		return l.Addr().String()
	}
	s.target.UnixStream = listen("unix", filepath.Join(s.target.Home, "stream"))
	s.target.UnixPacket = listen("unixpacket", filepath.Join(s.target.Home, "packet"))
	s.target.UnixDatagram = filepath.Join(s.target.Home, "datagram")
	datagrams, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: s.target.UnixDatagram, Net: "unixgram"})
	require.NoError(t, err)
	t.Cleanup(func() { datagrams.Close() })
	go s.answerInto(datagrams)
	s.target.Abstract = strings.TrimPrefix(listen("unix", "@hostile-"+rand.Text()), "@")
	s.target.TCP = listen("tcp4", "127.0.0.1:0")
	s.target.TCP6 = listen("tcp6", "[::1]:0")
	if ip := hostAddress(t); ip != nil {
		s.target.Host = listen("tcp4", net.JoinHostPort(ip.String(), "0"))
	}
	conn, err := net.ListenPacket("udp4", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	s.target.UDP = conn.LocalAddr().String()
	go func() {
		for {
			_, from, err := conn.ReadFrom(make([]byte, 16))
			if err != nil {
				return
			}
			_, _ = conn.WriteTo([]byte(s.secret), from)
		}
	}()
}

// answer answers one question.
func (s *scene) answer(conn net.Conn) {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(deadline))
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		_, _ = conn.Write([]byte(s.secret))
	}
}

// answerInto answers each datagram by the socket that came with it.
func (s *scene) answerInto(conn *net.UnixConn) {
	rights := make([]byte, unix.CmsgSpace(4))
	for {
		_, n, _, _, err := conn.ReadMsgUnix(make([]byte, 1), rights)
		if err != nil {
			return
		}
		messages, _ := unix.ParseSocketControlMessage(rights[:n])
		for _, m := range messages {
			fds, _ := unix.ParseUnixRights(&m)
			for _, fd := range fds {
				_, _ = unix.Write(fd, []byte(s.secret))
				_ = unix.Close(fd)
			}
		}
	}
}

// hostAddress returns an address of the machine that is not on a loopback device, nil if there is none.
func hostAddress(t *testing.T) net.IP {
	t.Helper()
	addrs, err := net.InterfaceAddrs()
	require.NoError(t, err)
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			return n.IP
		}
	}
	return nil
}

// memory puts the secret in the kernel's memory, if the kernel supports it.
func (s *scene) memory(t *testing.T) {
	t.Helper()
	s.target.Key = rand.Text()
	if id, err := unix.AddKey("user", s.target.Key, []byte(s.secret), unix.KEY_SPEC_USER_KEYRING); err == nil {
		t.Cleanup(func() { _, _ = unix.KeyctlInt(unix.KEYCTL_UNLINK, id, unix.KEY_SPEC_USER_KEYRING, 0, 0) })
	}
	id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600)
	if err != nil {
		s.target.Memory = -1
		return
	}
	t.Cleanup(func() { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) })
	data, err := unix.SysvShmAttach(id, 0, 0)
	require.NoError(t, err)
	copy(data, s.secret)
	require.NoError(t, unix.SysvShmDetach(data))
	s.target.Memory = id
}

// terminal types the secret at a terminal.
func (s *scene) terminal(t *testing.T) {
	t.Helper()
	master, terminal, err := hostile.OpenTerminal()
	require.NoError(t, err)
	t.Cleanup(func() { master.Close(); terminal.Close() })
	_, err = master.WriteString(strings.Repeat(s.secret+"\n", 8)) // each reader takes a line
	require.NoError(t, err)
	s.target.Terminal = terminal.Name()
}

// policy is the policy of a terminal's command: its own directories, and no network.
func (s *scene) policy() confine.Policy {
	return confine.Policy{Write: []string{s.target.Workspace, s.home, s.tmp}, Read: []string{s.exe}}
}

const systemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

func (s *scene) env() []string {
	return []string{"PATH=" + systemPath, "HOME=" + s.home, "TMPDIR=" + s.tmp}
}

// command returns the command that runs the hostile process.
func (s *scene) command(args []string) supervise.Command {
	return supervise.Command{
		Path: s.exe, Args: args, Dir: s.target.Workspace, Env: s.env(),
		Grace: 50 * time.Millisecond,
	}
}

// start starts a command in a sandbox and ends it with the test.
func start(t *testing.T, sb *confine.Sandbox, c supervise.Command, p confine.Policy) *supervise.Process {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	t.Cleanup(cancel)
	process, err := sb.Start(ctx, c, p)
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = process.Kill() })
	return process
}

// try runs the hostile process and returns its report of each escape.
func (s *scene) try(
	t *testing.T, sb *confine.Sandbox, p confine.Policy, escapes []hostile.Escape,
) map[string]hostile.Report {
	t.Helper()
	c := s.command(hostile.Args(s.target, escapes...))
	var out bytes.Buffer
	words := &excerpt.Tail{Limit: 4 << 10}
	c.Stdout, c.Stderr = &out, words
	exit, err := start(t, sb, c, p).Wait()
	if text, _ := words.Text(true); text != "" {
		t.Log(text)
	}
	require.NoError(t, err)
	reports := reportsOf(t, out.String())
	require.Len(t, reports, len(escapes), "reports; %v", exit)
	return reports
}

// state is the visible state of a file.
type state struct {
	mode    fs.FileMode
	content string
	times   time.Time
}

func look(path string) state {
	info, err := os.Lstat(path)
	if err != nil {
		return state{}
	}
	s := state{mode: info.Mode(), times: info.ModTime()}
	switch info.Mode().Type() {
	case 0:
		data, _ := os.ReadFile(path)
		s.content = string(data)
	case fs.ModeSymlink:
		s.content, _ = os.Readlink(path)
	case fs.ModeDir:
		s.times = time.Time{} // those of its files tell more
	}
	return s
}

// survey returns the state of everything outside the unit, and of the marks of escapes.
func (s *scene) survey(t *testing.T, escapes []hostile.Escape) map[string]state {
	t.Helper()
	all := make(map[string]state)
	for _, dir := range s.outside() {
		require.NoError(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if path == s.own {
				return fs.SkipDir
			}
			all[path] = look(path)
			return err
		}))
	}
	for _, e := range escapes {
		if e.Mark != nil {
			all[e.Mark(s.target)] = look(e.Mark(s.target))
		}
	}
	return all
}

// alive reports whether a process is running, that is neither stopped nor gone.
func alive(pid int) bool {
	data, err := os.ReadFile(filepath.Join("/proc", itoa(pid), "stat"))
	if err != nil {
		return false
	}
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	return !slices.Contains([]string{"T", "t", "Z", "X"}, fields[0])
}
