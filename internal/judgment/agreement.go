package judgment

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/secret"
)

// Agreements is what a project keeps of how far the judges of a playbook agree with people. People review and commit
// it; nothing but `sdd-eval agreement --keep` writes it.
type Agreements struct {
	Version int `json:"agreements"` // 1
	// Playbook is the path of the playbook, as [rundir.Playbook] has it: another may have the same name.
	Playbook string `json:"playbook"`
	// Run is the run that people labelled.
	Run string `json:"run"`
	// Files is a digest of the files that judge: prompts, scripts, goldens.
	Files string `json:"judging_files"`
	// Judges are the evaluators, by name.
	Judges map[string]Agreement `json:"judges"`
}

// Agreement is how far a judge agrees with people.
type Agreement struct {
	// Digest is of what the playbook says of the judge.
	Digest string `json:"digest"`
	// Units are those that both judged.
	Units int `json:"units"`
	// Kappa is Cohen's, with its 95 % interval; nil: unknown, since all say the same.
	Kappa *float64 `json:"kappa"`
	Low   *float64 `json:"low"`
	High  *float64 `json:"high"`
}

// fewestLabels is with how many it can be known how far a judge agrees: of fewer, all may be the same by chance.
const fewestLabels = 20

// maxAgreements is how large a file of agreements may be, in bytes.
const maxAgreements = 1 << 20

// AgreementsPath returns the path of a playbook's agreements, relative to the project's root.
func AgreementsPath(playbook string) string {
	return filepath.Join("baselines", playbook+".agreement.json")
}

// Write keeps the agreements, masked, at a path of the tree, where those of another playbook stay. Errors call it name.
func (a *Agreements) Write(tree disk.Tree, path, name string, mask *secret.Set) error {
	if was, err := readAgreements(path, name); err == nil && was.Playbook != a.Playbook {
		return was.another(name, a.Playbook)
	}
	data, err := jsonvalue.Indent(a)
	if err != nil {
		return err
	}
	if err := tree.MkdirAll(filepath.Dir(path)); err != nil {
		return err
	}
	return tree.Replace(path, mask.JSON(data), 0o644)
}

// another is the error for agreements that are not those of a playbook.
func (a *Agreements) another(name, playbook string) error {
	return fmt.Errorf("%s is of the playbook %s, which has the same name as %s: give one of them another `name`, or "+
		"remove the file", name, a.Playbook, playbook)
}

// ReadAgreements reads the agreements of a playbook; none at all are an error that says how to get some.
func ReadAgreements(path, name, playbook string) (*Agreements, error) {
	a, err := readAgreements(path, name)
	if err == nil && a.Playbook != playbook {
		err = a.another(name, playbook)
	}
	return a, err
}

func readAgreements(path, name string) (*Agreements, error) {
	data, err := disk.ReadRegular(path, maxAgreements)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, advised(fmt.Errorf("nobody has compared this judge with people: there is no %s", name))
	}
	if err != nil {
		return nil, err
	}
	a := new(Agreements)
	if err := jsonvalue.DecodeStrict(data, a, 0); err != nil {
		return nil, jsonvalue.In(name, err)
	}
	if a.Version != 1 {
		return nil, fmt.Errorf("%s: version %d; this program reads version 1", name, a.Version)
	}
	return a, nil
}

// Check returns an error unless a judge is known to agree with people as far as a minimum of kappa. Digest and files
// say what the judge is now.
func (a *Agreements) Check(judge, digest, files string, least float64) error {
	known, ok := a.Judges[judge]
	switch {
	case !ok:
		return advised(errors.New("nobody has compared this judge with people"))
	case known.Digest != digest || a.Files != files:
		return advised(errors.New("the judge, or a file that it judges by, has changed since people were compared " +
			"with it"))
	case known.Kappa == nil || known.Low == nil || known.High == nil:
		return advised(fmt.Errorf("%d labels do not tell whether the judge agrees with people", known.Units))
	case *known.Kappa < least:
		return fault.Advise(fmt.Errorf("the judge agrees with people with kappa %.2f, which is below min_agreement %v",
			*known.Kappa, least), "mend the judge, or write `required: false`")
	case *known.Low < least || known.Units < fewestLabels:
		return advised(fmt.Errorf("the judge agrees with people with kappa %.2f [%.2f to %.2f]: %d labels are too few "+
			"to know that it is at least %v", *known.Kappa, *known.Low, *known.High, known.Units, least))
	}
	return nil
}

func advised(err error) error {
	return fault.Advise(err, "let people say in human-pack.html which units are solved, import their scores.json, "+
		"and keep what `sdd-eval agreement --keep` finds")
}
