package reexec_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/reexec"
)

func init() {
	tell := func(args []string) int {
		fmt.Print(strings.Join(args, "+"))
		return 40 + len(args)
	}
	reexec.Register("test-two", 2, tell)
	reexec.Register("test-any", reexec.Any, tell)
}

// host is what the test binary is when it is no program.
const host = "the test binary"

func TestMain(m *testing.M) {
	if os.Getenv("REEXEC_TEST") != "" {
		fmt.Print(host)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestRegister(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	tests := []struct {
		args string
		code int
		out  string
	}{
		{"", 0, host},
		{"other a b", 0, host},
		{"other test-two a b", 0, host},
		{"test-two a", 0, host},
		{"test-two a b", 42, "a+b"},
		{"test-two a b c", 0, host},
		{"test-any", 40, ""},
		{"test-any a b c", 43, "a+b+c"},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			c := exec.Command(self, strings.Fields(tt.args)...)
			c.Env = append(os.Environ(), "REEXEC_TEST=1")
			out, _ := c.Output()
			require.Equal(t, tt.code, c.ProcessState.ExitCode())
			require.Equal(t, tt.out, string(out))
		})
	}
}
