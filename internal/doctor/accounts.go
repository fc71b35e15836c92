package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/fault"
)

// maxPresets is how many presets of a file are looked at.
const maxPresets = 50

// accounts says which presets there are, and which variables they set. Kinds may share a file.
func accounts(_ context.Context, m *machine) []Finding {
	var all []Finding
	var files []string
	for _, p := range agent.Profiles() {
		if p.PresetFile == "" || slices.Contains(files, p.PresetFile) {
			continue
		}
		files = append(files, p.PresetFile)
		all = append(all, m.presets(p)...)
		all = append(all, m.login(p)...)
	}
	if len(all) == 0 {
		all = []Finding{{
			Name: "presets", State: Absent, Text: "there are none", Next: "see docs/accounts.md",
		}}
	}
	return all
}

// presets says which presets a kind's file has. Without a file there is something to say of an agent that is there and
// needs one.
func (m *machine) presets(p agent.Profile) []Finding {
	file, names, err := agent.Presets(p, m.ConfigDir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		_, absent := m.find(p.Command)
		_, hasLogin, _ := agent.MachineLogin(p, m.ConfigDir)
		if !p.NeedsPreset || absent != nil || hasLogin {
			return nil
		}
		return []Finding{{
			Name: p.PresetFile, State: Noted, Text: "there is none, and " + p.Kind + " needs a preset",
			Next: "write down your account, such as:\n" + p.SamplePreset(file, "production"),
		}}
	case err != nil:
		return []Finding{{Name: p.PresetFile, State: Bad, Text: err.Error(), Next: "correct " + file}}
	}
	var all []Finding
	for _, name := range names[:min(len(names), maxPresets)] {
		all = append(all, m.preset(p, file, name))
	}
	if more := len(names) - len(all); more > 0 {
		all = append(all, Finding{
			Name: p.PresetFile, State: Noted, Text: fmt.Sprintf("%d more presets were not looked at", more),
			Next: "remove those that nobody uses",
		})
	}
	return all
}

// login says whether the machine has a login for agents of a kind, where a preset of a file does not come before it. Of
// an agent that is not there only a login that there is counts.
func (m *machine) login(p agent.Profile) []Finding {
	name := strings.TrimSuffix(p.PresetFile, ".toml") + "/" + agent.Login
	preset, ok, err := agent.MachineLogin(p, m.ConfigDir)
	_, absent := m.find(p.Command)
	switch {
	case !ok, errors.Is(err, fs.ErrNotExist) && absent != nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		file, _, _ := agent.Presets(p, m.ConfigDir)
		return []Finding{{
			Name: name, State: Absent, Text: err.Error(),
			Next: fault.Advice(err) + "; or write down your account, such as:\n" + p.SamplePreset(file, "production"),
		}}
	case err != nil:
		return []Finding{{Name: name, State: Noted, Text: err.Error(), Next: fault.Advice(err)}}
	}
	f := Finding{Name: name}
	f.describe(preset, "")
	f.Text = "the machine's login: " + f.Text
	var unused []string
	for _, variable := range preset.Withheld {
		if m.Getenv(variable) != "" {
			unused = append(unused, variable)
		}
	}
	if len(unused) > 0 {
		f.Text += "; set and not used: " + strings.Join(unused, ", ")
	}
	return []Finding{f}
}

// preset says what a preset of a file gives to an agent.
func (m *machine) preset(p agent.Profile, file, name string) Finding {
	f := Finding{Name: strings.TrimSuffix(p.PresetFile, ".toml") + "/" + excerpt.Name(name, maxShown)}
	preset, err := agent.Resolve(p.Kind, name, m.ConfigDir)
	if err != nil {
		f.State, f.Text, f.Next = Bad, err.Error(), cmp.Or(fault.Advice(err), "correct "+file)
		return f
	}
	f.describe(preset, file)
	return f
}

// describe says what a preset gives to an agent, and never a value.
func (f *Finding) describe(preset agent.Preset, file string) {
	gives := preset.Gives()
	f.State, f.Facts = Well, map[string]any{"file": file, "set": gives.Set, "unset": gives.Unset, "files": gives.Files}
	var texts []string
	if len(gives.Set) > 0 {
		texts = append(texts, "sets "+strings.Join(gives.Set, ", "))
	}
	if len(gives.Files) > 0 {
		texts = append(texts, "copies "+strings.Join(gives.Files, ", "))
	}
	if len(gives.Empty) > 0 {
		texts = append(texts, "leaves "+strings.Join(gives.Empty, ", ")+" empty")
	}
	if preset.Endpoint == agent.Scripted {
		texts = append(texts, "a scripted model")
	}
	if len(gives.Unset) > 0 {
		f.State, f.Next = Noted, "set "+strings.Join(gives.Unset, ", ")+" in "+filepath.Clean(file)
		texts = append(texts, "not set: "+strings.Join(gives.Unset, ", "))
	}
	f.Text = cmp.Or(strings.Join(texts, "; "), "names an endpoint")
}
