package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// maxSize bounds the files whose content is looked at.
const maxSize = 16 << 20

// judge implements [evaluator.Evaluator].
type judge struct{ files []file }

// file is what is expected of one file.
type file struct {
	path           string // clean, below the workspace
	exists, absent bool
	checks         []check // of the content
}

func (judge) Needs() evaluator.Needs { return evaluator.NeedsWorkspace }

func (j judge) Evaluate(ctx context.Context, in evaluator.Input) evaluator.Verdict {
	if in.Workspace == "" {
		return failed(errors.New("no workspace"))
	}
	root, err := os.OpenRoot(in.Workspace)
	if err != nil {
		return failed(fmt.Errorf("open the workspace: %w", err))
	}
	defer root.Close()
	var r report
	for _, f := range j.files {
		if err := ctx.Err(); err != nil {
			return failed(err)
		}
		if err := f.judge(root, &r); err != nil {
			return failed(err)
		}
	}
	return r.verdict()
}

// failed is the verdict when nothing is known about the agent.
func failed(err error) evaluator.Verdict {
	return evaluator.Verdict{Outcome: result.Error, Reason: err.Error()}
}

// judge adds what holds and what does not to the report. An error says that this could not be found out.
func (f file) judge(root *os.Root, r *report) error {
	if f.absent {
		problem, err := f.lookForNothing(root)
		r.add(f.path, "is absent", problem)
		return err
	}
	info, problem, err := f.look(root)
	if err != nil {
		return err
	}
	if f.exists {
		r.add(f.path, "exists", problem)
	}
	if len(f.checks) == 0 {
		return nil
	}
	var content []byte
	if problem == "" {
		if content, problem, err = f.read(root, info); err != nil {
			return err
		}
	}
	for _, c := range f.checks {
		p := problem
		if p == "" {
			p = c.problem(content)
		}
		r.add(f.path, c.what, p)
	}
	return nil
}

// lookForNothing returns what is there although nothing should be.
func (f file) lookForNothing(root *os.Root) (problem string, err error) {
	info, err := root.Lstat(f.path)
	switch {
	case isNotExist(err):
		return "", nil
	case isEscape(err):
		return leadsOut, nil
	case err != nil:
		return "", err
	default:
		return "it is there: " + describe(info), nil
	}
}

// look follows links, but not out of the workspace.
func (f file) look(root *os.Root) (info fs.FileInfo, problem string, err error) {
	info, err = root.Stat(f.path)
	switch {
	case isNotExist(err):
		if _, err := root.Lstat(f.path); err == nil {
			return nil, "it is a link to nothing", nil
		}
		return nil, "it does not exist", nil
	case isEscape(err):
		return nil, leadsOut, nil
	case errors.Is(err, syscall.ELOOP):
		return nil, "it is a link without end", nil
	default:
		return info, "", err
	}
}

// read returns the content. Only regular files are opened: a pipe would block.
func (f file) read(root *os.Root, info fs.FileInfo) (content []byte, problem string, err error) {
	if !info.Mode().IsRegular() {
		return nil, "it is " + describe(info), nil
	}
	in, err := root.Open(f.path)
	if err != nil {
		return nil, "", err
	}
	defer in.Close()
	content, err = io.ReadAll(io.LimitReader(in, maxSize+1))
	if err == nil && len(content) > maxSize {
		err = fmt.Errorf("%s is larger than the %d MiB that are looked at", f.path, maxSize>>20)
	}
	return content, "", err
}

const leadsOut = "it leads out of the workspace"

// isNotExist reports whether there is no such file; a file in the place of a directory counts.
func isNotExist(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// isEscape reports whether os.Root refused to leave the workspace. It has no error value for that.
func isEscape(err error) bool {
	var e *fs.PathError
	return errors.As(err, &e) && strings.Contains(e.Err.Error(), "path escapes")
}

func describe(info fs.FileInfo) string {
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return fmt.Sprintf("a file of %d bytes", info.Size())
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeSymlink != 0:
		return "a link"
	default:
		return "no regular file"
	}
}
