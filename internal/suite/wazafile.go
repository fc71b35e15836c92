package suite

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/doc"
)

// path returns a path below the workspace.
func (g *wazaGrader) path(n *doc.Node, key string) (string, bool) {
	name := filepath.ToSlash(filepath.Clean(n.Text()))
	if n.Text() == "" || name == "." || !filepath.IsLocal(filepath.FromSlash(name)) || strings.Contains(name, `\`) {
		g.refuse(n.Position(), g.from+"."+key, fmt.Sprintf("%q must be a path below the workspace", n.Text()))
		return "", false
	}
	return name, true
}

func (g *wazaGrader) file() error {
	var entries []doc.Pairs
	for _, key := range []string{"must_exist", "must_not_exist"} {
		for _, n := range list(g.config.Get(key), g.from+"."+key, g.refuse) {
			if name, ok := g.path(n, key); ok {
				entries = append(entries, doc.Pairs{
					{Key: "path", Value: name}, {Key: "exists", Value: key == "must_exist"},
				})
			}
		}
	}
	if len(entries) > 0 {
		g.add("files", doc.Pairs{{Key: "expect", Value: entries}})
	}
	for _, n := range list(g.config.Get("content_patterns"), g.from+".content_patterns", g.refuse) {
		only(n, g.from+".content_patterns", g.refuse, "path", "must_match", "must_not_match")
		if name, ok := g.path(n.Get("path"), "content_patterns.path"); ok {
			g.look(name, doc.Pair{Key: "matches", Value: g.patterns(n, "must_match")},
				doc.Pair{Key: "not_matches", Value: g.patterns(n, "must_not_match")})
		}
	}
	return nil
}

func (g *wazaGrader) diff() error {
	dir := g.dir
	if own := g.config.Get("context_dir"); own.Text() != "" {
		var err error
		if dir, err = g.find(g.dir, own.Text()); err != nil {
			return fmt.Errorf("context_dir: %w", err)
		}
	}
	const key = "expected_files"
	var entries []doc.Pairs
	for _, n := range list(g.config.Get(key), g.from+"."+key, g.refuse) {
		only(n, g.from+"."+key, g.refuse, "path", "snapshot", "contains")
		name, ok := g.path(n.Get("path"), key+".path")
		if !ok {
			continue
		}
		had := len(entries)
		entry := func(check string, value any) {
			entries = append(entries, doc.Pairs{{Key: "path", Value: name}, {Key: check, Value: value}})
		}
		if s := n.Get("snapshot"); s.Text() != "" {
			text, err := g.text(dir, s.Text())
			if err != nil {
				g.refuse(s.Position(), g.from+"."+key+".snapshot", err.Error())
			}
			entry("equals", text)
		}
		for _, text := range g.strings(n, "contains") {
			check, part := "contains", text
			switch text[0] {
			case '-':
				check, part = "not_contains", text[1:]
			case '+':
				part = text[1:]
			}
			if part = strings.TrimSpace(part); part == "" {
				g.refuse(n.Position(), g.from+"."+key+".contains", fmt.Sprintf("%q looks for nothing", text))
				continue
			}
			entry(check, part)
		}
		if len(entries) == had {
			g.refuse(n.Position(), g.from+"."+key, "it has neither snapshot nor contains")
		}
	}
	if len(entries) > 0 {
		g.add("files", doc.Pairs{{Key: "expect", Value: entries}})
	}
	return nil
}
