package cassette

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
)

// Difference is a line in which two cassettes differ, or that only one of them has.
type Difference struct {
	// LineA and LineB are 1-based, 0 where the cassette has no such line.
	LineA, LineB int
	A, B         string
}

func (d Difference) String() string {
	switch {
	case d.LineB == 0:
		return fmt.Sprintf("line %d is only in the first: %s", d.LineA, excerpt.Head(d.A, maxShown))
	case d.LineA == 0:
		return fmt.Sprintf("line %d is only in the second: %s", d.LineB, excerpt.Head(d.B, maxShown))
	case d.LineA == d.LineB:
		return fmt.Sprintf("line %d:\n%s", d.LineA, diff(d.A, d.B))
	}
	return fmt.Sprintf("lines %d and %d:\n%s", d.LineA, d.LineB, diff(d.A, d.B))
}

// Compare returns the lines in which the behaviour in two cassettes differs. It ignores when they were recorded, how
// long everything took, and the sandbox.
func Compare(a, b *Cassette) ([]Difference, error) { return compare(a.behaviour, b.behaviour) }

// CompareFiles is [Compare] for the cassettes at two paths. It reads them line by line, and again if they differ. Its
// errors are also those of [Read].
func CompareFiles(a, b string) ([]Difference, error) {
	behaviour := func(path string) text {
		return func(visit visitor) error {
			_, err := read(path, nothing, visit)
			return err
		}
	}
	return compare(behaviour(a), behaviour(b))
}

// A text calls visit with each line of a cassette's behaviour: all but its last two, and of the header what
// [Header.behaviour] leaves.
type text func(visit visitor) error

func compare(a, b text) ([]Difference, error) {
	x, err := lineSums(a)
	if err != nil {
		return nil, err
	}
	y, err := lineSums(b)
	if err != nil {
		return nil, err
	}
	diffs := align(x, y) // of sums, which their texts replace
	if len(diffs) == 0 {
		return nil, nil
	}
	textsA, textsB := make(map[int]*string), make(map[int]*string)
	for i := range diffs {
		d := &diffs[i]
		d.A, d.B = "", ""
		textsA[d.LineA], textsB[d.LineB] = &d.A, &d.B
	}
	if err := readTexts(a, textsA); err != nil {
		return nil, err
	}
	return diffs, readTexts(b, textsB)
}

// lineSums returns a sum of each line.
func lineSums(of text) (sums []string, err error) {
	err = of(func(line []byte) {
		sum := sha256.Sum256(line)
		sums = append(sums, string(sum[:]))
	})
	return sums, err
}

// readTexts sets texts, by the numbers of their lines.
func readTexts(of text, texts map[int]*string) error {
	number := 0
	return of(func(line []byte) {
		if number++; texts[number] != nil {
			*texts[number] = strings.TrimSuffix(string(line), "\n")
		}
	})
}

// behaviour is a [text].
func (c *Cassette) behaviour(visit visitor) error {
	shown := *c
	shown.Header = c.Header.behaviour()
	if err := eachLine(&shown, visit); err != nil {
		return fmt.Errorf("compare cassettes: %w", err)
	}
	return nil
}

// behaviour returns a header without what says nothing of the agent's behaviour.
func (h Header) behaviour() Header {
	h.RecordedAt, h.Sandbox, h.ClientVersion = time.Time{}, "", ""
	return h
}

// maxAligned is the largest table of line pairs by which lines are aligned. Cassettes that would need a larger one are
// compared line by line.
const maxAligned = 4 << 20

// align pairs the lines of two cassettes so that most are equal.
func align(x, y []string) []Difference {
	start, end := excerpt.Common(x, y)
	n, m := len(x)-start-end, len(y)-start-end
	equal := func(i, j int) bool { return x[start+i] == y[start+j] }
	var diffs []Difference
	from, to := 0, 0 // the lines before these are paired
	gap := func(i, j int) {
		for ; from < i || to < j; from, to = min(from+1, i), min(to+1, j) {
			var d Difference
			if from < i {
				d.LineA, d.A = start+from+1, x[start+from]
			}
			if to < j {
				d.LineB, d.B = start+to+1, y[start+to]
			}
			diffs = append(diffs, d)
		}
	}
	for _, pair := range longestCommon(n, m, equal) {
		gap(pair[0], pair[1])
		from, to = pair[0]+1, pair[1]+1
	}
	gap(n, m)
	return diffs
}

// longestCommon returns the pairs of a longest common subsequence of two sequences of these lengths.
func longestCommon(n, m int, equal func(i, j int) bool) [][2]int {
	if n*m > maxAligned {
		return nil
	}
	table := make([]int32, (n+1)*(m+1)) // lengths for the sequences from i and j on
	at := func(i, j int) *int32 { return &table[i*(m+1)+j] }
	for i := n - 1; i >= 0; i-- {
		for j := m - 1; j >= 0; j-- {
			if equal(i, j) {
				*at(i, j) = *at(i+1, j+1) + 1
			} else {
				*at(i, j) = max(*at(i+1, j), *at(i, j+1))
			}
		}
	}
	var pairs [][2]int
	for i, j := 0, 0; i < n && j < m; {
		switch {
		case equal(i, j):
			pairs = append(pairs, [2]int{i, j})
			i, j = i+1, j+1
		case *at(i+1, j) >= *at(i, j+1):
			i++
		default:
			j++
		}
	}
	return pairs
}

// The parts of long texts that a diff shows.
const (
	maxShown   = 100 // runes of a line
	maxContext = 30  // of these, runes before the difference
	maxLines   = 6   // lines of each side
)

// diff shows how one text became another, for people: in one line if both are short, else as lines that begin with -
// and +, without the lines that are equal. It shows an empty text as none.
func diff(was, now string) string {
	if !strings.Contains(was+now, "\n") && len(was)+len(now) < 60 {
		return fmt.Sprintf("was %s, is %s", quoted(was), quoted(now))
	}
	before, after := lines(was), lines(now)
	start, end := excerpt.Common(before, after)
	before, after = before[start:len(before)-end], after[start:len(after)-end]
	if len(before)+len(after) == 0 {
		return "only the line break at the end differs"
	}
	var b strings.Builder
	if len(before) == 1 && len(after) == 1 {
		before[0], after[0] = excerpt.Apart(before[0], after[0], maxShown, maxContext, whole)
	}
	if start > 0 {
		fmt.Fprintf(&b, "\n  line %d:", start+1)
	}
	write := func(sign string, lines []string) {
		for i, line := range lines {
			if i == maxLines && len(lines) > maxLines+1 {
				fmt.Fprintf(&b, "\n  %s ... %d more lines", sign, len(lines)-i)
				return
			}
			fmt.Fprintf(&b, "\n  %s %s", sign, excerpt.Head(line, maxShown))
		}
	}
	write("-", before)
	write("+", after)
	return strings.TrimPrefix(b.String(), "\n")
}

// lines splits a text into lines; an empty text has none.
func lines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

func quoted(s string) string {
	if s == "" {
		return "none"
	}
	return strconv.Quote(s)
}

func whole(line string) string { return line }
