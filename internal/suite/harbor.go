package suite

import (
	"os"
	"path/filepath"
	"slices"
)

// harbor is the format of Harbor's tasks, and of those of terminal-bench before it. They are recognised only: what they
// need are containers.
var harbor = Format{
	Name: "harbor", What: "a task of Harbor or terminal-bench", of: harborOf,
	Later: "no command converts it yet, as its agent and its tests run in the container of environment/. Write a " +
		"playbook: instruction.md is its prompt, what the Dockerfile copies its workspace, what tests/test.sh " +
		"checks an evaluator of type command",
}

// harborOf is [Format.of] of Harbor: a task, a file of one, or a directory of tasks.
func harborOf(file string) string {
	is := func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && info.Mode().IsRegular()
	}
	task := func(dir string) bool {
		beside := func(names ...string) bool {
			return slices.ContainsFunc(names, func(name string) bool { return is(filepath.Join(dir, name)) })
		}
		steps, err := os.Stat(filepath.Join(dir, "steps"))
		return beside("task.toml") && (beside("instruction.md", "tests/test.sh") || err == nil && steps.IsDir()) ||
			beside("task.yaml", "task.yml") && beside("run-tests.sh", "docker-compose.yaml", "docker-compose.yml")
	}
	if is(file) {
		at := filepath.Dir(file)
		switch filepath.Base(file) {
		case "task.toml", "task.yaml", "task.yml", "instruction.md":
		case "test.sh", "solve.sh":
			at = filepath.Dir(at)
		default:
			return ""
		}
		if task(at) {
			return at
		}
		return ""
	}
	if task(file) {
		return file
	}
	for _, name := range []string{"*/task.toml", "*/task.yaml"} {
		found, err := filepath.Glob(filepath.Join(file, name))
		if err == nil && len(found) > 0 && task(filepath.Dir(found[0])) {
			return file
		}
	}
	return ""
}
