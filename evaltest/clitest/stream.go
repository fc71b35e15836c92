package clitest

// stream keeps the beginning of what a tool prints, and drops the rest: a tool must not block because its output is not
// read.
type stream struct {
	limit   int // in bytes
	buf     []byte
	dropped int64
}

// Write implements [io.Writer]. It never fails.
func (s *stream) Write(p []byte) (int, error) {
	n := min(len(p), s.limit-len(s.buf))
	s.buf = append(s.buf, p[:n]...)
	s.dropped += int64(len(p) - n)
	return len(p), nil
}
