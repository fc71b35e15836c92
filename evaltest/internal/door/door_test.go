package door_test

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/internal/door"
	"github.com/sdd-eval/sdd-eval/internal/testkit/commandtest"
)

// printer keeps what a test prints.
type printer struct {
	testing.TB
	out      strings.Builder
	cleanups []func()
}

func (*printer) Helper() {}

func (p *printer) Cleanup(f func()) { p.cleanups = append(p.cleanups, f) }

// end is the end of the test.
func (p *printer) end() {
	for _, f := range slices.Backward(p.cleanups) {
		f()
	}
}

func (p *printer) Attr(key, value string)       { fmt.Fprintln(&p.out, key, value) }
func (p *printer) Output() io.Writer            { return &p.out }
func (p *printer) Log(args ...any)              { fmt.Fprintln(&p.out, args...) }
func (p *printer) Error(args ...any)            { fmt.Fprintln(&p.out, args...) }
func (p *printer) Fatal(args ...any)            { fmt.Fprintln(&p.out, args...) }
func (p *printer) Skip(args ...any)             { fmt.Fprintln(&p.out, args...) }
func (p *printer) Logf(f string, args ...any)   { fmt.Fprintf(&p.out, f+"\n", args...) }
func (p *printer) Errorf(f string, args ...any) { fmt.Fprintf(&p.out, f+"\n", args...) }
func (p *printer) Fatalf(f string, args ...any) { fmt.Fprintf(&p.out, f+"\n", args...) }
func (p *printer) Skipf(f string, args ...any)  { fmt.Fprintf(&p.out, f+"\n", args...) }

// FuzzDoor prints a text in every way that there is.
func FuzzDoor(f *testing.F) {
	for _, text := range commandtest.Texts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p := &printer{TB: t}
		d := door.Of(p)
		for _, print := range []func(...any){d.Log, d.Error, d.Fatal, d.Skip} {
			print(text)
		}
		for _, print := range []func(string, ...any){d.Logf, d.Errorf, d.Fatalf, d.Skipf} {
			print("%s", text)
		}
		d.Attr("key", text)
		fmt.Fprintln(d.Output(), text)
		fmt.Fprintln(&p.out, door.Name(text))
		p.end()
		require.Empty(t, commandtest.Find(p.out.String()))
	})
}

func TestDoor(t *testing.T) {
	p := &printer{TB: t}
	door.Of(p).Attr("key", "a\nb")
	door.Of(p).Log("one", 2, "\n\tthree\n")
	p.end()
	require.Equal(t, "one 2 \n\tthree\n\nkey a\\nb\n", p.out.String())
}
