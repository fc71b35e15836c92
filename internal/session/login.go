package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/words"
)

// loginTimeout bounds an agent's authentication: one that has no account may wait for a person at a browser.
const loginTimeout = time.Minute

// What an error shows of an agent's ways to authenticate: how many, and how many characters of each text.
const (
	shownMethods = 20
	shownText    = 60
)

// login authenticates the agent, by the method of its kind or of its preset.
func (s *live) login(ctx context.Context) error {
	method := s.Launch.AuthMethod
	if method == "" {
		return nil
	}
	from := ""
	if at := s.Launch.AuthMethodAt; at != "" {
		from = at + ": "
	}
	known := slices.ContainsFunc(s.methods, func(m acp.AuthMethod) bool { return m.ID == method })
	if len(s.methods) > 0 && !known {
		return s.refusedLogin(fmt.Errorf("%sthe agent has no way to authenticate that is called %q", from, method))
	}
	ctx, cancel := context.WithTimeoutCause(ctx, loginTimeout,
		fmt.Errorf("no answer within %v: without a valid account, agents wait for a person to log in", loginTimeout))
	defer cancel()
	err := s.client.Authenticate(ctx, method)
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	err = s.refusedLogin(fmt.Errorf("%sauthenticate by %q: %w", from, method, s.exited(err)))
	if wantsLogin(err) {
		return err
	}
	return fault.Transient(err)
}

// wantsLogin reports whether an agent says that it has to be authenticated first. Another attempt would not help.
func wantsLogin(err error) bool {
	answer, ok := errors.AsType[*acp.Error](err)
	return ok && answer.Code == acp.CodeAuthRequired
}

// refusedLogin adds to an error how the agent can be authenticated.
func (s *live) refusedLogin(err error) error {
	next := fmt.Sprintf("give %s a `preset` with an account: variables, `files` or `auth_method`, see "+
		"docs/accounts.md", s.Unit.Variant.AgentAt())
	if preset := s.Unit.Variant.Agent.Preset; preset != "" {
		next = fmt.Sprintf("check the account of preset %q: its variables, `files` and `auth_method`, see "+
			"docs/accounts.md", preset)
	}
	if login := s.Profile.Login; login != "" {
		next += "; log in by `" + login + "`"
	}
	next += "; then try it: " + s.doctor()
	return fault.Advise(fmt.Errorf("%w; %s", err, offers(s.methods)), next)
}

// doctor is the command that tries the agent's account.
func (s *live) doctor() string {
	a := s.Unit.Variant.Agent
	name := a.Kind
	if a.Preset != "" {
		name += "/" + a.Preset
	}
	argv := []string{"sdd-eval", "doctor", "--agent", name}
	if a.Command != "" {
		argv = append(append(argv, "--", a.Command), a.Args...)
	}
	return words.Join(argv...)
}

// offers tells the ways to authenticate that an agent has.
func offers(methods []acp.AuthMethod) string {
	if len(methods) == 0 {
		return "the agent offers no way to authenticate"
	}
	var shown []string
	for _, m := range methods[:min(len(methods), shownMethods)] {
		shown = append(shown, fmt.Sprintf("%s (%s)", excerpt.Name(m.ID, shownText), excerpt.Line(m.Name, shownText)))
	}
	if more := len(methods) - len(shown); more > 0 {
		shown = append(shown, fmt.Sprintf("%d more", more))
	}
	return "the agent offers to authenticate by " + strings.Join(shown, ", ")
}
