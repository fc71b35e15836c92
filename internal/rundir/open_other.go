//go:build !unix

package rundir

const nonblock = 0
