// Package ci has the files in this directory, which users copy.
package ci

import _ "embed" // the files

// The files, each named by the tool that reads it.
var (
	//go:embed Makefile
	Makefile string
	//go:embed github.yml
	GitHub string
	//go:embed gitlab.yml
	GitLab string
)
