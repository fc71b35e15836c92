// Package probe is the process that tries to get out of a sandbox, to find out what the sandbox holds on this machine.
// It does without package net, which every build of the helper would have to compile.
package probe

// Property is something that a process outside its policy cannot do.
type Property string

// The properties, in the order in which they are shown.
const (
	// FilesRead: read a file outside.
	FilesRead Property = "files read"
	// FilesWritten: create, change or remove a file outside.
	FilesWritten Property = "files written"
	// FileModes: change the mode or times of a file outside.
	FileModes Property = "file modes"
	// Terminals: read or write another terminal of the same user.
	Terminals Property = "terminals"
	// Processes: signal a process outside, read its memory or environment, or change its limits.
	Processes Property = "processes"
	// Sockets: connect to a unix socket outside, be it a file or an abstract one.
	Sockets Property = "unix sockets"
	// Network: reach another process by TCP or UDP, where the policy has no network.
	Network Property = "network"
	// Forks: grow to more threads than it may have.
	Forks Property = "fork bombs"
)

// Targets are what a prober tries to get at; they lie outside of its sandbox. It reads them as JSON from its standard
// input, and prints as JSON which properties held.
type Targets struct {
	Dir     string // holds SecretFile
	Tty     string // a terminal; empty: there are none
	Process int    // of our own
	PIDs    string // the process namespace in which Process counts
	Marker  string // a variable in the environment of Process
	Socket  string // of a listening unix socket
	Address string // of an abstract one, which begins with @
	TCP     string // the address and port of a listener; empty: the network is not tried
	UDP     string // of another
	Threads int    // how many to start; nothing else is tried then
}

// Where Targets.Dir has its secret, and the text of that file and of packets.
const (
	SecretFile = "secret"
	SecretText = "not for you"
)

// AllStarted is what a prober prints that could start all the threads that it was to.
const AllStarted = "all started"
