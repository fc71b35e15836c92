//go:build !linux || !(amd64 || arm64)

package lockdown

import "errors"

// MinABI is the first version of Landlock that is good enough.
const MinABI = 2

// ABI returns 0: there is no Landlock that we can use.
func ABI() int { return 0 }

// Thread returns an error.
func Thread(Rules) error {
	return errors.New("threads can be locked down only on Linux on amd64 and arm64")
}
