package acptest

import (
	"fmt"
	"strings"
)

// rule is what an agent has to do, and why.
type rule struct {
	name string
	text string // in lines
	// check tests the rule in a conversation and returns what the agent did instead.
	check func(*kit) error
	// unseen says why an invariant was not checked if the agent sent nothing that it is about.
	unseen string
}

// broken returns the failure's text: the rule, what happened, and where that can be seen.
func (r rule) broken(what, where string) string {
	text := fmt.Sprintf("broken rule %s\n%s\ngot: %s", r.name, r.text, what)
	if where != "" {
		text += "\n" + where
	}
	return strings.ReplaceAll(text, "\n", "\n\t")
}

// conversations are the rules that are tested in a conversation of their own.
var conversations = []rule{
	{
		name: "initialize",
		text: `initialize is answered by a result with a whole number as protocolVersion and, if the agent needs
authentication, with authMethods that have an id and a name.`,
		check: checkInitialize,
	},
	{
		name: "version",
		text: `An agent answers initialize with the requested protocol version if it supports that version, else with
the latest that it supports. The client decides whether to hang up.`,
		check: checkVersion,
	},
	{
		name: "unknown-method",
		text: `A request with a method that the agent does not know is answered by the error -32601, so that
clients can try what is optional.`,
		check: checkUnknownMethod,
	},
	{
		name:  "unknown-notification",
		text:  `A notification that the agent does not know is ignored: newer clients may send some.`,
		check: checkUnknownNotification,
	},
	{
		name:  "bad-params",
		text:  `A request with invalid params is answered by an error.`,
		check: checkBadParams,
	},
	{
		name:  "not-json",
		text:  `A line that is not JSON does not end the connection.`,
		check: checkNotJSON,
	},
	{
		name:  "session-new",
		text:  `session/new is answered by a result with a sessionId, a different one for each session.`,
		check: checkSessionNew,
	},
	{
		name: "offers",
		text: `The current mode, and the current value of each config option, is one of the choices that the session
offers. Modes, options and values have distinct ids.`,
		check: checkOffers,
	},
	{
		name:  "set-mode",
		text:  `Every mode that a session offers can be set, and no other.`,
		check: checkSetMode,
	},
	{
		name: "set-config-option",
		text: `Every value that a session's config options offer can be set, and no other. The answer has all
options with their current values.`,
		check: checkSetConfigOption,
	},
	{
		name: "prompt",
		text: `session/prompt is answered, when the turn ends, by a result with a stopReason that the protocol
defines; then the session accepts the next prompt.`,
		check: checkPrompt,
	},
	{
		name: "cancel",
		text: `After session/cancel the turn ends soon, with the stopReason "cancelled" and not with an error; then
the session accepts the next prompt.`,
		check: checkCancel,
	},
	{
		name: "cancel-idle",
		text: `A session/cancel that arrives when there is no turn changes nothing: the turn may have ended while it
was on its way.`,
		check: checkCancelIdle,
	},
	{
		name:  "reads-during-turn",
		text:  `An agent reads and answers messages during a turn; otherwise the turn could not be cancelled.`,
		check: checkReadsDuringTurn,
	},
	{
		name: "end",
		text: `The agent ends when its standard input ends, even during a turn: that is how a client says that it is
done.`,
		check: checkEnd,
	},
}

// invariants are the rules that are checked on everything that the agents of a run send.
var invariants = []rule{
	{
		name: "framing",
		text: `Every line of an agent's standard output is one message of JSON-RPC 2.0, a JSON object with
"jsonrpc":"2.0". Logs go to standard error.`,
		unseen: "the agent sent nothing",
	},
	{
		name: "ids",
		text: `A response has the id of its request, a number as a number and a string as a string: a client has
nothing else to match them by.`,
		unseen: "the agent answered nothing",
	},
	{
		name: "responses",
		text: `A request gets exactly one response and a notification none: a client forgets a request once it is
answered.`,
		unseen: "the agent answered nothing",
	},
	{
		name: "results",
		text: `A response has either a result, which is an object, or an error, which has a whole number as its
code and a string as its message.`,
		unseen: "the agent answered nothing",
	},
	{
		name: "order",
		text: `The answer to initialize is the first thing that an agent sends: before it, neither side knows what
the other understands.`,
		unseen: "the agent did not answer initialize",
	},
	{
		name: "notifications",
		text: `Notifications, such as session/update, have no id, and requests have one: a client answers what has
an id, and nothing else.`,
		unseen: "the agent sent neither notifications nor requests",
	},
	{
		name:   "capabilities",
		text:   `An agent asks a client only for what the client has offered in initialize.`,
		unseen: "the agent sent neither notifications nor requests",
	},
	{
		name: "updates",
		text: `An update names its kind and its session, which the client has opened or is opening, and has the
fields that its kind requires.`,
		unseen: "the agent sent no updates",
	},
	{
		name: "tool-calls",
		text: `A tool call is announced, by tool_call or by a request for permission, before it is updated. It has
an id, a title, and a status and kind that the protocol defines.`,
		unseen: "the agent called no tools",
	},
	{
		name: "permissions",
		text: `A request for permission names its session and its tool call, and offers options, each with an id of
its own, a name, and a kind that the protocol defines: clients decide by the kind and answer with
the id.`,
		unseen: "the agent asked for no permission",
	},
	{
		name:   "files",
		text:   `Requests for files name their session, an absolute path, and lines that count from 1.`,
		unseen: "the agent asked for no files",
	},
}
