package mutatedata

import (
	"bytes"
	"compress/gzip"
	"slices"
)

// mutateLines changes which lines there are, at one of them.
func (f *file) mutateLines(i int) {
	line, key := f.lines[i], label(f.trees[i])
	add := func(kind string, n int, with ...[]byte) {
		f.add(Mutant{Kind: kind, Key: key, Line: i + 1, Now: string(line)}, true,
			func() [][]byte { return replaced(f.lines, i, n, with...) })
	}
	add(LineDropped, 1)
	add(LineDoubled, 1, line, line)
	for _, at := range []int{1, len(line) / 2, len(line) - 2} {
		add(LineCut, 1, append(slices.Clone(line[:at]), '\n'))
		f.file(FileCut, i+1, slices.Concat(bytes.Join(f.lines[:i], nil), line[:at]))
	}
	f.file(FileCut, i+1, bytes.Join(f.lines[:i], nil))
	f.file(FileCut, i+1, bytes.Join(f.lines[i:], nil))
	for _, other := range []string{"\n", "{}\n", "null\n", "[]\n", "x\n", `{"event":"none"}` + "\n"} {
		add(LineAdded, 0, []byte(other))
	}
	if i+1 < len(f.lines) {
		add(LinesSwap, 2, f.lines[i+1], line)
		add(LinesJoined, 1, bytes.TrimSuffix(line, []byte("\n")))
	}
}

// file adds a mutant of a file with these bytes.
func (f *file) file(kind string, line int, data []byte) {
	f.mutants = append(f.mutants, Mutant{Kind: kind, Line: line, data: func() []byte { return data }})
}

// mutateFile changes the file as a whole.
func (f *file) mutateFile(data []byte) {
	f.file(FileTwice, 0, slices.Concat(data, data))
	for _, other := range [][]byte{
		bytes.TrimSuffix(data, []byte("\n")), append(slices.Clone(data), '\n'), append([]byte("\ufeff"), data...),
		bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n")), append([]byte("\n"), data...),
		append(slices.Clone(data), 0), append(slices.Clone(data), "{}\n"...),
		bytes.ReplaceAll(data, []byte(":"), []byte(": ")),
		bytes.Repeat([]byte{0}, len(data)), bytes.ToUpper(data),
	} {
		f.file(FileBytes, 0, other)
	}
	zipped := zip(data)
	f.file(FileBytes, 0, zipped) // with the name of a plain one
	zips := func(kind string, data []byte) {
		f.mutants = append(f.mutants, Mutant{Kind: kind, Gzip: true, data: func() []byte { return data }})
	}
	zips(FileZipped, zipped)
	flipped := slices.Clone(zipped)
	flipped[len(flipped)-6] ^= 1 // of the checksum
	for _, other := range [][]byte{
		data, zipped[:len(zipped)/2], zipped[:len(zipped)-1], append(slices.Clone(zipped), 0), flipped,
		slices.Concat(zipped, zipped), zip(zipped), zip(data[:len(data)/2]), zip(nil),
	} {
		zips(FileZipBad, other)
	}
}

func zip(data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(data) // a buffer never fails
	_ = w.Close()
	return b.Bytes()
}
