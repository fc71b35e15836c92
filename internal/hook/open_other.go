//go:build !unix

package hook

const nonblock = 0
