//go:build !unix

package disk

// Nonblock is the flag that keeps open from waiting for the other end of a FIFO. Here there are none.
const Nonblock = 0
