// Package cassette keeps what an agent did: at the level of tools, readable in a review, and the same bytes for the same
// behaviour.
//
// A cassette is a file of JSON lines. The first is the header. Each turn begins with a line of its own, then come the
// turn's events, then what the turn changed in the workspace, one line per file. The last line but one has the times of
// all events, so that two recordings of the same behaviour differ in little else. The last has totals and checksums, by
// which Read recognises a file that was cut or edited and can name the line.
package cassette
