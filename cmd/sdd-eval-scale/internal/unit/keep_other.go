//go:build !unix

package unit

func keep() {}
