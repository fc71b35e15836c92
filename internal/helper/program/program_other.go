//go:build !linux

package program

var systemPrograms map[string]func(args []string) int
