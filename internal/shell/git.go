package shell

import (
	"slices"
	"strings"
)

// gitDeeds are what git's commands do with files of the work tree. Those that are not here do Execute, as commit does.
var gitDeeds = map[string]Deed{
	"grep": Search, "ls-files": Search, "ls-tree": Search,
	"annotate": Read, "blame": Read, "cat-file": Read, "diff": Read, "show": Read,
	"am": Edit, "apply": Edit, "cherry-pick": Edit, "merge": Edit, "rebase": Edit, "restore": Edit, "revert": Edit,
	"stash": Edit,
	"clean": Delete, "rm": Delete,
	"mv":    Move,
	"clone": Fetch, "fetch": Fetch, "ls-remote": Fetch, "pull": Fetch,

	"branch": "", "check-ignore": "", "config": "", "describe": "", "help": "", "log": "", "merge-base": "",
	"name-rev": "", "reflog": "", "remote": "", "rev-list": "", "rev-parse": "", "shortlog": "", "show-ref": "",
	"status": "", "var": "", "version": "",
}

func (d *deeds) git(c command, _ int) {
	args := c.words
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		if slices.Contains([]string{"-C", "-c", "--git-dir", "--work-tree", "--namespace"}, args[0]) {
			args = args[1:]
		}
		args = args[min(1, len(args)):]
	}
	if len(args) == 0 {
		return
	}
	deed, ok := gitDeeds[args[0]]
	switch {
	case args[0] == "checkout" && slices.Contains(args, "--"), args[0] == "reset" && slices.Contains(args, "--hard"):
		d.add(Edit)
	case args[0] == "stash" && len(args) > 1 && (args[1] == "list" || args[1] == "show"):
	case !ok:
		d.add(Execute)
	case deed != "":
		d.add(deed)
	}
}
