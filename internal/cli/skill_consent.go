package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/git"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
	"github.com/sdd-eval/sdd-eval/internal/skill"
)

// manySessions is up to how many sessions nobody is asked who has agreed to the skill before.
const manySessions = 50

// consent reports whether somebody agrees that agents are started: to each skill as it is now once, and to many
// sessions each time. It is an error if sessions need that.
func (a *App) consent(ctx context.Context, o skillOptions, runs []*skillRun) (agreed bool, err error) {
	sessions := 0
	var unknown []*skillRun
	for _, r := range runs {
		n := r.sessions()
		sessions += n
		if n > 0 && !agreedToAll(r) {
			unknown = append(unknown, r)
		}
	}
	if sessions == 0 {
		return o.yes, nil
	}
	if len(unknown) == 0 && sessions <= manySessions {
		return true, nil
	}
	for _, r := range unknown {
		for _, name := range r.installed() {
			if t := r.treeOf(name); !agreedTo(r, t) {
				a.tellBrings(ctx, r, name, t)
			}
		}
	}
	var questions []string
	if len(unknown) > 0 {
		questions = append(questions, fmt.Sprintf("Run this with an agent under your account, %s? It is asked once, "+
			"until the skill changes. y or n:", excerpt.Count(sessions, "session")))
	}
	if sessions > manySessions {
		questions = append(questions, fmt.Sprintf("Start %s? y or n:", excerpt.Count(sessions, "session")))
	}
	if !o.yes {
		if err := a.ask(ctx, questions...); err != nil {
			if ctx.Err() != nil {
				return false, err
			}
			args := []string{"--yes"}
			if o.all {
				args = append(args, "--all")
			}
			args = append(args, "--changed", o.changed, "--case", o.cases, "--mode", o.mode, "--resume", o.resume,
				"--budget-usd", o.budget)
			return false, usageError("skill: %w to %s with an agent under your account: --yes does", err,
				excerpt.Count(sessions, "session")).hint(o.line(args...))
		}
	}
	for _, r := range unknown {
		for _, name := range r.installed() {
			if err := a.agree(r, name); err != nil {
				fmt.Fprintf(a.Stderr, "note: the answer is not remembered: %s\n", printable(err.Error()))
			}
		}
	}
	return true, nil
}

// errNotAgreed says that nobody has said yes.
var errNotAgreed = errors.New("nobody has agreed")

// ask asks questions at the terminal, until one is not answered by yes. Without a terminal nobody agrees.
func (a *App) ask(ctx context.Context, questions ...string) error {
	in, ok := a.Stdin.(*os.File)
	out, shown := data(a.Stderr).(*os.File)
	if !ok || !shown || !term.IsTerminal(int(in.Fd())) || !term.IsTerminal(int(out.Fd())) {
		return errNotAgreed
	}
	answers := bufio.NewReader(io.LimitReader(in, 1<<10))
	for _, question := range questions {
		fmt.Fprintln(a.Stderr, question)
		answered := make(chan string, 1)
		go func() { // which ends with the process if nobody answers
			line, _ := answers.ReadString('\n')
			answered <- strings.ToLower(strings.TrimSpace(line))
		}()
		select {
		case answer := <-answered:
			if answer != "y" && answer != "yes" {
				return errNotAgreed
			}
		case <-ctx.Done():
			return &exitError{code: exitInterrupted, err: errors.New("interrupted")}
		}
	}
	return nil
}

// maxBrings is how many things of a sort are named that a skill brings.
const maxBrings = 100

// installed are the names of the skills that agents get: the suite's own, and those that its queries name.
func (r *skillRun) installed() []string {
	return append([]string{r.suite.Name}, slices.Sorted(maps.Keys(r.rivals))...)
}

// treeOf returns what agents get of one of them.
func (r *skillRun) treeOf(name string) skill.Tree {
	if t, rival := r.rivals[name]; rival {
		return t
	}
	if p := r.plugin(); p != nil {
		return p.Installed
	}
	return r.suite.Installed
}

// tellBrings says what of a skill runs, where it came from, and what it could reach.
func (a *App) tellBrings(ctx context.Context, r *skillRun, name string, t skill.Tree) {
	brings := t.Brings()
	line := func(name string, texts ...string) {
		text := "none"
		if more := len(texts) - maxBrings; more > 0 {
			texts = append(texts[:maxBrings:maxBrings], fmt.Sprintf("and %d more", more))
		}
		if len(texts) > 0 {
			text = strings.Join(texts, ", ")
		}
		fmt.Fprintf(a.Stderr, "%-10s %s\n", name, printable(a.secrets.String(text)))
	}
	fmt.Fprintf(a.Stderr, "\n%s has not run here before as it is now. It is code of whoever wrote it:\n",
		printable(name))
	dir := r.suite.Dir
	p := r.plugin()
	if _, rival := r.rivals[name]; rival {
		dir = r.suite.Rivals[name]
	} else if p != nil {
		dir = p.Dir
	}
	line("from", a.originOf(ctx, r.suite, dir))
	line("scripts", brings.Scripts...)
	line("servers", brings.Servers...)
	line("hooks", brings.Hooks...)
	line("allows", brings.Allows...)
	if p != nil {
		line("plugin", p.Dir+" is installed, with all of that")
	} else if around := aroundOf(ctx, r.suite); around != "" && dir == r.suite.Dir {
		line("plugin", around)
	}
	reach := "the agent's token or key, its workspace, and what every program on this machine may read; " +
		"it can send that wherever the network leads"
	if strings.HasPrefix(r.preview.Sandbox, string(confine.None)) {
		reach = "everything that you can read, change and send, since nothing confines it (sandbox none)"
	}
	line("can reach", reach)
}

// aroundOf says of a skill's plugin that agents do not get it, and what they lack for that; empty: there is none.
func aroundOf(ctx context.Context, s *skill.Suite) string {
	dir, b, err := s.Around(ctx)
	if err != nil {
		return "the plugin around the skill could not be read, and agents do not get it: " + err.Error()
	}
	if dir == "" {
		return ""
	}
	text := dir + " is not installed, only the skill is"
	if n := len(b.Servers) + len(b.Hooks); n > 0 {
		text += "; what runs only with the plugin: " + some(slices.Concat(b.Servers, b.Hooks))
	}
	return text
}

// originOf says where a skill came from, as far as git knows.
func (a *App) originOf(ctx context.Context, s *skill.Suite, dir string) string {
	commit, err := git.Commit(ctx, s.Root, "HEAD")
	if err != nil {
		return "a directory without commits, " + s.Root
	}
	from := "a repository without a remote"
	if url, err := git.Output(ctx, s.Root, "config", "--get", "remote.origin.url"); err == nil {
		from = userInfo.ReplaceAllString(strings.TrimSpace(url), "://")
	}
	from += ", commit " + commit[:min(len(commit), 12)]
	if changed, err := git.Output(ctx, s.Root, "status", "--porcelain", "--", s.File(dir)); err != nil {
		from += ", of which is not known what was changed since"
	} else if changed != "" {
		from += ", changed since"
	}
	return from
}

// userInfo matches who a URL logs in, which may be a token.
var userInfo = lazyregexp.New(`://[^/@]*@`)

// consentFile returns the file by which an answer is remembered. It is the user's, and not in the repository, which
// could bring an answer of its own.
func consentFile(r *skillRun, t skill.Tree) (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, "sdd-eval", "skills")
	if disk.Locate(r.suite.Root).Has(dir) {
		return "", fmt.Errorf("%s is in the skill's repository", dir)
	}
	return filepath.Join(dir, t.Sum()+".json"), nil
}

// skillAgreement is what such a file says, for people.
type skillAgreement struct {
	Skill  string    `json:"skill"`
	Root   string    `json:"root"`
	Agreed time.Time `json:"agreed_at"`
}

// agreedToAll reports whether somebody has agreed to all skills that agents get, as they are now.
func agreedToAll(r *skillRun) bool {
	return !slices.ContainsFunc(r.installed(), func(name string) bool { return !agreedTo(r, r.treeOf(name)) })
}

// agreedTo reports whether somebody has agreed to a skill as it is now.
func agreedTo(r *skillRun, t skill.Tree) bool {
	file, err := consentFile(r, t)
	if err != nil {
		return false
	}
	f, err := disk.OpenRegular(file)
	if err != nil {
		return false
	}
	f.Close()
	return true
}

// agree remembers that somebody has agreed to a skill as it is now.
func (a *App) agree(r *skillRun, name string) error {
	file, err := consentFile(r, r.treeOf(name))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	text, err := jsonvalue.Indent(skillAgreement{name, r.suite.Root, a.Now().UTC()})
	if err != nil {
		return err
	}
	return a.secrets.WriteFile(file, text, 0o600)
}
