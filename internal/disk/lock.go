package disk

import "errors"

// ErrLocked is the error of [Lock] for a file that is locked by another opening of it, be it another process's or ours.
var ErrLocked = errors.New("another process is using it")
