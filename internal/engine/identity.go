package engine

import "os"

// identity remembers directories that an agent could put something else in the place of: a link there would lead what we
// write, and what we read, to the user's own files.
type identity struct {
	paths []string
	infos []os.FileInfo
}

// replacedError says that there is something else at a path than was.
type replacedError struct{ path string }

func (e replacedError) Error() string {
	return "the agent put something else in the place of " + e.path
}

// identify remembers what is at these paths, which are directories.
func identify(paths ...string) (identity, error) {
	id := identity{paths: paths}
	for _, p := range paths {
		info, err := os.Lstat(p)
		if err != nil {
			return identity{}, err
		}
		id.infos = append(id.infos, info)
	}
	return id, nil
}

// check returns an error unless the same directories still stand there.
func (id identity) check() error {
	for i, p := range id.paths {
		info, err := os.Lstat(p)
		if err != nil {
			return err
		}
		if !info.IsDir() || !os.SameFile(info, id.infos[i]) {
			return replacedError{p}
		}
	}
	return nil
}
