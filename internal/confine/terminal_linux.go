package confine

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// openTerminal makes a pseudo-terminal and returns its master and its path.
func openTerminal() (master *os.File, path string, err error) {
	if master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		return nil, "", err
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		master.Close()
		return nil, "", err
	}
	return master, fmt.Sprintf("/dev/pts/%d", n), nil
}
