// Package worktree checks out commits of a repository in temporary git worktrees.
package worktree
