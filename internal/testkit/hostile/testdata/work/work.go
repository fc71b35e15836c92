// Package work is what an agent works on.
package work
