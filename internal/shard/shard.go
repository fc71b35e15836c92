// Package shard divides the units of a plan among several machines, each of which knows only which shard it is, of how
// many: all of them come to the same division.
package shard

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/fault"
)

// Variable is the environment variable that says which shard a process is: "i/n", or [Auto].
const Variable = "EVALTEST_SHARD"

// Auto is said in the place of i/n where a CI system or a scheduler is to say it.
const Auto = "auto"

// Most is the largest number of shards.
const Most = 100_000

// Shard is one of several shards. The zero value is no shard: the whole plan is one's own.
type Shard struct {
	Index, Of int // Index counts from 1
	// From says where that was found, such as "--shard" or "GitLab's CI_NODE_INDEX and CI_NODE_TOTAL".
	From string
}

// String returns "shard 2 of 3".
func (s Shard) String() string { return fmt.Sprintf("shard %d of %d", s.Index, s.Of) }

// Parse reads "i/n", with i from 1 to n.
func Parse(text string) (Shard, error) {
	index, of, _ := strings.Cut(text, "/")
	var s Shard
	var err error
	if s.Index, err = number(index); err == nil {
		s.Of, err = number(of)
	}
	switch {
	case err != nil:
		return Shard{}, fmt.Errorf("%.60q is no shard: use i/n, such as 1/3 for the first of three, or %s", text, Auto)
	case s.Of < 1 || s.Of > Most:
		return Shard{}, fmt.Errorf("%.60q: there are 1 to %d shards", text, Most)
	case s.Index < 1 || s.Index > s.Of:
		return Shard{}, fmt.Errorf("%.60q: shards count from 1 to their number, %d", text, s.Of)
	}
	return s, nil
}

// number reads a number without signs and spaces, as schedulers write them.
func number(text string) (int, error) {
	if text == "" || strings.Trim(text, "0123456789") != "" || len(text) > 9 {
		return 0, fmt.Errorf("%.60q is no number", text)
	}
	return strconv.Atoi(text)
}

// Words say which shard a process is.
type Words struct {
	// Flag is what the user said on the command line; empty: nothing.
	Flag string
	// Getenv reads the environment.
	Getenv func(string) string
	// Tests says that the process runs tests written in Go, which a runner may have divided already.
	Tests bool
}

// Find returns which shard the words make the process, the zero value if they do not. What a CI system sets counts only
// with [Auto], since some set it for jobs that are to run everything; but Bazel, which sets it for sharded tests alone,
// is believed and told that the test is divided. A note says what a person should know.
func Find(w Words) (s Shard, note string, err error) {
	text, from := w.Flag, "--shard"
	if text == "" {
		text, from = w.Getenv(Variable), Variable
	}
	bazel, err := bazels.read(w.Getenv)
	if err != nil {
		return Shard{}, "", err
	}
	switch {
	case text == "" && bazel == (Shard{}), text == "" && bazel.Of == 1:
		return Shard{}, "", nil
	case text == "":
		s, from = bazel, bazels.String()
	case text == Auto:
		if s, err = detect(w.Getenv); err == nil {
			from = s.From
		}
	default:
		s, err = Parse(text)
	}
	if err != nil {
		return Shard{}, "", fmt.Errorf("%s: %w", from, err)
	}
	s.From = from
	if bazel.Of <= 1 {
		return s, "", nil
	}
	if s.Index != bazel.Index || s.Of != bazel.Of {
		return Shard{}, "", fmt.Errorf("%s says %s and %s says %s: let one of them speak", from, s, bazels, bazel)
	}
	divided, err := acknowledge(w.Getenv(statusVariable))
	switch {
	case err != nil:
		return Shard{}, "", fmt.Errorf("%s: %w", statusVariable, err)
	case divided && w.Tests && text == "":
		return Shard{}, "this test's runner has divided the tests of " + bazel.String() + " already: each that is " +
			"run here runs all of its units", nil
	case divided:
		return Shard{}, "", fault.Advise(
			fmt.Errorf("%s: somebody else has touched the file already, and so divides this test: "+
				"units of a part would be lost", statusVariable),
			"take shard_count out of the target, or the other that divides it")
	}
	return s, "", nil
}

// scheme is how a CI system or a scheduler says which of several jobs one is.
type scheme struct {
	name         string
	index, total string // names of variables
	base         int    // of the index
	// alone says that the total is set in jobs, too, that are not one of several.
	alone bool
	// from returns the index from 1 and the number of jobs, of the variables' values; nil: the index less base, plus 1.
	from func(index, total int, getenv func(string) string) (int, int, error)
	// needs says how the total gets there, if not by itself.
	needs string
}

func (c scheme) String() string { return fmt.Sprintf("%s's %s and %s", c.name, c.index, c.total) }

// schemes are those that [Auto] looks for.
var schemes = []scheme{
	{name: "GitLab", index: "CI_NODE_INDEX", total: "CI_NODE_TOTAL", base: 1, alone: true},
	{name: "CircleCI", index: "CIRCLE_NODE_INDEX", total: "CIRCLE_NODE_TOTAL"},
	{name: "Buildkite", index: "BUILDKITE_PARALLEL_JOB", total: "BUILDKITE_PARALLEL_JOB_COUNT"},
	{
		name: "Kubernetes", index: "JOB_COMPLETION_INDEX", total: "JOB_COMPLETIONS",
		needs: "Kubernetes does not tell a pod its job's completions: " +
			"set JOB_COMPLETIONS to them under env in its template",
	},
	{name: "Slurm", index: "SLURM_ARRAY_TASK_ID", total: "SLURM_ARRAY_TASK_COUNT", from: slurm},
	{name: "AWS Batch", index: "AWS_BATCH_JOB_ARRAY_INDEX", total: "AWS_BATCH_JOB_ARRAY_SIZE"},
	bazels,
}

var bazels = scheme{name: "Bazel", index: "TEST_SHARD_INDEX", total: "TEST_TOTAL_SHARDS"}

// slurm numbers the tasks of an array, whose indices may begin anywhere and have gaps of one size.
func slurm(index, total int, getenv func(string) string) (int, int, error) {
	read := func(name string, otherwise int) (n int) {
		n, err := number(getenv(name))
		if err != nil {
			return otherwise
		}
		return n
	}
	first, step := read("SLURM_ARRAY_TASK_MIN", -1), read("SLURM_ARRAY_TASK_STEP", 1)
	last := read("SLURM_ARRAY_TASK_MAX", -1)
	if first < 0 || step < 1 || last != first+(total-1)*step || index < first || (index-first)%step != 0 {
		return 0, 0, errors.New("the tasks of the array are not a range: use --array=1-N, or say --shard i/n")
	}
	return (index-first)/step + 1, total, nil
}

// read returns which job one is by the scheme, the zero value if it is not set.
func (c scheme) read(getenv func(string) string) (Shard, error) {
	index, total := getenv(c.index), getenv(c.total)
	switch {
	case index == "" && (total == "" || c.alone):
		return Shard{}, nil
	case total == "" && c.needs != "":
		return Shard{}, fmt.Errorf("%s is set and %s is not: %s", c.index, c.total, c.needs)
	case total == "":
		return Shard{}, fmt.Errorf("%s is set and %s is not: nobody knows how many jobs there are", c.index, c.total)
	case index == "":
		return Shard{}, fmt.Errorf("%s is set and %s is not: nobody knows which of the jobs this is", c.total, c.index)
	}
	i, err := number(index)
	if err != nil {
		return Shard{}, fmt.Errorf("%s: %w", c.index, err)
	}
	n, err := number(total)
	if err != nil {
		return Shard{}, fmt.Errorf("%s: %w", c.total, err)
	}
	if c.from != nil {
		i, n, err = c.from(i, n, getenv)
	} else {
		i += 1 - c.base
	}
	if err == nil && (n < 1 || n > Most || i < 1 || i > n) {
		err = fmt.Errorf("%s is %s and %s is %s: want a number from %d and how many there are", c.index, index, c.total,
			total, c.base)
	}
	if err != nil {
		return Shard{}, fmt.Errorf("%s: %w", c.name, err)
	}
	return Shard{Index: i, Of: n, From: c.String()}, nil
}

// detect returns what the environment says, whoever has set it.
func detect(getenv func(string) string) (Shard, error) {
	var found Shard
	for _, c := range schemes {
		s, err := c.read(getenv)
		switch {
		case err != nil:
			return Shard{}, err
		case s == Shard{}:
		case found != Shard{} && (found.Index != s.Index || found.Of != s.Of):
			return Shard{}, fmt.Errorf("%s say %s and %s say %s: say which with i/n", found.From, found, s.From, s)
		case found == Shard{}:
			found = s
		}
	}
	if found == (Shard{}) {
		var names []string
		for _, c := range schemes {
			names = append(names, c.index)
		}
		return Shard{}, fmt.Errorf("%s: nothing says which shard this is: none of %s is set; say it with i/n", Auto,
			strings.Join(names, ", "))
	}
	return found, nil
}

// statusVariable names the file that a test touches to tell Bazel that it divides itself.
const statusVariable = "TEST_SHARD_STATUS_FILE"

// ours is what we write into that file: another process of the same test knows by it that we divide it.
const ours = "sdd-eval\n"

// acknowledge makes the file, or reports that somebody else has. Without a path nobody wants to be told.
func acknowledge(path string) (divided bool, err error) {
	if path == "" {
		return false, nil
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err == nil {
		_, err = file.WriteString(ours)
		return false, errors.Join(err, file.Close())
	}
	if !errors.Is(err, fs.ErrExist) {
		return false, err
	}
	text, err := disk.ReadRegular(path, int64(len(ours)))
	if _, large := errors.AsType[*disk.SizeError](err); large {
		return true, nil
	}
	return string(text) != ours, err
}

// share returns a part of a whole as a number from 0 to 1.
func share(part, whole float64) float64 {
	if !(whole > 0) || math.IsInf(whole, 0) {
		return 0
	}
	return part / whole
}
