package hostile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// leave leaves a text in the working directory, where whoever looks for it may not find it, may not read it, or may
// take days; and a file that others would run with our rights, if that is permitted.
func leave(args []string) {
	text := args[0]
	deep(strings.Repeat("n", 100), 400, text) // the path is longer than a system takes
	deep("d", 600, text)
	if err := os.Mkdir("closed", 0o755); err != nil {
		fail(err)
	}
	for _, path := range []string{"unreadable", filepath.Join("closed", "key"), "tool"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			fail(err)
		}
	}
	writeSparse("sparse", []byte(text))
	for _, path := range []string{"unreadable", "closed"} {
		if err := os.Chmod(path, 0); err != nil {
			fail(err)
		}
	}
	if err := unix.Chmod("tool", unix.S_ISUID|unix.S_ISGID|0o755); err != nil {
		fmt.Println(err)
	}
}

// writeSparse writes a file of 12 GiB that is a hole but for a text in the middle.
func writeSparse(name string, text []byte) {
	f, err := os.Create(name)
	if err == nil {
		_, err = f.WriteAt(text, 6<<30)
	}
	if err == nil {
		err = f.Truncate(12 << 30)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		fail(err)
	}
}

func vast(args []string) {
	writeSparse(args[0], make([]byte, 64<<20))
	for i := range 1500 {
		if err := os.Link(args[0], fmt.Sprint(args[0], i)); err != nil {
			fail(err)
		}
	}
}

// deep makes directories within each other, and a file with a text in the last one.
func deep(name string, levels int, text string) {
	at, err := unix.Open(".", unix.O_PATH|unix.O_DIRECTORY, 0)
	for range levels {
		if err == nil {
			err = unix.Mkdirat(at, name, 0o755)
		}
		if err != nil {
			break
		}
		above := at
		at, err = unix.Openat(above, name, unix.O_PATH|unix.O_DIRECTORY, 0)
		_ = unix.Close(above)
	}
	if err == nil {
		var file int
		if file, err = unix.Openat(at, "key", unix.O_CREAT|unix.O_WRONLY, 0o644); err == nil {
			_, err = unix.Write(file, []byte(text))
		}
	}
	if err != nil {
		fail(err)
	}
}
