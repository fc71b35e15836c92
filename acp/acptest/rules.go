package acptest

import (
	"fmt"
	"strings"
)

// rule is what an agent has to do, and why.
type rule struct {
	name string
	text string // in lines
	// check tries the rule out and returns what the agent did instead.
	check func(*kit) error
	// unseen says why the rule was not checked if nothing was held against it.
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

// conversations are the rules that are tried out.
var conversations = []rule{
	{
		name: "initialize",
		text: `initialize is answered by a result with a whole number as protocolVersion and, if the agent needs
authentication, with authMethods that have an id and a name.`,
		check: checkInitialize,
	},
	{
		name: "version",
		text: `An agent that is asked for a version of the protocol answers with that version if it speaks it, else
with the latest that it does speak, and leaves it to the client to hang up.`,
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
		text:  `A request whose params make no sense is answered by an error.`,
		check: checkBadParams,
	},
	{
		name:  "not-json",
		text:  `A line that is not JSON does not end the connection.`,
		check: checkNotJSON,
	},
	{
		name:  "session-new",
		text:  `session/new is answered by a result with a sessionId, another one for each session.`,
		check: checkSessionNew,
	},
	{
		name: "offers",
		text: `What is current among the modes and config options of a session is one of those that can be chosen,
and each has an id of its own.`,
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
knows; then the session takes the next prompt.`,
		check: checkPrompt,
	},
	{
		name: "cancel",
		text: `After session/cancel the turn ends soon, with the stopReason "cancelled" and not with an error; then
the session takes the next prompt.`,
		check: checkCancel,
	},
	{
		name: "cancel-idle",
		text: `A session/cancel that comes when no turn is going on changes nothing: it may have crossed the end of
the turn on its way.`,
		check: checkCancelIdle,
	},
	{
		name:  "reads-during-turn",
		text:  `An agent reads and answers while a turn is going on, or it could not be cancelled.`,
		check: checkReadsDuringTurn,
	},
	{
		name: "end",
		text: `The end of standard input ends the agent, in the middle of a turn, too: it is how a client says that
it is done.`,
		check: checkEnd,
	},
}

// habits are the rules that are held against everything that the agents of a run send.
var habits = []rule{
	{
		name: "framing",
		text: `Every line of an agent's standard output is one message of JSON-RPC 2.0, a JSON object with
"jsonrpc":"2.0". Logs go to standard error.`,
		unseen: "the agent said nothing",
	},
	{
		name: "ids",
		text: `A response has the id of its request, a number as a number and a string as a string, for that is all
by which a client can match them.`,
		unseen: "the agent answered nothing",
	},
	{
		name: "responses",
		text: `There is exactly one response to each request and none to a notification: a client that has its
answer has forgotten the request.`,
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
		text: `An update names its session, which the client has opened or is about to, and its kind, and has what
its kind needs.`,
		unseen: "the agent sent no updates",
	},
	{
		name: "tool-calls",
		text: `A tool call is announced, by tool_call or by a request for permission, before it is updated. It has
an id, a title, and a status and kind that the protocol knows.`,
		unseen: "the agent called no tools",
	},
	{
		name: "permissions",
		text: `A request for permission names its session and its tool call, and offers options, each with an id of
its own, a name, and a kind that the protocol knows: clients decide by the kind and answer with the
id.`,
		unseen: "the agent asked for no permission",
	},
	{
		name:   "files",
		text:   `Requests for files name their session, an absolute path, and lines that count from 1.`,
		unseen: "the agent asked for no files",
	},
}
