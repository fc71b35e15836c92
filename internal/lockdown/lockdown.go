// Package lockdown takes rights from a thread, and so from every process that it starts, for good. Which rights a
// process keeps is decided by package confine.
//
// Go has no hook between fork and exec. Instead a thread that will end soon locks itself down and starts the process;
// the other threads of its process keep their rights.
package lockdown

// ScopeABI and ConnectABI are the first versions of Landlock that keep a process from abstract unix sockets outside,
// and that have rules about connecting to unix sockets by path.
const (
	ScopeABI   = 6
	ConnectABI = 9
)

// Rules say which rights remain. The zero value leaves all files, the internet and unix sockets, and takes only what no
// ordinary program needs: capabilities, also those in new user namespaces, gaining rights by exec, files with the
// setuid or setgid bit or more than 2 TiB, kernel interfaces that bypass other rules, sockets of other families, and
// core dumps.
type Rules struct {
	// Files leaves only the files of Read, Write and Devices. It also takes what processes share without files: System
	// V memory, messages and semaphores, and the limits and priorities of other processes.
	Files bool
	// Read and Write list files and directories, with everything below them. Paths that do not exist are ignored. Files
	// that may be written may also be read and executed.
	Read, Write []string
	// List lists directories whose entries, and those of directories below, may be listed but not read.
	List []string
	// Devices lists device files that may be read, written and controlled.
	Devices []string
	// Fixed lists mounts that are made read-only, as far as the thread may. A device so keeps its mode, and can be
	// written all the same.
	Fixed []string
	// Connect lists directories below which the process may connect to unix sockets of processes outside. Before
	// [ConnectABI] it can connect to them everywhere, unless it is Unconnected.
	Connect []string
	// Offline leaves no sockets of the internet.
	Offline bool
	// Unconnected leaves no unix sockets but pairs of connected ones.
	Unconnected bool
	// Namespaces leaves user namespaces, with capabilities in them.
	Namespaces bool
}
