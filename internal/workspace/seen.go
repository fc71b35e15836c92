package workspace

import "io/fs"

// Seen has what somebody found in files of a workspace who read them for another reason. They need not be read again as
// long as nobody can have changed them: times of files do not tell, since what is written through a mapping changes
// none on some file systems. The zero value has nothing. It is for one goroutine.
type Seen struct{ files map[string]Entry }

// Add adds a file with its content.
func (s *Seen) Add(path string, info fs.FileInfo, content []byte) {
	if s.files == nil {
		s.files = make(map[string]Entry)
	}
	s.files[path] = Entry{
		Path: path, Kind: File, Exec: executable(info), Size: int64(len(content)), Digest: digest(content),
	}
}

func (s *Seen) at(p string) (e Entry, ok bool) {
	if s != nil {
		e, ok = s.files[p]
	}
	return e, ok
}
