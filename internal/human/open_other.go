//go:build !unix

package human

const nonblock = 0
