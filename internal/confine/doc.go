// Package confine runs processes that can touch only what they are given.
//
//	s, err := confine.New(confine.Auto, nil)
//	...
//	p, err := s.Start(ctx, supervise.Command{Path: "go", Args: []string{"go", "test"}, Dir: workspace, Env: env},
//		confine.Policy{Write: []string{workspace, home, tmp}})
//
// A process under evaluation does what an agent decided, or runs code that an agent wrote: the kernel confines it and
// all its descendants, without their cooperation. There are several kinds of sandboxes, with different guarantees. No
// kind is taken on trust: a [Sandbox] reports only what was measured on this machine, by a process that tried to
// escape.
package confine
