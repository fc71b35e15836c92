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
)

// Trick returns the arguments of a process that is not after anything outside but does not want to end, or wants too
// much:
//
//	outlive DIR    leaves a process in another session behind that holds Heartbeat(DIR), and ends
//	stay DIR       does so, does not end, and ignores polite signals
//	flood BYTES    writes that much to stdout
//	bomb N         starts that many processes, which stay, and prints "all"
//	storm WORD     starts processes that start processes, with the word among their arguments, and keeps all processors busy
//	terminal -     prints "ready" by way of a pseudo-terminal of its own, which anybody may have
func Trick(name, argument string) []string { return []string{Name, name, argument} }

// lifetime ends processes that a failed test has left.
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
}

// Heartbeat returns the file that a process holds locked, and writes to, for as long as it lives. It begins with its pid.
func Heartbeat(dir string) string { return filepath.Join(dir, "heartbeat") }

// deaf ignores what asks a process to end.
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

// leaveBehind starts a process with another parent, session and group, and returns when it is there.
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
