package shell

import (
	"path"
	"slices"
	"strings"
)

// reserved are the words before a command in a compound one.
var reserved = words("if then elif else while until do ! { coproc")

// words returns the set of these words.
func words(text string) map[string]bool {
	set := make(map[string]bool)
	for w := range strings.FieldsSeq(text) {
		set[w] = true
	}
	return set
}

// isPrefix reports whether a command's word stands before its program: a=1, or a reserved word.
func isPrefix(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	if !ok {
		return reserved[word]
	}
	name = strings.TrimSuffix(name, "+")
	return name != "" && !strings.ContainsFunc(name, func(c rune) bool {
		return c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9')
	})
}

// wrapper is a program that runs the command after its own options.
type wrapper struct {
	values string // its options that take the next word, as letters
	long   string // and as words
	first  int    // its operands before the command
}

var wrappers = map[string]wrapper{
	"builtin": {}, "busybox": {}, "chronic": {}, "command": {}, "exec": {values: "a"}, "nohup": {}, "setsid": {},
	"caffeinate": {values: "tw"},
	"doas":       {values: "Cu"},
	"env":        {values: "Cu", long: "--chdir --unset --argv0"}, // for -S see split
	"function":   {first: 1},                                      // a function's definition: its name, then {
	"gtimeout":   {values: "ks", long: "--kill-after --signal", first: 1},
	"ionice":     {values: "cn", long: "--class --classdata"},
	"nice":       {values: "n", long: "--adjustment"},
	"stdbuf":     {values: "eio", long: "--error --input --output"},
	"sudo": {
		values: "CDgpRrTtUu", long: "--chdir --chroot --close-from --command-timeout --group --host --other-user " +
			"--prompt --role --type --user",
	},
	"time":    {values: "fo", long: "--format --output"},
	"timeout": {values: "ks", long: "--kill-after --signal", first: 1},
	"xargs": {
		values: "adEILnPs",
		long:   "--arg-file --delimiter --max-args --max-chars --max-procs --process-slot-var",
	},
}

// after returns the command that the wrapper runs with these arguments.
func (w wrapper) after(args []string) []string {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		if args[0] == "--" {
			args = args[1:]
			break
		}
		if takesNext(args[0], w.values) || w.takesNextLong(args[0]) {
			args = args[1:]
		}
		args = args[min(1, len(args)):]
	}
	return args[min(w.first, len(args)):]
}

// takesNextLong reports whether a word is a long option whose value is the next word. Programs take its beginning for
// the whole: --sig for --signal.
func (w wrapper) takesNextLong(word string) bool {
	if len(word) < 3 || word[:2] != "--" {
		return false
	}
	for option := range strings.FieldsSeq(w.long) {
		if strings.HasPrefix(option, word) {
			return true
		}
	}
	return false
}

// split returns the arguments of env with those that -S has in one word.
func split(args []string) []string {
	for i, word := range args {
		switch {
		case !strings.HasPrefix(word, "-"), word == "--":
			return args
		case (word == "-S" || word == "--split-string") && i+1 < len(args):
			return slices.Concat(strings.Fields(args[i+1]), args[i+2:])
		case strings.HasPrefix(word, "--split-string="):
			return slices.Concat(strings.Fields(word[len("--split-string="):]), args[i+1:])
		case strings.HasPrefix(word, "-S"):
			return slices.Concat(strings.Fields(word[len("-S"):]), args[i+1:])
		}
	}
	return args
}

// takesNext reports whether a word has an option whose value is the next word. The options with values are single
// letters; -n1 has its value.
func takesNext(word, values string) bool {
	if strings.HasPrefix(word, "--") || len(word) < 2 {
		return false
	}
	i := strings.IndexAny(word[1:], values)
	return i >= 0 && i == len(word)-2
}

// run adds what the program of a command does.
func (d *deeds) run(c command, depth int) {
	if depth > maxDepth {
		d.add(Execute)
		return
	}
	name, env := "", false
	for {
		for len(c.words) > 0 && isPrefix(c.words[0]) {
			c.words = c.words[1:]
		}
		if len(c.words) == 0 {
			return
		}
		name = strings.TrimSuffix(path.Base(strings.ReplaceAll(c.words[0], `\`, "/")), ".exe")
		w, ok := wrappers[name]
		if !ok || name == "command" && len(c.words) > 1 && strings.HasPrefix(strings.ToLower(c.words[1]), "-v") {
			break // "command -v go" only asks where it is
		}
		c.fed = c.fed || name == "xargs"
		args := c.words[1:]
		if name == "env" && !env {
			env, args = true, split(args) // once: it copies the words
		}
		c.words = w.after(args)
	}
	c.words = c.words[1:]
	if add := special(name); add != nil {
		add(d, c, depth)
		return
	}
	p, ok := programs[name]
	switch {
	case !ok:
		d.add(Execute)
	case p.deed != "" && p.applies(c):
		d.add(p.deed)
	case c.input:
		d.add(Read) // while read line; do ...; done < a.txt
	}
}

// special returns what adds the deeds of a program that does different things, nil if it is not one.
func special(name string) func(d *deeds, c command, depth int) {
	switch name {
	case "awk", "gawk", "mawk", "nawk":
		return (*deeds).awk
	case "bash", "dash", "ksh", "sh", "zsh":
		return (*deeds).shell
	case "dd":
		return (*deeds).dd
	case "eval":
		return (*deeds).eval
	case "fd", "fdfind":
		return (*deeds).fd
	case "find":
		return (*deeds).find
	case "git":
		return (*deeds).git
	case "perl", "ruby":
		return (*deeds).perl
	case "sed", "gsed":
		return (*deeds).sed
	case "sort":
		return (*deeds).sort
	case "tee":
		return (*deeds).tee
	case "yq":
		return (*deeds).yq
	}
	return nil
}

// shell is a shell with a script in its arguments or its input.
func (d *deeds) shell(c command, depth int) {
	for i, word := range c.words {
		switch {
		case word == "--" || !strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "+"):
			d.add(Execute) // a file
			return
		case !strings.HasPrefix(word, "--") && strings.HasSuffix(word, "c") && i+1 < len(c.words):
			d.script(c.words[i+1], depth+1)
			return
		}
	}
	if c.doc != "" && !c.piped {
		d.script(c.doc, depth+1)
		return
	}
	d.add(Execute)
}

func (d *deeds) eval(c command, depth int) { d.script(strings.Join(c.words, " "), depth+1) }

// find searches, and may do more with what it finds.
func (d *deeds) find(c command, depth int) {
	d.add(Search)
	for i := 0; i < len(c.words); i++ {
		switch c.words[i] {
		case "-delete":
			d.add(Delete)
		case "-fprint", "-fprintf", "-fls", "-fprint0":
			d.add(Edit)
		case "-exec", "-execdir", "-ok", "-okdir":
			found := c.words[i+1:]
			if end := slices.IndexFunc(found, func(w string) bool { return w == ";" || w == "+" }); end >= 0 {
				found = found[:end]
			}
			d.run(command{words: found, fed: true}, depth+1)
			i += len(found)
		}
	}
}

// fd searches, and may run a command with what it finds.
func (d *deeds) fd(c command, depth int) {
	d.add(Search)
	for i, word := range c.words {
		if word == "-x" || word == "-X" || word == "--exec" || word == "--exec-batch" {
			d.run(command{words: c.words[i+1:], fed: true}, depth+1)
			return
		}
	}
}
