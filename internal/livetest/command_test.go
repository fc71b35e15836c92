package livetest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/cli"
)

// linked keeps the command's code in this test binary, by whose content go test's cache knows it.
var linked = cli.Main

// programs is the directory of the built command.
var programs string

func TestMain(m *testing.M) {
	var err error
	if programs, err = os.MkdirTemp("", "livetest-"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(programs)
	os.Exit(code)
}

// build builds the command, once.
var build = sync.OnceValues(func() (string, error) {
	program := filepath.Join(programs, "sdd-eval")
	out, err := exec.Command("go", "build", "-o", program, "../../cmd/sdd-eval").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return program, err
})

// buildCommand returns the path of the built command.
func buildCommand(t *testing.T) string {
	t.Helper()
	require.NotNil(t, linked)
	program, err := build()
	require.NoError(t, err)
	return program
}
