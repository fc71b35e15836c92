// Package probe is the process that tries to escape from a sandbox, to find out which properties the sandbox has on
// this machine. Escapes that are only for tests belong in the internal package hostile. The package does not import
// net, which every build of the helper would have to compile.
package probe

import "time"

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
	// SetIDs: leave a file with the setuid or setgid bit, which runs with our rights if others start it.
	SetIDs Property = "set-uid files"
	// Namespaces: have capabilities, be it in a user namespace of its own.
	Namespaces Property = "user namespaces"
	// Interfaces: use what no ordinary program needs of the kernel, such as sockets of rare families, bpf, userfaultfd.
	Interfaces Property = "kernel interfaces"
	// Forks: start more threads than its limit.
	Forks Property = "fork bombs"
	// Memory: have more memory than its limit, be it in files in memory.
	Memory Property = "memory"
	// CPU: take more of the processors than its limit.
	CPU Property = "cpu"
	// Disk: fill the disk past its limit, be it by files that it has removed and holds open.
	Disk Property = "disk"
)

// All returns all properties in the order in which they are shown.
func All() []Property {
	return []Property{
		FilesRead, FilesWritten, FileModes, SetIDs, Terminals, Processes, Sockets, Network, Namespaces, Interfaces,
		Forks, Memory, CPU, Disk,
	}
}

// Targets describes what a prober tries to reach outside of its sandbox. The prober reads it as JSON from its standard
// input, and prints as JSON which properties the sandbox has.
type Targets struct {
	Dir     string // a directory with SecretFile
	Own     string // a directory that the prober may write
	Tty     string // the path of a terminal, or empty
	Process int    // the id of a process
	PIDs    string // the process namespace of that id
	Marker  string // a variable in the environment of Process
	Socket  string // the path of a listening unix socket
	Address string // the address of an abstract unix socket, which begins with @
	TCP     string // the address and port of a listener, or empty: then the network is not tried
	UDP     string // the address and port of a listener

	// If one of these is not 0, nothing else is tried.
	Threads int           // how many threads to start
	Memory  int64         // how many bytes of memory to have
	CPU     time.Duration // how long to be at work on a processor
	Disk    int64         // how many bytes to write to Own
}

// The file in Targets.Dir that has a secret, and the text of that file and of packets.
const (
	SecretFile = "secret"
	SecretText = "not for you"
)

// Exceeded is what a prober prints if it could have what Targets says of threads, memory, processors or disk.
const Exceeded = "exceeded"
