package probe

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// exceeds takes what is asked of the machine, and prints [Exceeded] when it has it. It reports whether any was asked.
func (t Targets) exceeds() bool {
	var err error
	switch {
	case t.Threads > 0:
		startThreads(t.Threads)
	case t.Memory > 0:
		err = haveMemory(t.Memory)
	case t.CPU > 0:
		for used := time.Duration(0); used < t.CPU; {
			var ru unix.Rusage
			_ = unix.Getrusage(unix.RUSAGE_SELF, &ru)
			used = time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
		}
	case t.Disk > 0:
		err = fillDisk(t.Own, t.Disk)
	default:
		return false
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "prober:", err)
		unix.Exit(1)
	}
	fmt.Println(Exceeded)
	return true
}

// startThreads returns when that many threads run.
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
}

// haveMemory has one half of the memory in pages, and the other in a file that is not mapped.
func haveMemory(n int64) error {
	pages, err := unix.Mmap(-1, 0, int(n/2), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	for i := 0; i < len(pages); i += os.Getpagesize() {
		pages[i] = 1
	}
	fd, err := unix.MemfdCreate("", unix.MFD_CLOEXEC)
	if err != nil {
		return err
	}
	chunk := make([]byte, 1<<20)
	for written := int64(0); written < n/2; {
		k, err := unix.Write(fd, chunk)
		if err != nil {
			return err
		}
		written += int64(k)
	}
	runtime.KeepAlive(pages)
	return nil
}

// afterwards is how long the disk stays filled: longer than from one count of the files to the next.
const afterwards = 8 * time.Second

// fillDisk writes one half to a file, and the other to one that it has removed.
func fillDisk(dir string, n int64) error {
	for _, name := range []string{"kept", "removed"} {
		path := filepath.Join(dir, name)
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		defer f.Close()
		if name == "removed" {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
		if _, err := f.Write(make([]byte, n/2)); err != nil {
			return err
		}
	}
	time.Sleep(afterwards)
	return nil
}
