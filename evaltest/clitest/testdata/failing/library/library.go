// Package library is no command.
package library
