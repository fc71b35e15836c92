//go:build linux

// Command benchtable prints what users' commands cost, each beside something simple that is measured in the same run:
//
//	go run ./internal/testkit/benchtable                 all rows: half an hour
//	go run ./internal/testkit/benchtable report units    the rows with these names
//	go run ./internal/testkit/benchtable -list           the names, and how long each row takes
//
// It runs in the root of the repository. Its files are in a scratch directory below $TMPDIR, which it removes, also
// after Ctrl-C. With TMPDIR on tmpfs the disk is not measured.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

// row is a row of the table, which has several figures.
type row struct {
	name, what string
	takes      string // on a machine with two cores that has nothing else to do
	measure    func(*bench) error
}

var rows = []row{
	{"eval", "`make eval` in a fresh HOME, twice, and `go vet` of its packages in another", "5 minutes", eval},
	{"step", "a run step `go test ./...` in replay", "1 minute", step},
	{"report", "reports of 10,000 units, and their list", "3 minutes", reports},
	{"page", "the page of 10,000 units in Chromium", "1 minute", page},
	{"tree", "a unit on a workspace of 10,000 and of 100,000 files", "4 minutes", trees},
	{"kept", "1,000 units with workspaces of 10,000 files in a run's directory", "2 minutes", kept},
	{"memory", "a live session of 1,000,000 updates; one of 39 MB in replay, two compared", "4 minutes", memory},
	{"describe", "10,000 units by `go test`", "2 minutes", describe},
	{"units", "1,000 units in replay with a run's directory", "1 minute", units},
	{"suite", "what a suite compiles", "4 minutes", suite},
	{"list", "the list of 1,000 runs", "1 minute", list},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// run returns the exit code.
func run(ctx context.Context, args []string) int {
	flags := flag.NewFlagSet("benchtable", flag.ContinueOnError)
	names := flags.Bool("list", false, "print the names of the rows, and how long they take")
	plain := flags.String("decode", "", "decode all JSON in the files that match, and nothing else")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	switch {
	case *names:
		for _, r := range rows {
			fmt.Printf("%-9s %-10s %s\n", r.name, r.takes, r.what)
		}
		return 0
	case *plain != "":
		return said(decode(*plain))
	}
	for _, name := range flags.Args() {
		if !slices.ContainsFunc(rows, func(r row) bool { return r.name == name }) {
			return said(fmt.Errorf("no row is called %s: see benchtable -list", name))
		}
	}
	return said(table(ctx, flags.Args()))
}

func said(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchtable:", err)
		return 1
	}
	return 0
}

// table prints the rows with these names, or all. A row that fails does not keep the others from being measured.
func table(ctx context.Context, names []string) (err error) {
	b, err := newBench(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.scratch)) }()
	fmt.Printf("%-46s %-18s %-44s %s\n", "what", "measured", "beside", "wanted")
	for _, r := range rows {
		if len(names) > 0 && !slices.Contains(names, r.name) {
			continue
		}
		fmt.Printf("# %s: %s (%s)\n", r.name, r.what, r.takes)
		if e := r.measure(b); e != nil {
			if ctx.Err() != nil {
				return errors.Join(err, errors.New("interrupted"))
			}
			err = errors.Join(err, fmt.Errorf("%s: %w", r.name, e))
			fmt.Printf("%s: %s\n", r.name, strings.TrimSpace(e.Error()))
		}
	}
	return err
}

// show prints a figure. Beside and wanted may be empty.
func show(what, measured, beside, wanted string) {
	fmt.Println(strings.TrimRight(fmt.Sprintf("%-46s %-18s %-44s %s", what, measured, beside, wanted), " "))
}
