package hostile_test

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/helper"
)

// ordinary is the user that the tests are run as, too, if we are root.
const ordinary = 1000

func TestMain(m *testing.M) {
	if from := os.Getenv(copyVariable); from != "" {
		serveCache(from, os.Getenv(buildCacheVariable))
		return
	}
	os.Exit(m.Run())
}

// TestAsUser runs the tests of this package as an ordinary user, if we are root.
func TestAsUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("we are one, so all tests have run as one")
	}
	t.Parallel()
	base, err := os.MkdirTemp("", "hostile-user")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(base)) })
	in := func(name string) string { return filepath.Join(base, name) }
	exe, err := os.Executable()
	require.NoError(t, err)
	binary, err := os.ReadFile(exe)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(in("hostile.test"), binary, 0o755))
	h, err := helper.Find()
	require.NoError(t, err)
	binary, err = os.ReadFile(h.Path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(in("sdd-eval-helper"), binary, 0o755))
	require.NoError(t, os.CopyFS(in("testdata"), os.DirFS("testdata")))
	for _, dir := range []string{"home", "tmp", "cache"} {
		require.NoError(t, os.Mkdir(in(dir), 0o755))
	}
	copyCache(t, in("hostile.test"), in("cache"))
	require.NoError(t, filepath.WalkDir(base, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, ordinary, ordinary)
	}))
	cmd := exec.CommandContext(t.Context(), in("hostile.test"), "-test.v", "-test.timeout=10m",
		"-test.skip=^(TestAsUser|TestSoakFlood)$")
	cmd.Dir = base
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + in("home"), "TMPDIR=" + in("tmp"), "CI=" + os.Getenv("CI"),
		buildCacheVariable + "=" + in("cache"),
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinary, Gid: ordinary}}
	out, err := cmd.CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if err != nil || testing.Verbose() || strings.Contains(line, "SKIP:") {
			fmt.Fprint(t.Output(), "uid 1000: ", line)
		}
	}
	require.NoError(t, err)
}

// copyVariable makes the test binary a cache for the go command, one that copies what it is asked for out of the user's
// cache, where it is named, to the directory in buildCacheVariable.
const copyVariable = "HOSTILE_TEST_COPY_FROM"

// copyCache copies what building the module takes from our build cache to another, for a user who may not read ours.
func copyCache(t *testing.T, exe, to string) {
	t.Helper()
	g := newGoCaches(t)
	env := append(g.env(), "GOCACHEPROG="+exe, copyVariable+"="+g.build, buildCacheVariable+"="+to)
	warm := filepath.Join(t.TempDir(), "warm")
	goOutput(t, g.module, env, "test", "-vet=off", "-c", "-o", warm, ".")
	goOutput(t, g.module, env, "build", "-o", warm, "./steal")
}

// serveCache is the cache for the go command: the protocol of GOCACHEPROG on standard input and output.
func serveCache(from, to string) {
	type answer struct {
		ID            int64
		KnownCommands []string   `json:",omitempty"`
		Miss          bool       `json:",omitempty"`
		OutputID      []byte     `json:",omitempty"`
		Size          int64      `json:",omitempty"`
		Time          *time.Time `json:",omitempty"`
		DiskPath      string     `json:",omitempty"`
	}
	out := json.NewEncoder(os.Stdout)
	_ = out.Encode(answer{KnownCommands: []string{"get"}})
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var request struct {
			ID       int64
			ActionID []byte
		}
		if json.Unmarshal(lines.Bytes(), &request) != nil {
			continue // an empty line is between requests
		}
		entry, err := copyEntry(from, to, hex.EncodeToString(request.ActionID), "-a")
		// Version, action, output, size and time.
		fields := bytes.Fields(entry)
		if err != nil || len(fields) != 5 {
			_ = out.Encode(answer{ID: request.ID, Miss: true})
			continue
		}
		output := string(fields[2])
		data, err := copyEntry(from, to, output, "-d")
		id, _ := hex.DecodeString(output)
		now := time.Now()
		_ = out.Encode(answer{
			ID: request.ID, Miss: err != nil, OutputID: id, Size: int64(len(data)), Time: &now,
			DiskPath: filepath.Join(to, output[:2], output+"-d"),
		})
	}
}

// copyEntry copies a file of a build cache to another and returns what is in it.
func copyEntry(from, to, name, suffix string) ([]byte, error) {
	path := filepath.Join(name[:2], name+suffix)
	data, err := os.ReadFile(filepath.Join(from, path))
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(to, name[:2]), 0o755); err != nil {
		return nil, err
	}
	return data, os.WriteFile(filepath.Join(to, path), data, 0o644)
}
