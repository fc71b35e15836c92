package acptest

// habit is a rule that is held against everything that the agents of a run send.
type habit struct {
	rule
	unseen string // why it was not checked, if nothing was held against it
}

var habits = []habit{
	{rule{"framing", "Every line of an agent's standard output is one message of JSON-RPC 2.0, a JSON object with " +
		`"jsonrpc":"2.0". Logs go to standard error.`}, "the agent said nothing"},
	{rule{"ids", "A response has the id of its request, a number as a number and a string as a string, for that is " +
		"all by which a client can match them."}, "the agent answered nothing"},
	{rule{"responses", "There is exactly one response to each request and none to a notification: a client that has its " +
		"answer has forgotten the request."}, "the agent answered nothing"},
	{rule{"results", "A response has either a result, which is an object, or an error, which has a whole number as its code " +
		"and a string as its message."}, "the agent answered nothing"},
	{rule{"order", "The answer to initialize is the first thing that an agent sends: before it, neither side knows what " +
		"the other understands."}, "the agent did not answer initialize"},
	{rule{"notifications", "Notifications, such as session/update, have no id, and requests have one: a client answers " +
		"what has an id, and nothing else."}, "the agent sent neither notifications nor requests"},
	{rule{"capabilities", "An agent asks a client only for what the client has offered in initialize."},
		"the agent sent neither notifications nor requests"},
	{rule{"updates", "An update names its session, which the client has opened or is about to, and its kind, and has what its " +
		"kind needs."}, "the agent sent no updates"},
	{rule{"tool-calls", "A tool call is announced, by tool_call or by a request for permission, before it is updated. It has an " +
		"id, a title, and a status and kind that the protocol knows."}, "the agent called no tools"},
	{rule{"permissions", "A request for permission names its session and its tool call, and offers options, each with an id of its own, " +
		"a name, and a kind that the protocol knows: clients decide by the kind and answer with the id."},
		"the agent asked for no permission"},
	{rule{"files", "Requests for files name their session, an absolute path, and lines that count from 1."},
		"the agent asked for no files"},
}
