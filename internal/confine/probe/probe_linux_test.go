package probe

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"
)

func TestRetry(t *testing.T) {
	tests := []struct {
		name  string
		calls []error
		want  error
	}{
		{"at-once", []error{nil}, nil},
		{"interrupted", []error{unix.EINTR, unix.EINTR, nil}, nil},
		{"connected-meanwhile", []error{unix.EINTR, unix.EISCONN}, nil},
		{"refused", []error{unix.EINTR, unix.ECONNREFUSED}, unix.ECONNREFUSED},
		{"timeout", []error{unix.EINPROGRESS}, unix.EINPROGRESS},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			left := slices.Clone(tt.calls)
			err := retry(func() error {
				err := left[0]
				left = left[1:]
				return err
			})
			assert.Equal(t, tt.want, err)
			assert.Empty(t, left)
		})
	}
}
