// Package acptest checks whether an agent follows the rules of the Agent Client Protocol, version 1, that clients rely
// on.
//
// It is meant for authors of agents and adapters, in the manner of testing/slogtest: [Run] talks to the agent as a
// client and fails a subtest for every rule that the agent breaks, with the rule, what happened instead, and the last
// messages.
//
//	func TestAgent(t *testing.T) {
//		acptest.Run(t, func(t *testing.T) acptest.Agent {
//			return acptest.Start(t, exec.Command("my-agent", "--acp"))
//		})
//	}
//
// Some rules are tested in a conversation of their own; others are checked on everything that the agent sends
// meanwhile. A rule that could not be checked, because the agent never did what it is about, is skipped and says so.
package acptest
