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
	require.Equal(t, "out of ink", caught.Value)
	require.Contains(t, err.Error(), "panic: out of ink\n\n")
	require.Contains(t, err.Error(), "panics_test.breakDown", "the stack tells where it was")
}

func breakDown() error { panic("out of ink") }
