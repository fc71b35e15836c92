// Package supervise runs child processes and makes sure that none of their descendants survives. What a child may see
// or do is decided elsewhere, by packages confine and lockdown.
//
//	p, err := supervise.Start(ctx, supervise.Command{Path: "go", Args: []string{"go", "test"}, Env: env, Stdout: w})
//	if err != nil {
//		return err // no such program, no such directory
//	}
//	exit, err := p.Wait() // the whole tree is gone
//
// On Linux each child has its own supervisor, a process between us and the child. It is the program of package helper,
// started as [helper.Supervisor]. It is a child subreaper, so descendants that lose their parent become its children,
// whatever sessions and process groups they made. It kills all of them when the child ends, when we ask for it, or when
// its lifeline breaks: a socket whose other end only we hold, and which the kernel closes however we end. Then the
// supervisor is kept for some seconds for another child: it has no other process below it, and keeps nothing that the
// last child was given. A supervisor in an enclosure ends with its child. The child leads a process group of its own
// in a session without a terminal. If the supervisor itself is killed, the kernel sends the child SIGKILL and we send
// it to the child's process group; descendants in other groups escape. Only confinement can keep a hostile child from
// doing that.
//
// On other systems there is no supervisor, and the guarantees are weaker. On Unix a child leads a process group, which
// is killed when the child ends or is stopped. Descendants that leave the group survive, and all of them survive if we
// end suddenly. On Windows only the child itself is killed.
package supervise
