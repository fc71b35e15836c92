// Package shell reads the command lines that agents give to a shell, and says what their commands do with files: read,
// search, edit, delete, move. It runs nothing, and it looks at words only: neither variables nor globs are expanded,
// and what a program does by itself, such as a script in Python, is not known.
package shell

import (
	"path"
	"slices"
	"strings"
)

// Deed is what a command does, in the words of the Agent Client Protocol's kinds of tools.
type Deed string

// The deeds. Execute is that of every program that the others do not cover.
const (
	Read    Deed = "read"
	Search  Deed = "search"
	Edit    Deed = "edit"
	Delete  Deed = "delete"
	Move    Deed = "move"
	Fetch   Deed = "fetch"
	Execute Deed = "execute"
)

// Deeds returns all deeds.
func Deeds() []Deed { return []Deed{Read, Search, Edit, Delete, Move, Fetch, Execute} }

// Limits of what is read.
const (
	// maxLine is the longest script that is read, in bytes. Commands that write files hold what they write.
	maxLine = 1 << 20
	// maxDepth is how deep commands are looked for in others: bash -c "sh -c 'rm a'", $(cat $(ls)).
	maxDepth = 16
	// maxDeeds is how many deeds are listed; after them, a deed is listed only if none of those is the same.
	maxDeeds = 64
)

// Line returns what the commands of a line do, in the order in which they stand there. A line may be a whole script.
//
// Commands that do nothing of interest, such as cd and echo, are left out; if the line has no others, it does Execute,
// and so does a line that cannot be read because a quote or a parenthesis is open. The result is never empty.
func Line(line string) []Deed {
	var d deeds
	d.script(line, 0)
	return d.all()
}

// Join returns the line of a command that is given as a program and its arguments: without the shell around it, if it
// is one that is given a line.
func Join(words []string) string {
	if len(words) == 3 && strings.HasSuffix(path.Base(words[0]), "sh") && (words[1] == "-c" || words[1] == "-lc") {
		return words[2]
	}
	return strings.Join(words, " ")
}

// Words returns what a command does that is given as a program and its arguments.
func Words(words []string) []Deed {
	var d deeds
	d.simple(command{words: words}, 0)
	return d.all()
}

// deeds are what was found so far.
type deeds struct{ found []Deed }

func (d *deeds) add(deed Deed) {
	if len(d.found) < maxDeeds || !slices.Contains(d.found, deed) {
		d.found = append(d.found, deed)
	}
}

func (d *deeds) all() []Deed {
	if len(d.found) == 0 {
		return []Deed{Execute}
	}
	return d.found
}

// script adds what the commands of a script do.
func (d *deeds) script(text string, depth int) {
	p := parser{text: text, depth: depth}
	if len(text) > maxLine || depth > maxDepth || !p.parse(0) {
		d.add(Execute)
		return
	}
	for _, c := range p.found {
		d.simple(c, depth)
	}
}

// simple adds what a simple command does.
func (d *deeds) simple(c command, depth int) {
	d.run(c, depth)
	if c.output {
		d.add(Edit)
	}
}
