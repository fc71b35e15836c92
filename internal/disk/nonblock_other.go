//go:build !unix

package disk

// Nonblock is the flag that keeps an open from waiting for the other end of a FIFO, where there are any.
const Nonblock = 0
