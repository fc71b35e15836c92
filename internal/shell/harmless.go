package shell

import (
	"path"
	"slices"
	"strings"
)

// Harmless reports whether the commands of a line change nothing, as far as their words tell: all of them are known to
// read, to search or to print, with options that do no more. It asks less of a line than agents do that run such
// commands without asking, and is never true for a line that cannot be read: what it does not know may do harm.
func Harmless(line string) bool { return harmlessScript(line, 0) }

// HarmlessWords is Harmless for a program and its arguments.
func HarmlessWords(words []string) bool { return harmless(command{words: words}, 0) }

// expands reports whether a text may run commands where the parser looks for none: ${a:-$(rm b)}, a=($(rm b)), `rm b`.
func expands(text string) bool {
	return strings.ContainsRune(text, '`') || strings.Contains(text, "=(") ||
		strings.Contains(text, "${") && strings.Contains(text, "$(")
}

func harmlessScript(text string, depth int) bool {
	p := parser{text: text, depth: depth}
	if len(text) > maxLine || depth > maxDepth || expands(text) || !p.parse(0) || len(p.found) == 0 {
		return false
	}
	return !slices.ContainsFunc(p.found, func(c command) bool { return !harmless(c, depth) })
}

// inspector reports whether a program with these arguments changes nothing.
type inspector func(args []string) bool

func always([]string) bool { return true }

// without returns an inspector that refuses options. A short one is refused in a word with others, too: -io for -o.
func without(options ...string) inspector {
	return func(args []string) bool {
		return !slices.ContainsFunc(args, func(arg string) bool {
			return slices.ContainsFunc(options, func(o string) bool {
				if strings.HasPrefix(o, "--") {
					return strings.HasPrefix(arg, "--") && len(arg) > 2 && strings.HasPrefix(o, cutValue(arg))
				}
				return strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") && strings.Contains(arg[1:], o[1:])
			})
		})
	}
}

// cutValue returns a long option without its value. Programs take its beginning for the whole: --out for --output.
func cutValue(option string) string {
	name, _, _ := strings.Cut(option, "=")
	return name
}

// operands returns an inspector that refuses more operands than limit.
func operands(limit int, also inspector) inspector {
	return func(args []string) bool {
		n := 0
		for _, arg := range args {
			if !strings.HasPrefix(arg, "-") {
				n++
			}
		}
		return n <= limit && also(args)
	}
}

// inspectors has the programs that are known to change nothing, with how that is seen.
var inspectors = func() map[string]inspector {
	all := make(map[string]inspector)
	for _, r := range []struct {
		names   string
		inspect inspector
	}{
		{
			"[ [[ basename cat cd cksum cmp column comm cut df diff dirname done du echo egrep expr false fgrep fi " +
				"file fold for grep groups head hexdump id join jq less ls md5sum more nl nproc od paste printenv " +
				"printf pwd readlink realpath rev seq sha1sum sha256sum sha512sum sleep stat strings tac tail " +
				"test tr true tty type uname wc whereis which whoami zcat zgrep", always,
		},
		{"base64", without("-o", "--output")},
		{"date", shows},
		{"find", finds},
		{"hostname", operands(0, without("-F", "-b"))},
		{"rg", without("--pre", "--hostname-bin", "-z", "--search-zip")},
		{"sort", without("-o", "--output", "-T", "--temporary-directory", "--compress-program")},
		{"tree", without("-o", "-R")},
		{"uniq", operands(1, always)},
		{"xxd", operands(1, without("-r"))},
		{"sed", sedPrints},
		{"git", gitShows},
	} {
		for name := range strings.FieldsSeq(r.names) {
			all[name] = r.inspect
		}
	}
	return all
}()

// harmless reports whether a simple command changes nothing.
func harmless(c command, depth int) bool {
	if c.output || c.doc != "" || depth > maxDepth {
		return false
	}
	for len(c.words) > 0 && reserved[c.words[0]] {
		c.words = c.words[1:]
	}
	if len(c.words) == 0 {
		return true
	}
	dir, name := path.Split(c.words[0])
	if dir != "" && dir != "/bin/" && dir != "/usr/bin/" {
		return false
	}
	args := c.words[1:]
	if name == "bash" || name == "sh" || name == "zsh" || name == "dash" {
		return len(args) == 2 && (args[0] == "-c" || args[0] == "-lc") && harmlessScript(args[1], depth+1)
	}
	inspect, ok := inspectors[name]
	return ok && inspect(args)
}

// shows allows `date +%s`: a time in another form sets the clock.
func shows(args []string) bool {
	return !slices.ContainsFunc(args, func(arg string) bool {
		return !strings.HasPrefix(arg, "+") && !strings.HasPrefix(arg, "-")
	}) && without("-s", "--set")(args)
}

// sedPrints allows `sed -n 1,80p FILE...`.
func sedPrints(args []string) bool {
	return len(args) >= 2 && args[0] == "-n" && strings.Trim(args[1], "0123456789,$+~ ;p") == "" &&
		without("-i", "-e", "-f", "-s", "--in-place", "--expression", "--file")(args[2:])
}

// finds allows find without what it does with files.
func finds(args []string) bool {
	acts := []string{"-delete", "-exec", "-execdir", "-ok", "-okdir", "-fprint", "-fprint0", "-fprintf", "-fls"}
	return !slices.ContainsFunc(args, func(arg string) bool { return slices.Contains(acts, arg) })
}

// gitShows allows the commands of git that show something.
func gitShows(args []string) bool {
	if len(args) >= 2 && args[0] == "-C" {
		args = args[2:]
	}
	if len(args) == 0 {
		return true
	}
	quiet := without("--output", "--ext-diff", "--textconv", "-O", "--open-files-in-pager")
	switch args[0] {
	case "blame", "cat-file", "describe", "diff", "grep", "log", "ls-files", "ls-tree", "merge-base", "name-rev",
		"rev-list", "rev-parse", "shortlog", "show", "show-ref", "status", "version":
		return quiet(args[1:])
	case "branch", "remote", "tag":
		return operands(0, without("-d", "-D", "-m", "-M", "-c", "-C", "-u", "-f", "--delete", "--move", "--copy",
			"--set-upstream-to", "--unset-upstream", "--edit-description", "--force"))(args[1:])
	}
	return false
}
