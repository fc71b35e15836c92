package shell

import (
	"slices"
	"strings"
)

// program is what a program does with files.
type program struct {
	deed   Deed   // empty: nothing of interest
	files  bool   // it does so only with files that it is given, and else passes on what it is given
	search bool   // it needs them only if its input comes from another command
	first  int    // its operands before the files: a pattern, a script
	given  string // its options that replace these operands
	values string // its options that take the next word
}

// rows are the programs that are known, but for the special ones. A program that is not here does Execute.
var rows = []struct {
	names string
	program
}{
	{
		"base64 bat batcat bzcat cat cksum cmp column comm diff expand file fmt fold hexdump join less md5sum more " +
			"most nl od paste pr rev sha1sum sha256sum sha512sum stat strings tac uniq wc xxd xzcat zcat",
		program{deed: Read, files: true, values: "w"},
	},
	{"head tail", program{deed: Read, files: true, values: "nc"}},
	{"cut", program{deed: Read, files: true, values: "bcdf"}},
	{"jq", program{deed: Read, files: true, first: 1, given: "f"}},
	{
		"grep egrep fgrep zgrep ugrep rg ag ack",
		program{deed: Search, files: true, search: true, first: 1, given: "ef", values: "ABCDdefgjMmtT"},
	},
	{"ls ll dir vdir tree exa eza locate", program{deed: Search}},
	{"cp install ln link touch truncate patch apply_patch applypatch ed ex", program{deed: Edit}},
	{"rm rmdir unlink shred trash", program{deed: Delete}},
	{"mv rename", program{deed: Move}},
	{"curl wget", program{deed: Fetch}},
	{
		"alias basename break case cd chgrp chmod chown clear command continue date declare df dirname " +
			"disown done du echo esac exit export false fi for hash hostname id in jobs local mkdir popd " +
			"printenv printf pushd pwd read readlink readonly realpath return select seq set shift shopt sleep " +
			"source test tput tr trap true tty type typeset ulimit umask unalias uname unset wait whereis which " +
			"whoami yes . : [ [[ }",
		program{},
	},
}

// programs has the program of each name.
var programs = func() map[string]program {
	all := make(map[string]program)
	for _, r := range rows {
		for name := range strings.FieldsSeq(r.names) {
			all[name] = r.program
		}
	}
	return all
}()

// applies reports whether the program does what it is for in a command, whose words are its arguments.
func (p program) applies(c command) bool {
	return !p.files || c.fed || c.input || p.search && !c.piped || p.hasFile(c.words)
}

// hasFile reports whether there is a file among the arguments.
func (p program) hasFile(args []string) bool {
	operands, first := 0, p.first
	for i := 0; i < len(args); i++ {
		switch word := args[i]; {
		case word == "--":
			operands += len(args) - i - 1
			i = len(args)
		case word == "-":
		case !strings.HasPrefix(word, "-"):
			operands++
		case takesNext(word, p.values):
			i++
			fallthrough
		default:
			if !strings.HasPrefix(word, "--") && p.given != "" && strings.ContainsAny(word, p.given) {
				first = 0
			}
		}
	}
	return operands > first
}

// reads adds Read if the command has a file to read.
func (d *deeds) reads(p program, c command) {
	p.deed, p.files = Read, true
	if p.applies(c) {
		d.add(Read)
	}
}

// short reports whether one of the words before the operands has the option. At an option in stop, the rest of a word
// is that option's value.
func short(args []string, option byte, stop string) bool {
	for _, word := range args {
		if len(word) < 2 || word[0] != '-' || word[1] == '-' {
			continue
		}
		for i := 1; i < len(word); i++ {
			if word[i] == option {
				return true
			}
			if strings.IndexByte(stop, word[i]) >= 0 {
				break
			}
		}
	}
	return false
}

func (d *deeds) sed(c command, _ int) {
	isInPlace := func(word string) bool { return strings.HasPrefix(word, "--in-place") }
	if short(c.words, 'i', "efl") || slices.ContainsFunc(c.words, isInPlace) {
		d.add(Edit)
		return
	}
	d.reads(program{first: 1, given: "ef", values: "efl"}, c)
}

// yq edits with -i.
func (d *deeds) yq(c command, _ int) {
	if short(c.words, 'i', "po") || slices.Contains(c.words, "--inplace") {
		d.add(Edit)
		return
	}
	d.reads(program{first: 1, values: "po"}, c)
}

func (d *deeds) awk(c command, _ int) {
	if i := slices.Index(c.words, "inplace"); i > 0 && c.words[i-1] == "-i" {
		d.add(Edit)
		return
	}
	d.reads(program{first: 1, given: "f", values: "fFv"}, c)
}

// perl edits with -i, and reads with -n and -p. Else nobody knows what the script does.
func (d *deeds) perl(c command, _ int) {
	const stop = "CDEeImMrxV"
	switch {
	case short(c.words, 'i', stop):
		d.add(Edit)
	case short(c.words, 'n', stop), short(c.words, 'p', stop):
		d.reads(program{first: 1, given: "eE", values: "eEI"}, c)
	default:
		d.add(Execute)
	}
}

func (d *deeds) sort(c command, _ int) {
	d.reads(program{values: "kotST"}, c)
	if short(c.words, 'o', "ktST") {
		d.add(Edit)
	}
}

func (d *deeds) tee(c command, _ int) {
	isFile := func(w string) bool { return !strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "/dev/") }
	if slices.ContainsFunc(c.words, isFile) {
		d.add(Edit)
	}
}

func (d *deeds) dd(c command, _ int) {
	for _, word := range c.words {
		switch name, file, _ := strings.Cut(word, "="); {
		case strings.HasPrefix(file, "/dev/"):
		case name == "if":
			d.add(Read)
		case name == "of":
			d.add(Edit)
		}
	}
}
