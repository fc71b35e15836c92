package supervise

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// streams are the standard streams of a child: files, and the copying to and from streams that are not files.
// [exec.Cmd] does the same for a process that it starts itself.
type streams struct {
	files  [streamFiles]*os.File // for the child
	theirs []*os.File            // those of files that we must close
	ours   []*os.File            // our ends of pipes
	copies []func() error
	errs   chan error // of each copy
}

// openStreams opens the streams that cmd describes.
func openStreams(cmd *exec.Cmd) (s *streams, err error) {
	s = &streams{}
	if s.files[0], err = s.input(cmd.Stdin); err == nil {
		s.files[1], err = s.output(cmd.Stdout)
	}
	if err == nil && cmd.Stderr != nil && same(cmd.Stdout, cmd.Stderr) {
		s.files[2] = s.files[1]
	} else if err == nil {
		s.files[2], err = s.output(cmd.Stderr)
	}
	if err != nil {
		s.handedOver()
		s.stop()
		return nil, err
	}
	return s, nil
}

// same reports whether a and b are the same writer. Writers that cannot be compared count as different.
func same(a, b io.Writer) bool {
	defer func() { _ = recover() }()
	return a == b
}

func (s *streams) input(r io.Reader) (*os.File, error) {
	switch r := r.(type) {
	case nil:
		return s.null(os.O_RDONLY)
	case *os.File:
		return r, nil
	}
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.theirs, s.ours = append(s.theirs, theirs), append(s.ours, ours)
	s.copies = append(s.copies, func() error {
		_, err := io.Copy(ours, r)
		if errors.Is(err, syscall.EPIPE) { // the child need not read it
			err = nil
		}
		return errors.Join(err, ours.Close())
	})
	return theirs, nil
}

func (s *streams) output(w io.Writer) (*os.File, error) {
	switch w := w.(type) {
	case nil:
		return s.null(os.O_WRONLY)
	case *os.File:
		return w, nil
	}
	ours, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.theirs, s.ours = append(s.theirs, theirs), append(s.ours, ours)
	s.copies = append(s.copies, func() error {
		defer ours.Close()
		_, err := io.Copy(w, ours)
		return err
	})
	return theirs, nil
}

func (s *streams) null(flag int) (*os.File, error) {
	f, err := os.OpenFile(os.DevNull, flag, 0)
	if err == nil {
		s.theirs = append(s.theirs, f)
	}
	return f, err
}

// handedOver closes the child's files, once the child has them or has failed to start.
func (s *streams) handedOver() {
	for _, f := range s.theirs {
		f.Close()
	}
}

// stop closes our ends, which ends the copying.
func (s *streams) stop() {
	for _, f := range s.ours {
		f.Close()
	}
}

// copy starts the copying.
func (s *streams) copy() {
	s.errs = make(chan error, len(s.copies))
	for _, c := range s.copies {
		go func() { s.errs <- c() }()
	}
}

// wait returns when everything has been copied. After d it stops the copying.
func (s *streams) wait(d time.Duration) error {
	timer := time.AfterFunc(d, s.stop)
	var errs []error
	for range s.copies {
		errs = append(errs, <-s.errs)
	}
	if !timer.Stop() {
		return exec.ErrWaitDelay
	}
	return errors.Join(errs...)
}
