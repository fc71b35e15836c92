package plan

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/words"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// A playbook of a stranger says what children get. Without the keys of the table below they see the system and the
// unit's own directories, reach nothing, and get nothing of the user's.

// widening is a key by which a playbook lets its children read, reach or get more.
type widening struct {
	// path leads to the key; * is any key of a mapping, or any element of a list. In those of ofEvaluators it begins at
	// an evaluator.
	path string
	// does says what the key does, and what to do instead.
	does string
	// widens reports whether a value widens; nil: all do.
	widens func(n *doc.Node) bool
}

const remove = "; remove it"

const (
	passes        = "passes your environment variables on" + remove
	sets          = "sets variables, by which programs run other code" + remove
	startsServers = "starts servers with your network; replay recordings"
)

const takesMore = "can take more of your machine than the default" + remove

// ofPlaybooks are the keys of playbooks and eval files that widen whatever is run.
var ofPlaybooks = []widening{
	{"sandbox.kind", "chooses a weaker sandbox" + remove, saysNot("auto", "bwrap")},
	{"sandbox.command", "confines by a command of its own" + remove, nil},
	{"sandbox.network", "gives your network to run steps and to what agents wrote" + remove, says("all")},
	{"sandbox.allow_read", "shows your files; copy them into the workspace instead", nil},
	{"sandbox.allow_commands", "starts further programs" + remove, nil},
	{"sandbox.unix_sockets", "lets children connect to your unix sockets" + remove, says("true")},
	{"sandbox.allow_userns", "gives children capabilities in user namespaces" + remove, says("true")},
	{"limits.memory", takesMore, nil},
	{"limits.cpus", takesMore, nil},
	{"limits.disk", takesMore, nil},
	{"limits.processes", takesMore, nil},
	{"caches", "shows caches of yours" + remove, nil},
	{"env.pass", passes, nil},
	{"env.set", sets, nil},
	{"variants.*.env.pass", passes, nil},
	{"variants.*.env.set", sets, nil},
	{"variants.*.workspace.add.*.from", "copies what is not in the project; name what is in it", outside},
	{"cases.*.workspace.add.*.from", "copies what is not in the project; name what is in it", outside},
	{"evalcases.*.workspace.add.*.from", "copies what is not in the project; name what is in it", outside},
	{"variants.*.skills.*", "copies what is not in the project; name a directory of the project", outside},
	{"variants.*.plugins.*", "copies what is not in the project; name a directory of the project", outside},
	{"variants.*.instructions", outsideProject, outside},
	{"variants.*.prompts.*", outsideProject, outside},
	{"workspace.from", "copies what is not in the project; name a directory of the project", outside},
	{"workspace.commit", "copies what your repository's history has" + remove, nil},
	{"workspace.git", "copies what git ignores, such as settings of yours" + remove, says(string(GitAll))},
	{"workspace.include", "copies files that look like secrets, or a repository" + remove, includesSecrets},
	{"styles.*.dir", "copies what is not in the project; name a directory of the project", outside},
	{"workflow.jobs.*.steps.*.run", "names a program by its path; name one in PATH", startsByPath},
	{"report.ai_judge.enabled", "asks a model with your key" + remove, says("true")},
}

// ofAgents are the keys that widen where the run starts agents.
var ofAgents = []widening{
	{"variants.*.agent.kind", "starts an agent, with your account and your network; replay its recordings, or use " +
		agent.Fake, saysNot(agent.Fake)},
	{"variants.*.agent.args.*", "shows a file that is not in the project; name one of the project", outside},
	{"mcp", startsServers, nil},
	{"variants.*.mcp", startsServers, nil},
}

// ofJudges are the keys of evaluators that widen where they may ask agents.
var ofJudges = []widening{
	{"agent.kind", "starts an agent, with your account and your network; replay what it said, or use " +
		agent.Fake, saysNot(agent.Fake)},
	{"agent.args.*", "shows a file that is not in the project; name one of the project", outside},
}

// ofEvaluators are the keys of evaluators of all kinds that widen.
var ofEvaluators = []widening{
	{"network", "gives your network to code that you have not read" + remove, says("true")},
	{"target", "gives a model with your key, and your network" + remove, nil},
	{"cwd", "shows a directory that is not in the project; name one of the project", outside},
	{"run", "names a program by its path; name one in PATH", startsByPath},
	{"script.*", outsideProject, namesOutside},
	{"prompt.script.*", outsideProject, namesOutside},
}

const outsideProject = "names what is not in the project; name a file of the project, or a program in PATH"

// untrustedAdvice is what to do about a playbook that is refused.
const untrustedAdvice = "change what is refused; or read the whole playbook and, if you trust who wrote it, run it " +
	"without --untrusted and EVALTEST_UNTRUSTED"

// refuseWidening reports each key of an untrusted document that widens, and returns whether there are any, in a run
// that starts agents, or lets agents judge.
func refuseWidening(d *doc.Document, startsAgents, asksJudges bool) (refused bool) {
	refuse := func(n *doc.Node, table []widening) {
		for _, w := range table {
			for _, at := range nodesAt(n, strings.Split(w.path, ".")) {
				if w.widens == nil || w.widens(at) {
					at.Errorf("", "refused in untrusted mode: %s", w.does)
					refused = true
				}
			}
		}
	}
	refuse(d.Root, ofPlaybooks)
	level := Level(d.Root.Get("cassette").Get("level").Text())
	startsAgents = startsAgents || level.RunsAgent()
	if startsAgents {
		refuse(d.Root, ofAgents)
	}
	for _, path := range []string{
		"evaluators.*", "cases.*.evaluators.*", "execution.evaluators.*", "evalcases.*.execution.evaluators.*",
	} {
		for _, e := range nodesAt(d.Root, strings.Split(path, ".")) {
			for _, nested := range withMembers(e) {
				refuse(nested, ofEvaluators)
				if startsAgents || asksJudges {
					refuse(nested, ofJudges)
				}
			}
		}
	}
	return refused
}

// withMembers returns an evaluator and those that it is composed of.
func withMembers(e *doc.Node) []*doc.Node {
	all := []*doc.Node{e}
	for _, key := range []string{"members", "all", "any"} {
		for _, member := range e.Get(key).Items() {
			all = append(all, withMembers(member)...)
		}
	}
	return all
}

// nodesAt returns the nodes to which a path leads, see [widening].
func nodesAt(n *doc.Node, path []string) []*doc.Node {
	if n == nil || len(path) == 0 {
		return slices.DeleteFunc([]*doc.Node{n}, func(n *doc.Node) bool { return n == nil })
	}
	if path[0] != "*" {
		return nodesAt(n.Get(path[0]), path[1:])
	}
	children := slices.Clone(n.Items())
	for _, e := range n.Entries() {
		children = append(children, e.Value)
	}
	var found []*doc.Node
	for _, child := range children {
		found = append(found, nodesAt(child, path[1:])...)
	}
	return found
}

func says(text string) func(*doc.Node) bool {
	return func(n *doc.Node) bool { return n.Text() == text }
}

func saysNot(texts ...string) func(*doc.Node) bool {
	return func(n *doc.Node) bool { return !slices.Contains(texts, n.Text()) }
}

func includesSecrets(n *doc.Node) bool {
	return slices.ContainsFunc(n.Items(), func(item *doc.Node) bool { return workspace.IncludesSecrets(item.Text()) })
}

// startsByPath reports whether a command's program is not a name in PATH: it is a path, or a placeholder.
func startsByPath(n *doc.Node) bool {
	args, err := words.Split(n.Text())
	return err == nil && len(args) > 0 && (strings.ContainsAny(args[0], `/\`) || hasPlaceholder(args[0]))
}

// namesOutside reports whether a word of a script names a file or a directory that is outside.
func namesOutside(n *doc.Node) bool {
	path := filepath.FromSlash(n.Text())
	if !filepath.IsAbs(path) {
		path = filepath.Join(n.Document().Dir, path)
	}
	_, err := os.Lstat(path)
	return err == nil && outside(n)
}

// outside reports whether a path, relative to the playbook, is not in the project, or is in its repository, or looks
// like a secret.
func outside(n *doc.Node) bool { return isOutside(n.Document(), n.Text()) }

func isOutside(d *doc.Document, path string) bool {
	path = filepath.FromSlash(path)
	if !filepath.IsAbs(path) {
		path = filepath.Join(d.Dir, path)
	}
	top, err := filepath.EvalSymlinks(cmp.Or(d.Top, d.Dir))
	if err != nil {
		return true
	}
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) { // a mistake, which is reported where the path is used
		return false
	}
	rel, relErr := filepath.Rel(top, real)
	return err != nil || relErr != nil || !filepath.IsLocal(rel) || workspace.IsSecret(filepath.ToSlash(rel)) ||
		slices.Contains(strings.Split(rel, string(filepath.Separator)), ".git")
}
