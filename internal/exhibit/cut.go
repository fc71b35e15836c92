package exhibit

import (
	"fmt"
	"slices"
	"strings"
)

// Texts are cut between words where there are any, so that no part of a name is left that would not be hidden.
const spaces = " \t\r\n"

// head returns the beginning of text in at most limit bytes, and says so if something is left out.
func head(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= limit {
		return text
	}
	kept := strings.ToValidUTF8(text[:limit], "")
	if i := strings.LastIndexAny(kept, spaces); i >= 0 {
		kept = kept[:i]
	}
	return fmt.Sprintf("%s\n[%d more bytes are not shown]", kept, len(text)-len(kept))
}

// tail returns the end of text in at most limit bytes, and whether something is left out.
func tail(text string, limit int) (string, bool) {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= limit {
		return text, false
	}
	kept := strings.ToValidUTF8(text[len(text)-limit:], "")
	if i := strings.IndexAny(kept, spaces); i >= 0 {
		kept = kept[i+1:]
	}
	return kept, true
}

// leastOfFile is how many bytes of a file's difference are shown at least, if the file is shown.
const leastOfFile = 400

// cutDiff returns a git-style diff in about limit bytes. Files share the room: small ones are whole before a large one gets
// more, so that one generated file does not crowd out all others. What is left out is said where it was.
func cutDiff(diff string, limit int) string {
	diff = strings.ToValidUTF8(diff, "\uFFFD")
	if len(diff) <= limit {
		return diff
	}
	files := splitDiff(diff)
	left := 0
	if most := max(1, limit/leastOfFile); len(files) > most {
		left = len(files) - most
		files = files[:most]
	}
	share := fairShare(files, limit)
	var b strings.Builder
	for _, file := range files {
		if len(file) <= share {
			b.WriteString(file)
			continue
		}
		kept := file[:strings.LastIndexByte(file[:share], '\n')+1]
		b.WriteString(kept)
		fmt.Fprintf(&b, "[%d more bytes of this file are not shown]\n", len(file)-len(kept))
	}
	if left > 0 {
		fmt.Fprintf(&b, "[%d more changed files are not shown]\n", left)
	}
	return b.String()
}

// splitDiff cuts a diff before each line that begins a file.
func splitDiff(diff string) []string {
	const begin = "\ndiff --git "
	var files []string
	for {
		i := strings.Index(diff, begin)
		if i < 0 {
			return append(files, diff)
		}
		files = append(files, diff[:i+1])
		diff = diff[i+1:]
	}
}

// fairShare returns the greatest size to which all texts can be cut so that they fit into limit together.
func fairShare(texts []string, limit int) int {
	sizes := make([]int, len(texts))
	for i, text := range texts {
		sizes[i] = len(text)
	}
	slices.Sort(sizes)
	for i, size := range sizes {
		share := limit / (len(sizes) - i)
		if size > share {
			return share
		}
		limit -= size
	}
	return sizes[len(sizes)-1]
}
