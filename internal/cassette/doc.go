// Package cassette keeps what an agent did: at the level of tools, readable in a review, and the same bytes for the same
// behaviour.
//
// A cassette is a file of JSON lines: a header, the events of each turn followed by what the turn changed in the
// workspace, all timings in one line, and totals with checksums by which Read knows a file that was cut or edited.
package cassette
