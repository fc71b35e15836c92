// Package lockdown takes rights away from a thread, and so from every process that it starts, for good.
//
// It is made for the moment between fork and exec that Go does not have: a thread that will end soon locks itself down
// and starts the process; the other threads of its own process keep their rights.
package lockdown

// Rules say what is left. The zero value leaves all files and sockets, and takes only what no program needs: capabilities,
// the gaining of rights by exec, kernel interfaces that go around other rules, and core dumps.
type Rules struct {
	// Files leaves no files but those of Read, Write and Devices, and no part in what processes of a machine share without
	// files: System V memory, messages and semaphores, and the limits and priorities of others.
	Files bool
	// Read and Write are files and directories, with all that is below. One that does not exist is passed over. What may be
	// written may be read and executed.
	Read, Write []string
	// List are directories whose entries may be listed, with all that is below, but not read.
	List []string
	// Devices are device files that may be read, written and controlled.
	Devices []string
	// Connect are directories below which unix sockets of processes outside may be connected to. Kernels before ABI 9 of
	// Landlock let them be connected to wherever they are.
	Connect []string
	// Offline leaves no sockets but unix ones.
	Offline bool
}
