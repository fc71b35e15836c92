// Package supervise runs child processes and lets nothing of them survive.
//
//	p, err := supervise.Start(ctx, supervise.Command{Path: "go", Args: []string{"go", "test"}, Env: env, Stdout: w})
//	if err != nil {
//		return err // no such program, no such directory
//	}
//	exit, err := p.Wait() // the whole tree is gone
//
// On Linux every child has a supervisor for itself between us and it, which is the program of package helper, started
// as [helper.Supervisor]. It is a child subreaper, so descendants that lose their parent become its children, whatever
// sessions and process groups they made, and it ends them all when the child ends, when it is told to, or when its
// lifeline breaks: a socket whose other end only we hold, which the kernel closes when we end, however that comes
// about. When all of them have ended, the supervisor is kept for some seconds for another child: it has no other
// process below it then, and keeps nothing of what the last child was given. One that is in an enclosure ends with it.
// The child is the leader of a process group of its own within a session without a terminal. If the supervisor itself
// is killed, the child gets SIGKILL from the kernel and its process group from us; descendants in other groups then get
// away. Only confinement can keep a hostile child from doing that.
//
// On other systems there is no supervisor, and the guarantees are weaker: on Unix a child is the leader of a process
// group, which is killed when the child ends or is stopped; descendants that leave the group survive, and all of them
// survive a sudden end of ours. On Windows only the child itself is ended.
package supervise
