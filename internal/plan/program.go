package plan

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// Program is a command that a playbook names: an agent's or an MCP server's.
type Program struct {
	// Words are the program and its arguments. Those that name a file beside the playbook are its absolute path.
	Words []string
	// Files are the paths of the files beside the playbook, by the words that name them.
	Files map[string]string
}

// FindProgram returns the command that these words mean in a playbook in dir. The first word names a file if it is a
// relative path with a slash; if there is none, that is an error. A later one does if there is a regular file of that
// name, relative to dir: what else it may mean only the program knows.
func FindProgram(dir string, words []string) (Program, error) {
	p := Program{Words: append([]string(nil), words...), Files: make(map[string]string)}
	for i, word := range words {
		path := filepath.Join(dir, filepath.FromSlash(word))
		if word == "" || filepath.IsAbs(word) || i == 0 && !strings.Contains(word, "/") {
			continue
		}
		err := checkRegular(path)
		if err != nil && i == 0 {
			return Program{}, fmt.Errorf("the program %s, relative to the playbook: %w", word, err)
		}
		if err == nil {
			p.Words[i], p.Files[word] = path, path
		}
	}
	return p, nil
}

// AgentProgram returns the command of an agent of a playbook in dir. Its first word is empty if the kind's program is
// meant.
func AgentProgram(dir string, a playbook.Agent) (Program, error) {
	return FindProgram(dir, append([]string{a.Command}, a.Args...))
}

// checkProgram reports a program, or a script of the built-in agent, that is not there.
func checkProgram(n *doc.Node, a playbook.Agent, scripted bool) {
	dir := Dir(n)
	if dir == "" {
		return
	}
	p, err := AgentProgram(dir, a)
	if err != nil {
		n.Errorf("command", "%v", err)
		return
	}
	for i, word := range a.Args {
		if scripted && !filepath.IsAbs(p.Words[i+1]) {
			n.Errorf(fmt.Sprintf("args[%d]", i), "the script of the built-in agent, relative to the playbook: %v",
				checkRegular(filepath.Join(dir, filepath.FromSlash(word))))
		}
	}
}
