package acptest

import (
	"fmt"
	"slices"
)

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
		return fmt.Errorf("%s: current is %q, to be chosen from are %q", what, current, choices)
	}
	return checkDistinct(what, choices)
}

func checkDistinct(what string, ids []string) error {
	seen := make(map[string]bool)
	for _, id := range ids {
		if id == "" || seen[id] {
			return fmt.Errorf("%s: the ids %q are not distinct", what, ids)
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
			return fmt.Errorf("session/set_mode to %q, of %q, was answered by %s", mode, modes, r.outcome())
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
	what := fmt.Errorf("session/set_config_option of %s to %q was answered by %s", option, value, r.outcome())
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
