// Package hostile is a process that tries to escape from its sandbox, as a malicious agent could. Tests run it in
// sandboxes. What a sandbox holds is measured by internal/confine/probe, which is part of the product; this package is
// not. All of it is in its test files, so that nothing else can come to use it.
//
// The test binary is the hostile process when it is started under [Name]:
//
//	supervise.Command{Path: os.Args[0], Args: hostile.Args(target, hostile.Escapes()...)}
//
// It tries one [Escape] after the other and prints a [Report] for each, a line of JSON. A report is only the hostile
// process's own word; whether anything outside was harmed must be checked from outside: see [Proof].
package hostile
