// Package trajectory describes what a coding agent did and matches it with what was expected.
package trajectory
