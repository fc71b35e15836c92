package relay

import "strconv"

// A relay that may have no unix socket makes two named pipes beside the socket, opens the one that it writes, says the
// number of its process, padded to CallSize digits, to the pipe [Calls], and opens the one that it reads, for which it
// has to wait until the proxy has opened both: that one last.

// CallSize is how many bytes a call has.
const CallSize = 10

// Calls returns the path of the pipe for calls to a socket.
func Calls(socket string) string { return socket + ".calls" }

// Pipes returns the names of the pipes that a call is about: those that the relay writes to and reads from.
func Pipes(call string) (to, from string, ok bool) {
	if _, err := strconv.ParseUint(call, 10, 64); err != nil || len(call) != CallSize {
		return "", "", false
	}
	return call + ".to", call + ".from", true
}
