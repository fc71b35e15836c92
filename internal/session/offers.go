package session

import "github.com/sdd-eval/sdd-eval/acp"

// Offers are what an agent has to choose from in a session.
type Offers struct {
	// Modes are those of the session, Models its models by the ids that playbooks have. Model is the current one.
	Modes, Models []string
	Model         string
	// Methods are the ids of the ways to authenticate.
	Methods []string
}

// Offers returns what the agent has to choose from. It is empty if the agent does not speak the protocol.
func (s *Session) Offers() (o Offers) {
	live, ok := s.with.(*live)
	if !ok {
		return o
	}
	_, o.Modes = live.session.Mode()
	for _, option := range live.session.ConfigOptions() {
		if option.Category != acp.CategoryModel {
			continue
		}
		for _, c := range option.Choices() {
			o.Models = append(o.Models, c.Value)
		}
		o.Model, _ = option.CurrentValue.(string)
		break // playbooks choose by the first
	}
	for _, m := range live.methods {
		o.Methods = append(o.Methods, m.ID)
	}
	return o
}

// Model returns the model that the agent uses, by its own word: empty if it does not say.
func (s *Session) Model() string {
	if h, ok := s.with.(*headless); ok {
		return h.observer.Session().Model
	}
	return s.Offers().Model
}
