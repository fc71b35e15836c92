//go:build !unix

package style

const nonblock = 0
