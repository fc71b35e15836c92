package confine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/reexec"
)

// proberName makes our binary a prober, see [reexec.Register].
const proberName = "sdd-eval-prober"

func init() {
	reexec.Register(proberName, 0, func([]string) int { return probe() })
}

// targets are what a prober outside of which they lie tries to get at.
type targets struct {
	Dir     string // holds secretFile
	Tty     string // a terminal; empty: there are none
	Process int    // of our own
	PIDs    string // the process namespace in which Process counts
	Marker  string // a variable in the environment of Process
	Socket  string // of a listening unix socket
	Address string // of an abstract one
	TCP     string // of a listener; empty: the network is not tried
	UDP     string // of another
	Threads int    // how many to start; nothing else is tried then
}

// Where targets.Dir has its secret, and the text of a file and of packets.
const (
	secretFile = "secret"
	secretText = "not for you"
)

// probe tries to get out and prints which properties held.
func probe() int {
	var t targets
	if err := json.NewDecoder(os.Stdin).Decode(&t); err != nil {
		fmt.Fprintln(os.Stderr, "prober:", err)
		return 1
	}
	if t.Threads > 0 {
		startThreads(t.Threads)
		return 0
	}
	held := make(map[Property]bool)
	for property, succeeds := range map[Property]func(targets) bool{
		FilesRead: readsFile, FilesWritten: writesFile, FileModes: changesMode, Terminals: reachesTerminal,
		Processes: reachesProcess, Sockets: connectsSocket, Network: reachesNetwork,
	} {
		held[property] = !succeeds(t)
	}
	if err := json.NewEncoder(os.Stdout).Encode(held); err != nil {
		fmt.Fprintln(os.Stderr, "prober:", err)
		return 1
	}
	return 0
}

func readsFile(t targets) bool {
	data, err := os.ReadFile(filepath.Join(t.Dir, secretFile))
	return err == nil && string(data) == secretText
}

func writesFile(t targets) bool {
	if _, err := os.Lstat(t.Dir); err != nil {
		return false
	}
	return os.WriteFile(filepath.Join(t.Dir, "new"), nil, 0o600) == nil
}

func changesMode(t targets) bool { return os.Chmod(filepath.Join(t.Dir, secretFile), 0o400) == nil }

func reachesTerminal(t targets) bool { return t.Tty != "" && opensTerminal(t.Tty) }

func reachesProcess(t targets) bool {
	if pids, err := os.Readlink("/proc/self/ns/pid"); err == nil && pids != t.PIDs {
		return false // the number is another's
	}
	if environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", t.Process)); err == nil && bytes.Contains(environ, []byte(t.Marker)) {
		return true
	}
	return signals(t.Process)
}

func connectsSocket(t targets) bool {
	for _, address := range []string{t.Socket, t.Address} {
		if c, err := net.Dial("unix", address); err == nil {
			c.Close()
			return true
		}
	}
	return false
}

// reachesNetwork tells of TCP alone: whether a packet arrived is for its receiver to say.
func reachesNetwork(t targets) bool {
	if t.TCP == "" {
		return false
	}
	if c, err := net.Dial("udp", t.UDP); err == nil {
		_, _ = c.Write([]byte(secretText))
		c.Close()
	}
	c, err := net.DialTimeout("tcp", t.TCP, time.Second)
	if err != nil {
		return false
	}
	c.Close()
	return true
}

// startThreads starts threads and says so when all are there.
func startThreads(n int) {
	var started sync.WaitGroup
	for range n {
		started.Add(1)
		go func() {
			runtime.LockOSThread()
			started.Done()
			select {}
		}()
	}
	started.Wait()
	fmt.Println(allStarted)
}

// allStarted is what a prober prints that could start all the threads that it was to.
const allStarted = "all started"
