// Package worktree checks out commits of a repository beside it, for as long as somebody needs them.
package worktree
