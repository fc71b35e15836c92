package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/baseline"
	"github.com/sdd-eval/sdd-eval/internal/compare"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/skill"
)

// checkGate returns an error for a gate without the baseline that it compares with.
func (a *App) checkGate(o skillOptions, s *skill.Suite) error {
	if o.gate == "" {
		return nil
	}
	file := s.File(s.Baseline(o.triggers))
	if _, err := os.Lstat(file); err != nil {
		return usageError("skill: --gate compares with %s, which is not there", a.shown(file)).
			hint(o.line("--bless"))
	}
	return nil
}

// gateSkill returns the error of a run in which nothing ended in an error, by the baseline if there is one, and writes
// that if it is to be blessed.
func (a *App) gateSkill(r *skillRun, done engine.Finished) error {
	front, file := *r.options.front, r.suite.File(r.suite.Baseline(r.options.front.triggers))
	err := verdict(done.Verdict, done.ID, r.options.root)
	if err != nil && done.Verdict.Outcome != result.Fail {
		return err
	}
	now, readErr := a.find(r.suite.Root).Run(done.ID)
	if readErr != nil {
		return readErr
	}
	if front.bless {
		return a.blessSkill(r, now)
	}
	gate := compare.Gate(cmp.Or(front.gate, string(compare.GateWorse)))
	was, readErr := baseline.Read(file)
	if errors.Is(readErr, fs.ErrNotExist) {
		return err
	} else if readErr != nil {
		return &exitError{code: exitHarness, err: readErr, next: front.line("--bless")}
	}
	ruling := was.Rule(a.shown(file), now, skill.With, failed(done.Verdict), gate)
	for _, line := range ruling.Lines {
		fmt.Fprintln(a.Stderr, printable(a.secrets.String(line)))
	}
	if ruling.Why == nil {
		return nil
	}
	return &exitError{code: ruling.Exit, err: ruling.Why, next: "if it is right so: " + front.line("--bless")}
}

// failed returns the cases that failed with the skill, as baselines call them.
func failed(v result.Run) (ids []string) {
	for _, c := range v.Cases {
		if u := c.Units[0]; u.Variant == skill.With && c.Outcome.Bad() {
			ids = append(ids, strings.TrimSuffix(u.ID, fmt.Sprintf("/%s/%d", u.Variant, u.Trial)))
		}
	}
	return ids
}

// blessSkill keeps what the run came to as the baseline of the skill.
func (a *App) blessSkill(r *skillRun, b *baseline.Baseline) error {
	path := filepath.FromSlash(r.suite.Baseline(r.options.front.triggers))
	if err := baseline.WriteFile(r.suite.Root, path, b, a.secrets); err != nil {
		return fmt.Errorf("keep the baseline: %w", err)
	}
	fmt.Fprintf(a.Stderr, "baseline   %s is written: commit it\n", a.shown(filepath.Join(r.suite.Root, path)))
	return nil
}
