package plan

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/action"
	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/environ"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// SkillFile is the file by which agents know a skill's directory.
const SkillFile = "SKILL.md"

// PluginFile is the file by which agents know a plugin's directory.
const PluginFile = ".claude-plugin/plugin.json"

// maxPrompt is how large a file with a prompt may be, in bytes.
const maxPrompt = 1 << 20

// LaysFiles reports whether the variant adds files to the workspace.
func (v Variant) LaysFiles() bool {
	o := v.Overlay
	return len(o.Workspace.Add)+len(o.Files)+len(o.Skills)+len(o.Plugins) > 0 || o.Instructions != ""
}

// Sources are the files and directories that a variant's overlay names, as it names them.
func (v Variant) Sources() []string {
	o := v.Overlay
	all := slices.AppendSeq(slices.Concat(o.Skills, o.Plugins), maps.Values(o.Prompts))
	for _, a := range o.Workspace.Add {
		all = append(all, a.From)
	}
	if o.Instructions != "" {
		all = append(all, o.Instructions)
	}
	return all
}

// EnvOf returns the environment of the units of a variant.
func (p *Playbook) EnvOf(v Variant) playbook.Env {
	env := playbook.Env{Pass: p.Env.Pass, Set: p.Env.Set}
	for _, name := range v.Overlay.Env.Pass {
		if !slices.Contains(env.Pass, name) {
			env.Pass = append(slices.Clip(env.Pass), name)
		}
	}
	if len(v.Overlay.Env.Set) > 0 {
		env.Set = make(map[string]string)
		maps.Copy(env.Set, p.Env.Set)
		maps.Copy(env.Set, v.Overlay.Env.Set)
	}
	return env
}

// For returns the playbook as it is for a variant: with the tool servers and the environment that the variant adds.
func (p *Playbook) For(v Variant) *Playbook {
	own := *p
	own.Env = p.EnvOf(v)
	own.MCP = slices.DeleteFunc(slices.Concat(p.MCP, ServersAt(v.Overlay.MCP, v.Position)),
		func(s MCPServer) bool { return s.Name == v.WithoutMCP })
	return &own
}

// PluginsOf are the places in the workspace of the plugins that a variant adds, in its order.
func (p *Playbook) PluginsOf(v Variant) []string {
	profile, _ := agent.Lookup(v.Agent.Kind)
	var places []string
	for _, dir := range v.Overlay.Plugins {
		places = append(places, path.Join(profile.Plugins, InstalledName(p.Dir, dir)))
	}
	return places
}

// servers are the tool servers of the playbook and of all its variants.
func (p *Playbook) servers() []MCPServer {
	all := p.MCP
	for _, v := range p.Variants {
		all = slices.Concat(all, ServersAt(v.Overlay.MCP, v.Position))
	}
	return all
}

// ask returns a case with the prompts that the variant sends.
func (v Variant) ask(c Case) Case {
	prompts := slices.Clone(c.Prompts)
	if text, ok := v.Texts[c.ID]; ok {
		prompts = []string{text}
	}
	for i, p := range prompts {
		if before := v.Overlay.PromptPrefix; before != "" {
			p = strings.TrimRight(before, "\n") + "\n\n" + p
		}
		if after := v.Overlay.PromptSuffix; after != "" {
			p = strings.TrimRight(p, "\n") + "\n\n" + after
		}
		prompts[i] = p
	}
	c.Prompts = prompts
	if c.Prompt != "" {
		c.Prompt = prompts[0]
	}
	return c
}

func (v *Variant) decode(n *doc.Node) {
	n.Decode(v)
	v.Texts = checkOverlay(n, v.Agent.Kind)
}

// decodeEnv refuses variables that children could not have with these values.
func decodeEnv(e *playbook.Env, n *doc.Node) {
	n.Decode(e)
	for _, set := range n.Get("set").Entries() {
		switch name := set.Key; {
		case environ.IsOurs(name):
			set.Value.Errorf("", "each unit has a %s of its own", name)
		case environ.IsCredential(name, set.Value.Text()):
			set.Value.Errorf("", "looks like a credential, which would be in recordings: name it under `pass`, and "+
				"give it to sdd-eval in the environment")
		}
	}
}

// checkOverlay reports what of an overlay at n cannot be laid over a workspace of an agent of that kind, empty:
// unknown. It returns the texts of its prompts by case.
func checkOverlay(n *doc.Node, kind string) map[string]string {
	checkFiles(n.Get("files"))
	checkTargets(n.Get("workspace").Get("add"))
	profile, _ := agent.Lookup(kind)
	if skills := n.Get("skills"); skills != nil && kind != "" && profile.Skills == "" {
		skills.Errorf("", "it is not known where agents of kind %s look for skills: copy them there with "+
			"`workspace: {add: [{from: DIR, to: PLACE}]}`", kind)
	}
	if file := n.Get("instructions"); file != nil && kind != "" && profile.Instructions == "" {
		file.Errorf("", "it is not known from which file agents of kind %s take instructions: write it with `files`",
			kind)
	}
	if plugins := n.Get("plugins"); plugins != nil && kind != "" && profile.Plugins == "" {
		plugins.Errorf("", "it is not known how to tell agents of kind %s of plugins: give them what it has, by "+
			"`skills`, `mcp` and `workspace.add`", kind)
	}
	checkInstalled(n.Get("skills"), "skill", SkillFile)
	checkInstalled(n.Get("plugins"), "plugin", PluginFile)
	checkBeside(n.Get("instructions"), "", ".")
	var texts map[string]string
	for _, e := range n.Get("prompts").Entries() {
		if checkBeside(e.Value, "", ".") {
			if texts == nil {
				texts = make(map[string]string)
			}
			texts[e.Key] = readPrompt(e.Value)
		}
	}
	return texts
}

// checkInstalled checks the directories at list of what agents know by a file in it.
func checkInstalled(list *doc.Node, what, file string) {
	names := make(map[string]string)
	for _, item := range list.Items() {
		name := InstalledName(Dir(item), item.Text())
		if first, taken := names[name]; taken && item.Kind() == doc.String {
			item.Errorf("", "%s and %s would have the same place: a %s is called as its directory is", first,
				item.Text(), what)
		}
		names[name] = item.Text()
		switch {
		case !checkBeside(item, what, file):
		case file == PluginFile:
			checkManifest(item, beside(item, file))
		default:
			noteHead(item, beside(item, file))
		}
	}
}

// checkManifest checks the manifest of the plugin at n: agents go on without a plugin whose manifest they cannot read.
func checkManifest(n *doc.Node, file string) {
	text, err := disk.ReadRegular(file, maxPrompt)
	if err == nil {
		manifest := doc.ParseJSON(file, text)
		if err = manifest.Err(); err == nil && manifest.Root.Kind() != doc.Map {
			err = fmt.Errorf("%s: must be an object", file)
		}
	}
	if err != nil {
		n.Errorf("", "agents may go on without this plugin: %v", err)
	}
}

// noteHead notes what is wrong with the head of the file of the skill at n: most agents would not know of the skill.
func noteHead(n *doc.Node, file string) {
	data, err := disk.ReadRegular(file, maxSkill)
	if err != nil {
		return // installing it says so
	}
	if _, problem := NameAtHead(file, data); problem != nil {
		n.Notef("%s:%d: %s", path.Join(n.Text(), SkillFile), problem.Line, problem.Reason)
	}
}

// beside returns the path of a file below what n names, beside the playbook.
func beside(n *doc.Node, file string) string {
	path := filepath.FromSlash(n.Text())
	if !filepath.IsAbs(path) {
		path = filepath.Join(Dir(n), path)
	}
	return filepath.Join(path, filepath.FromSlash(file))
}

// checkTargets checks what is copied over a workspace, and to where.
func checkTargets(add *doc.Node) {
	for _, item := range add.Items() {
		checkBeside(item.Get("from"), "", "")
		if to := item.Get("to"); to.Kind() == doc.String {
			checkBelow(to, to.Text())
		}
	}
}

// InstalledName is the name of the skill or plugin in a directory that a playbook in dir names.
func InstalledName(dir, path string) string {
	return filepath.Base(filepath.Join(cmp.Or(dir, "/skill"), filepath.FromSlash(path)))
}

// checkBelow reports a path that is not below the workspace.
func checkBelow(n *doc.Node, path string) {
	if !fs.ValidPath(path) || strings.ContainsAny(path, `\:`) {
		n.Errorf("", "%q must be a path below the workspace, with slashes", path)
	}
}

// checkBeside reports whether there is what a path at n names, beside the playbook: a directory that has the regular
// file inside, and so is what it should be, or, if that is ".", a regular file; or, if that is empty, either. If not,
// it is reported. A playbook that was not read from a file names nothing.
func checkBeside(n *doc.Node, what, inside string) bool {
	dir := Dir(n)
	if n.Kind() != doc.String || n.Text() == "" || dir == "" || n.Document().Untrusted && outside(n) {
		return false // reported, or not known
	}
	path := beside(n, "")
	info, err := os.Stat(path)
	switch {
	case err != nil:
	case inside == "" && !info.IsDir(), inside == ".":
		err = checkRegular(path)
	case inside != "":
		if err = checkRegular(filepath.Join(path, filepath.FromSlash(inside))); err != nil {
			err = fmt.Errorf("%s is no %s: %w", n.Text(), what, err)
		}
	}
	if err != nil {
		n.Errorf("", "relative to the playbook: %v", err)
	}
	return err == nil
}

// readPrompt returns the text of the file that n names.
func readPrompt(n *doc.Node) string {
	text, err := disk.ReadRegular(beside(n, ""), maxPrompt)
	if err == nil && strings.TrimSpace(string(text)) == "" {
		err = fmt.Errorf("%s is empty", n.Text())
	}
	if err != nil {
		n.Errorf("", "%v", err)
	}
	return string(text)
}

// overlays checks what variants add against the rest of the playbook.
func (c checker) overlays() {
	var ids []string
	single := make(map[string]bool)
	for _, x := range c.p.allCases() {
		ids = append(ids, x.ID)
		single[x.ID] = len(x.Prompts) == 1
	}
	for _, v := range c.root.Get("variants").Entries() {
		for _, e := range v.Value.Get("prompts").Entries() {
			switch {
			case !slices.Contains(ids, e.Key):
				e.Value.Errorf("", "no case is called %q%s", e.Key, doc.DidYouMean(e.Key, ids))
			case !single[e.Key]:
				e.Value.Errorf("", "case %q has several prompts, and a file is one", e.Key)
			}
		}
	}
}

// armed checks that variants have an agent, unless others are made of them, and that the files of those that run get
// into a workspace. Afterwards the playbook has only variants with an agent.
func (c checker) armed(runs func(Variant) bool, prepares func(Variant) bool) {
	c.p.Variants = slices.DeleteFunc(c.p.Variants, func(v Variant) bool {
		n := c.root.Get("variants").Get(v.ID)
		switch {
		case n.Get("agent") == nil && n.Kind() == doc.Map && (runs(v) || !c.bases[v.ID]):
			n.Errorf("", "`variants.%s.agent.kind` is required", v.ID)
		case runs(v) && v.LaysFiles() && !prepares(v):
			n.Errorf("", "there is no workspace to lay files over: %s", c.noWorkspace)
		}
		return n.Get("agent") == nil
	})
	c.deciding(runs)
}

// deciding checks that each case that runs has a variant that can fail it.
func (c checker) deciding(runs func(Variant) bool) {
	for _, x := range c.p.allCases() {
		asked := slices.DeleteFunc(slices.Clone(c.p.Variants),
			func(v Variant) bool { return !runs(v) || !x.asks(v.ID) })
		if len(asked) == 0 || slices.ContainsFunc(asked, func(v Variant) bool { return !v.Reference }) {
			continue
		}
		c.root.Get("variants").Get(asked[0].ID).Errorf("", "case %q runs only with variants that are a "+
			"`reference`, so it could not fail: run it with the variant, too, that these are compared with", x.ID)
		return
	}
}

// listed reports whether a matrix lists a variant.
func (p *Playbook) listed(v Variant) bool {
	return slices.ContainsFunc(p.Workflow.Jobs, func(j Job) bool { return slices.Contains(j.Variants(), v.ID) })
}

// prepares reports whether steps make the workspace of a variant's units.
func (p *Playbook) prepares(v Variant) bool {
	return slices.ContainsFunc(p.Workflow.Jobs, func(j Job) bool {
		return slices.Contains(j.Variants(), v.ID) &&
			slices.ContainsFunc(j.Steps, func(s Step) bool { return action.Of(s.Uses).Template })
	})
}
