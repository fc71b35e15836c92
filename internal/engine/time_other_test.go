//go:build !unix

package engine_test

import "time"

// processTime is not known here.
func processTime() time.Duration { return 0 }
