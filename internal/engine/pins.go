package engine

import "os"

// pins remember directories that an agent could put something else in the place of: a link there would lead what we
// write, and what we read, to the user's own files.
type pins struct {
	paths []string
	infos []os.FileInfo
}

// replacedError says that there is something else at a path than was.
type replacedError struct{ path string }

func (e replacedError) Error() string {
	return "the agent put something else in the place of " + e.path
}

// pin remembers what is at these paths, which are directories.
func pin(paths ...string) (pins, error) {
	all := pins{paths: paths}
	for _, p := range paths {
		info, err := os.Lstat(p)
		if err != nil {
			return pins{}, err
		}
		all.infos = append(all.infos, info)
	}
	return all, nil
}

// check returns an error unless the same directories still stand there.
func (p pins) check() error {
	for i, path := range p.paths {
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		if !info.IsDir() || !os.SameFile(info, p.infos[i]) {
			return replacedError{path}
		}
	}
	return nil
}
