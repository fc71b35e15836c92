package scripted

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// server is one connection of a scripted agent.
type server struct {
	script Script
	out    writer
	stderr io.Writer
	ctx    context.Context // of the connection
	end    context.CancelCauseFunc
	work   sync.WaitGroup

	stopReadingOnce sync.Once
	stopReading     chan struct{} // closed when the agent stops reading its input

	mu            sync.Mutex
	client        capabilities
	initialized   bool
	authenticated bool
	sessions      map[string]*session
	nextID        int
	calls         map[string]chan message // requests to the client by their ids
}

// capabilities is what the client offers.
type capabilities struct {
	FS struct {
		ReadTextFile  bool `json:"readTextFile"`
		WriteTextFile bool `json:"writeTextFile"`
	} `json:"fs"`
	Terminal bool `json:"terminal"`
}

// serve reads and handles messages until the connection ends.
func (srv *server) serve(in io.Reader) {
	if code := srv.script.Faults.Exit; code != nil {
		srv.end(&ExitError{Code: *code})
		return
	}
	if n := srv.script.Faults.Stderr; n > 0 {
		srv.logError(strings.Repeat("noise ", (n+5)/6)[:n])
	}
	lines := srv.lines(in)
	for {
		select {
		case line, ok := <-lines:
			switch {
			case ok:
				srv.receive(line)
			case srv.script.Faults.IgnoreEOF:
				lines = nil
			default:
				srv.end(errEnded)
			}
		case <-srv.ctx.Done():
			return
		}
	}
}

// lines returns the lines of in. The goroutine that reads them ends when in does; [Run] closes in.
func (srv *server) lines(in io.Reader) <-chan []byte {
	lines := make(chan []byte)
	go func() {
		defer close(lines)
		err := readLines(gate{srv.ctx, srv.stopReading, in}, maxLine, func(line []byte) error {
			select {
			case lines <- line:
				return nil
			case <-srv.ctx.Done():
				return srv.ctx.Err()
			}
		})
		if err != nil {
			srv.end(err)
		}
	}()
	return lines
}

// receive handles one line. It must not wait for the client's answers, because its caller reads them.
func (srv *server) receive(line []byte) {
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		srv.respond(json.RawMessage("null"), nil, errorf(codeParse, "not a message: %v", err))
		return
	}
	switch {
	case m.Method == "" && m.ID != nil:
		srv.answered(m)
	case m.Method == "":
		srv.respond(json.RawMessage("null"), nil, errorf(codeInvalidRequest, "neither a request nor a response"))
	case m.ID == nil:
		if m.Method == "session/cancel" {
			srv.cancel(m.Params)
		}
	default:
		srv.request(m)
	}
}

// methods are the methods that the agent serves. One that returns nothing has started work that will respond.
var methods = map[string]func(*server, message) (any, error){
	"initialize":                (*server).initialize,
	"authenticate":              (*server).authenticate,
	"session/new":               (*server).newSession,
	"session/set_mode":          (*server).setMode,
	"session/set_config_option": (*server).setOption,
	"session/prompt":            (*server).prompt,
}

// request responds to a request, or starts the work that will.
func (srv *server) request(m message) {
	srv.mu.Lock()
	ready := srv.initialized || m.Method == "initialize"
	srv.mu.Unlock()
	if !ready {
		srv.respond(m.ID, nil, errorf(codeInvalidRequest, "%s came before initialize", m.Method))
		return
	}
	handle := methods[m.Method]
	if handle == nil {
		srv.respond(m.ID, nil, errorf(codeMethodNotFound, "unknown method %s", m.Method))
		return
	}
	if result, err := handle(srv, m); result != nil || err != nil {
		srv.respond(m.ID, result, err)
	}
}

// respond sends the response to the request with that id.
func (srv *server) respond(id json.RawMessage, result any, err error) {
	f := frame{ID: id, Result: result}
	if err != nil {
		rpc, ok := err.(*Error) // not one inside: that is the client's
		if !ok {
			rpc = errorf(codeInternal, "%v", err)
		}
		f.Result, f.Error = nil, rpc
	}
	_ = srv.send(f) // an error ends the connection
}

// send writes a message, unless the connection has ended. An error ends the connection.
func (srv *server) send(f frame) error {
	if srv.ctx.Err() != nil {
		return context.Cause(srv.ctx)
	}
	err := srv.out.send(f)
	if err != nil {
		srv.end(err)
	}
	return err
}

// call sends a request to the client and decodes its result, if result is not nil. An error response is an [*Error].
// The prompt is the id of the prompt that is being answered, if any.
func (srv *server) call(ctx context.Context, prompt json.RawMessage, method string, params, result any) error {
	id, answer := srv.register(prompt)
	defer srv.forget(id)
	if err := srv.send(frame{ID: id, Method: method, Params: params}); err != nil {
		return err
	}
	select {
	case m := <-answer:
		if m.Error != nil {
			return m.Error
		}
		if result == nil {
			return nil
		}
		if err := json.Unmarshal(m.Result, result); err != nil {
			return errorf(codeInternal, "the client's answer to %s is invalid: %v", method, err)
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// register returns the id of a new request and where its answer will arrive.
func (srv *server) register(prompt json.RawMessage) (json.RawMessage, chan message) {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	id := json.RawMessage(strconv.Itoa(srv.nextID))
	switch srv.script.Faults.RequestIDs {
	case StringIDs:
		id = json.RawMessage(strconv.Quote("request-" + string(id)))
	case PromptIDs:
		if prompt != nil {
			id = prompt
		}
	}
	srv.nextID++
	answer := make(chan message, 1)
	srv.calls[string(id)] = answer
	return id, answer
}

func (srv *server) forget(id json.RawMessage) {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	delete(srv.calls, string(id))
}

// answered hands a response to the call that waits for it. A response that comes too late is dropped.
func (srv *server) answered(m message) {
	srv.mu.Lock()
	answer := srv.calls[string(m.ID)]
	delete(srv.calls, string(m.ID))
	srv.mu.Unlock()
	if answer != nil {
		answer <- m
	}
}

// logError writes a line to standard error.
func (srv *server) logError(text string) {
	fmt.Fprintln(srv.stderr, text)
}

func (srv *server) initialize(m message) (any, error) {
	var params struct {
		ProtocolVersion    *int         `json:"protocolVersion"`
		ClientCapabilities capabilities `json:"clientCapabilities"`
	}
	if err := decode(m, &params); err != nil {
		return nil, err
	}
	if params.ProtocolVersion == nil {
		return nil, errorf(codeInvalidParams, "initialize: protocolVersion is missing")
	}
	srv.mu.Lock()
	defer srv.mu.Unlock()
	srv.initialized, srv.client = true, params.ClientCapabilities
	methods := []any{}
	for _, id := range srv.script.Auth {
		methods = append(methods, map[string]any{"id": id, "name": id})
	}
	return map[string]any{
		"protocolVersion":   cmp.Or(srv.script.Faults.ProtocolVersion, 1),
		"agentCapabilities": map[string]any{},
		"authMethods":       methods,
		"agentInfo": map[string]any{
			"name": cmp.Or(srv.script.Name, "fake-acp"), "version": cmp.Or(srv.script.Version, "1"),
		},
	}, nil
}

func (srv *server) authenticate(m message) (any, error) {
	var params struct {
		MethodID string `json:"methodId"`
	}
	if err := decode(m, &params); err != nil {
		return nil, err
	}
	if slices.Contains(srv.script.Auth, params.MethodID) {
		srv.mu.Lock()
		defer srv.mu.Unlock()
		srv.authenticated = true
		return struct{}{}, nil
	}
	return nil, errorf(codeInvalidParams, "authenticate: unknown method %q", params.MethodID)
}

// decode decodes the params of a request.
func decode(m message, params any) error {
	if err := json.Unmarshal(m.Params, params); err != nil {
		return errorf(codeInvalidParams, "%s: invalid params: %v", m.Method, err)
	}
	return nil
}
