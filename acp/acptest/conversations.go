package acptest

import (
	"fmt"
)

// conversation is a rule that is tried out. Its check returns what the agent did instead.
type conversation struct {
	rule
	check func(*kit) error
}

var conversations = []conversation{
	{rule{"initialize", "initialize is answered by a result with a whole number as protocolVersion and, if the agent " +
		"needs authentication, with authMethods that have an id and a name."}, checkInitialize},
	{rule{"version", "An agent that is asked for a version of the protocol answers with that version if it speaks it, " +
		"else with the latest that it does speak, and leaves it to the client to hang up."}, checkVersion},
	{rule{"unknown-method", "A request with a method that the agent does not know is answered by the error -32601, so that " +
		"clients can try what is optional."}, checkUnknownMethod},
	{rule{"unknown-notification", "A notification that the agent does not know is ignored: newer clients may send some."},
		checkUnknownNotification},
	{rule{"bad-params", "A request whose params make no sense is answered by an error."}, checkBadParams},
	{rule{"not-json", "A line that is not JSON does not end the connection."}, checkNotJSON},
	{rule{"session-new", "session/new is answered by a result with a sessionId, another one for each session."}, checkSessionNew},
	{rule{"offers", "What is current among the modes and config options of a session is one of those that can be chosen, and each " +
		"has an id of its own."}, checkOffers},
	{rule{"set-mode", "Every mode that a session offers can be set, and no other."}, checkSetMode},
	{rule{"set-config-option", "Every value that a session's config options offer can be set, and no other. The answer has all " +
		"options with their current values."}, checkSetConfigOption},
	{rule{"prompt", "session/prompt is answered, when the turn ends, by a result with a stopReason that the protocol knows; " +
		"then the session takes the next prompt."}, checkPrompt},
	{rule{"cancel", "After session/cancel the turn ends soon, with the stopReason \"cancelled\" and not with an error; then the " +
		"session takes the next prompt."}, checkCancel},
	{rule{"cancel-idle", "A session/cancel that comes when no turn is going on changes nothing: it may have crossed the end of the " +
		"turn on its way."}, checkCancelIdle},
	{rule{"reads-during-turn", "An agent reads and answers while a turn is going on, or it could not be cancelled."},
		checkReadsDuringTurn},
	{rule{"end", "The end of standard input ends the agent, in the middle of a turn, too: it is how a client says that it " +
		"is done."}, checkEnd},
}

func checkInitialize(k *kit) error {
	r, err := k.connect(noCapabilities).initialize(1)
	if err != nil {
		return err
	}
	if _, ok := r.Result.number("protocolVersion"); !ok {
		return fmt.Errorf("initialize was answered by %s", r.outcome())
	}
	for _, m := range r.Result.list("authMethods") {
		if m.text("id") == "" || m.text("name") == "" {
			return fmt.Errorf("the authentication method %s", compact(m))
		}
	}
	return nil
}

func checkVersion(k *kit) error {
	const future = 65535
	for _, version := range []int{1, future} {
		r, err := k.connect(noCapabilities).initialize(version)
		if err != nil {
			return err
		}
		got, ok := r.Result.number("protocolVersion")
		if !ok || version == 1 && got != 1 || version == future && (got < 1 || got >= future) {
			return fmt.Errorf("initialize with protocolVersion %d was answered by %s", version, r.outcome())
		}
	}
	return nil
}

func checkUnknownMethod(k *kit) error {
	c, err := k.ready(noCapabilities)
	if err != nil {
		return err
	}
	for _, method := range []string{"acptest/unknown", "_acptest/unknown"} {
		r, err := c.call(method, object{})
		if err != nil {
			return err
		}
		if code, _ := r.Error.number("code"); code != -32601 {
			return fmt.Errorf("%s was answered by %s", method, r.outcome())
		}
	}
	return nil
}

func checkUnknownNotification(k *kit) error {
	c, err := k.ready(noCapabilities)
	if err != nil {
		return err
	}
	c.notify("acptest/unknown", object{})
	c.notify("_acptest/unknown", object{})
	return c.lives("an unknown notification")
}

func checkNotJSON(k *kit) error {
	c, err := k.ready(noCapabilities)
	if err != nil {
		return err
	}
	c.sendGarbage()
	return c.lives("a line that is not JSON")
}

// lives checks that the agent still answers.
func (c *client) lives(after string) error {
	if _, err := c.newSession(); err != nil {
		return fmt.Errorf("after %s: %w", after, err)
	}
	return nil
}

func checkBadParams(k *kit) error {
	c, err := k.ready(noCapabilities)
	if err != nil {
		return err
	}
	prompt := []object{{"type": "text", "text": "hello"}}
	for _, bad := range []struct {
		what, method string
		params       object
	}{
		{"session/new without cwd", "session/new", object{}},
		{"session/prompt without sessionId", "session/prompt", object{"prompt": prompt}},
		{"session/prompt for a session that there is not", "session/prompt", object{"sessionId": "acptest", "prompt": prompt}},
	} {
		r, err := c.call(bad.method, bad.params)
		if err != nil {
			return err
		}
		if r.Error == nil {
			return fmt.Errorf("%s was answered by %s", bad.what, r.outcome())
		}
	}
	return nil
}

func checkSessionNew(k *kit) error {
	c, err := k.ready(noCapabilities)
	if err != nil {
		return err
	}
	first := ""
	for range 2 {
		r, err := c.newSession()
		if err != nil {
			return err
		}
		id := r.Result.text("sessionId")
		if id == "" {
			return fmt.Errorf("session/new was answered by %s", r.outcome())
		}
		if id == first {
			return fmt.Errorf("two sessions with the id %q", id)
		}
		first = id
	}
	return nil
}

func checkPrompt(k *kit) error {
	c, id, _, err := k.session(withFiles)
	if err != nil {
		return err
	}
	for range 2 {
		if _, err := c.turnEnd(c.prompt(id, c.agent.Prompt)); err != nil {
			return err
		}
	}
	return nil
}

func checkCancel(k *kit) error {
	c, id, end, err := k.busy()
	if err != nil {
		return err
	}
	c.cancel(id)
	stop, err := c.turnEnd(end)
	if err != nil {
		return err
	}
	if stop != "cancelled" {
		return fmt.Errorf("the stopReason %q, unless Agent.LongPrompt keeps the agent busy for less than a second", stop)
	}
	return c.takesPrompt(id)
}

func checkCancelIdle(k *kit) error {
	c, id, _, err := k.session(withFiles)
	if err != nil {
		return err
	}
	c.notify("session/cancel", object{"sessionId": id})
	return c.takesPrompt(id)
}

// takesPrompt checks that the session takes a prompt and does not take it for cancelled.
func (c *client) takesPrompt(id string) error {
	stop, err := c.turnEnd(c.prompt(id, c.agent.Prompt))
	if err != nil {
		return fmt.Errorf("at the next prompt: %w", err)
	}
	if stop == "cancelled" {
		return fmt.Errorf("the stopReason %q at the next prompt, which nobody cancelled", stop)
	}
	return nil
}

func checkReadsDuringTurn(k *kit) error {
	c, id, end, err := k.busy()
	if err != nil {
		return err
	}
	if _, err := c.call("acptest/unknown", object{}); err != nil {
		return fmt.Errorf("during a turn: %w", err)
	}
	select {
	case <-end:
		return unmetf("Agent.LongPrompt keeps the agent busy for less than a second, or it answers nothing before the turn's end")
	default:
	}
	c.cancel(id)
	return nil
}

func checkEnd(k *kit) error {
	c, err := k.ready(noCapabilities)
	if err != nil {
		return err
	}
	if err := c.ends("after the end of its input"); err != nil {
		return err
	}
	if c.agent.LongPrompt == "" {
		return nil
	}
	if c, _, _, err = k.busy(); err != nil {
		return err
	}
	return c.ends("after the end of its input during a turn")
}

// ends closes the agent's input and checks that the agent ends.
func (c *client) ends(when string) error {
	c.hangUp()
	if !c.awaitEnd(c.agent.Timeout) {
		return fmt.Errorf("the agent's output is still open %v %s", c.agent.Timeout, when)
	}
	return nil
}
