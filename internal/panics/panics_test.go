package panics_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/panics"
)

func TestCatch(t *testing.T) {
	fault := errors.New("fault")
	require.NoError(t, panics.Catch(func() error { return nil }))
	require.Equal(t, fault, panics.Catch(func() error { return fault }))

	err := panics.Catch(breakDown)
	caught, ok := errors.AsType[*panics.Error](err)
	require.True(t, ok)
	require.Equal(t, "assignment to entry in nil map", caught.Value.(error).Error())
	require.Contains(t, err.Error(), "panic: assignment to entry in nil map\n\n")
	require.Contains(t, err.Error(), "panics_test.breakDown", "the stack tells where it was")
}

func breakDown() error {
	var m map[string]int
	m["x"]++
	return nil
}
