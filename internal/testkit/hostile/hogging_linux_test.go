package hostile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/sdd-eval/sdd-eval/internal/confine"
)

// Hog is a way to use up the machine. The trick hog, whose argument is NAME:SIZE, does it, and prints "all" if nothing
// stopped it.
type Hog struct {
	Name     string
	Property confine.Property
	// Counted means that a supervisor sees it without the help of the kernel.
	Counted bool

	use func(size int) error
}

// Hogs returns all hogs. Those of disks write to the working directory.
func Hogs() []Hog {
	return []Hog{
		{"hog-memory", confine.Memory, true, func(size int) error { return pages(size, unix.MAP_PRIVATE) }},
		{"hog-shared-memory", confine.Memory, true, func(size int) error { return pages(size, unix.MAP_SHARED) }},
		{"hog-by-many", confine.Memory, true, byMany},
		{"hog-memory-file", confine.Memory, false, memoryFile},
		{"hog-tmp", confine.Memory, true, func(size int) error { return write("/tmp/hog", size, false) }},
		{"hog-shm", confine.Memory, true, func(size int) error { return write("/dev/shm/hog", size, false) }},
		{"hog-disk", confine.Disk, true, func(size int) error { return write("hog", size, false) }},
		{"hog-disk-removed", confine.Disk, true, func(size int) error { return write("hog", size, true) }},
		{"hog-disk-small", confine.Disk, true, smallFiles},
		{"hog-cpu", confine.CPU, false, spin},
	}
}

// hog is the process.
func hog(what string) {
	name, size, _ := strings.Cut(what, ":")
	n, err := strconv.Atoi(size)
	if err != nil {
		fail(err)
	}
	for _, h := range Hogs() {
		if h.Name == name {
			err = h.use(n)
		}
	}
	if err != nil {
		fail(err)
	}
	fmt.Println("all")
}

// stays is how long a hog keeps what it has.
const stays = 2 * time.Second

func pages(size, flags int) error {
	memory, err := take(size, flags)
	if err != nil {
		return err
	}
	time.Sleep(stays)
	runtime.KeepAlive(memory)
	return nil
}

// take maps memory and writes to all of its pages.
func take(size, flags int) ([]byte, error) {
	memory, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, flags|unix.MAP_ANON)
	for i := 0; i < len(memory); i += os.Getpagesize() {
		memory[i] = 1
	}
	return memory, err
}

// neighbour is no hog: it keeps some memory until its input ends.
func neighbour(args []string) {
	size, err := strconv.Atoi(args[0])
	if err != nil {
		fail(err)
	}
	memory, err := take(size, unix.MAP_PRIVATE)
	if err != nil {
		fail(err)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	runtime.KeepAlive(memory)
}

// byMany has a quarter of the memory in each of four processes.
func byMany(size int) error {
	var all errgroup.Group // a child that was killed has not got all
	for range 4 {
		child := spawn(false, "hog", "hog-memory:"+strconv.Itoa(size/4))
		all.Go(child.Wait)
	}
	return all.Wait()
}

func memoryFile(size int) error {
	fd, err := unix.MemfdCreate("hog", 0)
	if err != nil {
		return err
	}
	return fill(os.NewFile(uintptr(fd), "hog"), size)
}

func write(path string, size int, removed bool) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if removed {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return fill(f, size)
}

func fill(f *os.File, size int) error {
	chunk := make([]byte, 1<<20)
	var err error
	for i := 0; i < size>>20 && err == nil; i++ {
		_, err = f.Write(chunk)
	}
	time.Sleep(stays)
	return errors.Join(err, f.Close())
}

func smallFiles(size int) error {
	const each = 16 << 10
	for i := range size / each {
		dir := fmt.Sprint("hogs", i%64)
		err := errors.Join(os.MkdirAll(dir, 0o755),
			os.WriteFile(filepath.Join(dir, strconv.Itoa(i)), make([]byte, each), 0o600))
		if err != nil {
			return err
		}
	}
	time.Sleep(stays)
	return nil
}

// spin takes two processors until that many milliseconds of their time are used.
func spin(size int) error {
	used := func() int64 {
		var ru unix.Rusage
		_ = unix.Getrusage(unix.RUSAGE_SELF, &ru)
		return (ru.Utime.Nano() + ru.Stime.Nano()) / 1e6
	}
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for used() < int64(size) {
			}
		})
	}
	all.Wait()
	return nil
}
