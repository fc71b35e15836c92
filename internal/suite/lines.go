package suite

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"iter"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/doc"
)

// jsonLines are the lines of a file that each have a JSON value, by their numbers.
func jsonLines(file string, data []byte) iter.Seq2[int, *doc.Document] {
	return func(yield func(int, *doc.Document) bool) {
		line := 0
		for text := range bytes.Lines(data) {
			if line++; len(bytes.TrimSpace(text)) > 0 && !yield(line, jsonLine(file, line, text)) {
				return
			}
		}
	}
}

// jsonLine parses JSON that is on a line of a file.
func jsonLine(file string, line int, text []byte) *doc.Document {
	return doc.ParseJSON(file, append(bytes.Repeat([]byte("\n"), line-1), text...))
}

// tableRow is a row of a table in CSV that has a head.
type tableRow struct {
	line  int
	head  []string // names, without the spaces around them
	cells []string
}

// rows are the rows of a table. An error is the last one.
func rows(data []byte) iter.Seq2[tableRow, error] {
	return func(yield func(tableRow, error) bool) {
		in := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\uFEFF"))))
		in.FieldsPerRecord, in.LazyQuotes = -1, true
		head, err := in.Read()
		for i, name := range head {
			head[i] = strings.TrimSpace(name)
		}
		row := tableRow{head: head}
		for err == nil {
			if row.cells, err = in.Read(); err == nil {
				if row.line, _ = in.FieldPos(0); !yield(row, nil) {
					return
				}
			}
		}
		if !errors.Is(err, io.EOF) {
			yield(tableRow{line: 1}, err)
		}
	}
}

// cells are the texts of a list in one cell, which is one line but for what is in quotes.
func cells(text string) ([]string, error) {
	in := csv.NewReader(strings.NewReader(text))
	in.LazyQuotes, in.TrimLeadingSpace = true, true
	list, err := in.Read()
	if _, more := in.Read(); err == nil && !errors.Is(more, io.EOF) {
		err = errors.New("the list has several lines: write it on one, with commas")
	}
	for i, cell := range list {
		list[i] = strings.TrimSpace(cell)
	}
	return list, err
}
