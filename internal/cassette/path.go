package cassette

import (
	"fmt"
	"path/filepath"
	"strconv"
)

// Path returns where a unit's cassette is: dir/playbook/case/variant.trial.jsonl. Playbook is the playbook's path below
// the module root, without extension, with slashes. A path that leads elsewhere is a mistake of the caller.
func Path(dir, playbook, caseID, variant string, trial int) string {
	below := filepath.Join(filepath.FromSlash(playbook), caseID, variant+"."+strconv.Itoa(trial)+".jsonl")
	if !filepath.IsLocal(filepath.FromSlash(playbook)) || !filepath.IsLocal(below) {
		panic(fmt.Sprintf("cassette.Path: %q is not the path of a playbook below the module root", playbook))
	}
	return filepath.Join(dir, below)
}
