package confine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/sdd-eval/sdd-eval/internal/lockdown"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
)

// landlock confines by rules that the supervisor puts on the child.
type landlock struct{}

func (landlock) version(context.Context) (string, error) {
	abi := lockdown.ABI()
	switch {
	case runtime.GOOS != "linux":
		return "", errNotLinux
	case abi == 0:
		return "", errors.New("the kernel does not have it, or it is off")
	case abi < lockdown.MinABI:
		return "", fmt.Errorf("the kernel has ABI %d of it, and %d is needed", abi, lockdown.MinABI)
	}
	return fmt.Sprintf("ABI %d", abi), nil
}

func (landlock) confine(c *supervise.Command, v view) error {
	rules := &lockdown.Rules{Files: true, Offline: !v.network, Write: v.write, Devices: v.devices, Connect: v.connect}
	for _, path := range append(slices.Clone(v.read), "/proc", "/sys/devices/system", "/sys/fs/cgroup") {
		if err := allowRead(rules, path, v.hide); err != nil {
			return err
		}
	}
	c.Rules = rules
	return nil
}

// allowRead allows a path but for what is hidden below it: rules only add rights, so everything beside it is named. That
// there is something hidden can be listed.
func allowRead(r *lockdown.Rules, path string, hide []string) error {
	if slices.Contains(hide, path) {
		return nil
	}
	if !slices.ContainsFunc(hide, func(h string) bool { return isBelow(h, path) }) {
		r.Read = append(r.Read, path)
		return nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	r.List = append(r.List, path)
	for _, e := range entries {
		if e.Type()&os.ModeSymlink != 0 {
			continue // a rule would be for what it leads to
		}
		if err := allowRead(r, filepath.Join(path, e.Name()), hide); err != nil {
			return err
		}
	}
	return nil
}
