package acptest

import (
	"errors"
	"fmt"
	"slices"
)

func checkInitialize(k *kit) error {
	r, err := k.connect(noCapabilities).initialize(1)
	if err != nil {
		return err
	}
	if _, ok := r.Result.number("protocolVersion"); !ok {
		return fmt.Errorf("the agent answered initialize with %s", r.outcome())
	}
	for _, m := range r.Result.list("authMethods") {
		if m.text("id") == "" || m.text("name") == "" {
			return fmt.Errorf("an authentication method lacks an id or a name: %s", compact(m))
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
			return fmt.Errorf("the agent answered initialize (protocolVersion %d) with %s", version, r.outcome())
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
			return fmt.Errorf("the agent answered %s with %s", method, r.outcome())
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
	return c.stillAnswers("an unknown notification")
}

func checkNotJSON(k *kit) error {
	c, err := k.ready(noCapabilities)
	if err != nil {
		return err
	}
	c.sendGarbage()
	return c.stillAnswers("a line that is not JSON")
}

// stillAnswers checks that the agent still answers.
func (c *client) stillAnswers(after string) error {
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
		{
			"session/prompt for an unknown session", "session/prompt",
			object{"sessionId": "acptest", "prompt": prompt},
		},
	} {
		r, err := c.call(bad.method, bad.params)
		if err != nil {
			return err
		}
		if r.Error == nil {
			return fmt.Errorf("the agent answered %s with %s", bad.what, r.outcome())
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
			return fmt.Errorf("the agent answered session/new with %s", r.outcome())
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

// tooShort names a mistake of the test's author that looks like one of the agent.
const tooShort = "if Agent.LongPrompt keeps the agent busy for less than a second, use a longer one"

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
		return fmt.Errorf("stopReason %q; %s", stop, tooShort)
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

// takesPrompt checks that the session accepts a prompt and does not cancel it.
func (c *client) takesPrompt(id string) error {
	stop, err := c.turnEnd(c.prompt(id, c.agent.Prompt))
	if err != nil {
		return fmt.Errorf("at the next prompt: %w", err)
	}
	if stop == "cancelled" {
		return fmt.Errorf("the next prompt ended with stopReason %q, but nobody cancelled it", stop)
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
		return errors.New("the agent did not answer before the turn ended; " + tooShort)
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

func checkOffers(k *kit) error {
	_, _, offers, err := k.session(noCapabilities)
	if err != nil {
		return err
	}
	options := offers.list("configOptions")
	if offers.object("modes") == nil && len(options) == 0 {
		return unmetf("the agent offers neither modes nor config options")
	}
	if modes := offers.object("modes"); modes != nil {
		if err := checkChoice("modes", modes.text("currentModeId"), modeIDs(modes)); err != nil {
			return err
		}
	}
	ids := make([]string, 0, len(options))
	for _, o := range options {
		ids = append(ids, o.text("id"))
		if o.text("type") != "select" {
			continue
		}
		if err := checkChoice("config option "+o.text("id"), o.text("currentValue"), optionValues(o)); err != nil {
			return err
		}
	}
	return checkDistinct("config options", ids)
}

func checkChoice(what, current string, choices []string) error {
	if !slices.Contains(choices, current) {
		return fmt.Errorf("%s: the current value %q is not among the choices %q", what, current, choices)
	}
	return checkDistinct(what, choices)
}

func checkDistinct(what string, ids []string) error {
	seen := make(map[string]bool)
	for _, id := range ids {
		if id == "" || seen[id] {
			return fmt.Errorf("%s: the ids %q must be unique and not empty", what, ids)
		}
		seen[id] = true
	}
	return nil
}

func modeIDs(modes object) []string {
	var ids []string
	for _, m := range modes.list("availableModes") {
		ids = append(ids, m.text("id"))
	}
	return ids
}

// optionValues returns the values of a config option, those in groups included.
func optionValues(option object) []string {
	var values []string
	for _, o := range option.list("options") {
		if o.has("group") {
			values = append(values, optionValues(o)...)
		} else {
			values = append(values, o.text("value"))
		}
	}
	return values
}

// unoffered is a mode and a value that no agent offers.
const unoffered = "acptest-unoffered"

func checkSetMode(k *kit) error {
	c, id, offers, err := k.session(noCapabilities)
	if err != nil {
		return err
	}
	modes := modeIDs(offers.object("modes"))
	if len(modes) == 0 {
		return unmetf("the agent offers no modes")
	}
	for _, mode := range append(modes, unoffered) {
		r, err := c.call("session/set_mode", object{"sessionId": id, "modeId": mode})
		if err != nil {
			return err
		}
		if refused := r.Error != nil; refused != (mode == unoffered) {
			return fmt.Errorf("the agent answered session/set_mode to %q (offered: %q) with %s", mode, modes,
				r.outcome())
		}
	}
	return nil
}

func checkSetConfigOption(k *kit) error {
	c, id, offers, err := k.session(noCapabilities)
	if err != nil {
		return err
	}
	checked := false
	for _, o := range offers.list("configOptions") {
		if o.text("type") != "select" {
			continue
		}
		checked = true
		for _, value := range append(optionValues(o), unoffered) {
			if err := c.setConfigOption(id, o.text("id"), value); err != nil {
				return err
			}
		}
	}
	if !checked {
		return unmetf("the agent offers no config options to select from")
	}
	return nil
}

func (c *client) setConfigOption(session, option, value string) error {
	r, err := c.call("session/set_config_option", object{"sessionId": session, "configId": option, "value": value})
	if err != nil {
		return err
	}
	what := fmt.Errorf("the agent answered session/set_config_option of %s to %q with %s", option, value, r.outcome())
	if value == unoffered {
		if r.Error == nil {
			return what
		}
		return nil
	}
	for _, o := range r.Result.list("configOptions") {
		if o.text("id") == option && o.text("currentValue") == value {
			return nil
		}
	}
	return what
}
