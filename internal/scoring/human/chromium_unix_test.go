//go:build unix

package human

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// browser is a headless Chromium with one page, driven over a pair of pipes.
type browser struct {
	t       *testing.T
	to      io.Writer
	from    *bufio.Reader
	session string
	lastID  int
	events  []message
}

// message is a message of the DevTools protocol, each ended by a zero byte.
type message struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// openBrowser starts Chromium, or skips the test where there is none, except in CI.
func openBrowser(t *testing.T) *browser {
	t.Helper()
	var path string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		if os.Getenv("CI") != "" {
			t.Fatal("no Chromium to open the page with: install the package chromium")
		}
		t.Skip("no Chromium to open the page with")
	}
	theirIn, ourOut, err := os.Pipe()
	require.NoError(t, err)
	ourIn, theirOut, err := os.Pipe()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), path, "--headless", "--no-sandbox", "--disable-gpu",
		"--disable-dev-shm-usage", "--no-first-run", "--window-size=1360,900",
		"--remote-debugging-pipe", "--user-data-dir="+t.TempDir(), "about:blank")
	cmd.ExtraFiles = []*os.File{theirIn, theirOut}
	var stderr bytes.Buffer
	cmd.Stderr, cmd.WaitDelay = &stderr, 5*time.Second
	require.NoError(t, cmd.Start())
	require.NoError(t, theirIn.Close())
	require.NoError(t, theirOut.Close())
	require.NoError(t, ourIn.SetReadDeadline(time.Now().Add(5*time.Minute)))
	b := &browser{t: t, to: ourOut, from: bufio.NewReader(ourIn)}
	t.Cleanup(func() {
		// Chromium ends when its pipe does; what it writes after Browser.close belongs to a directory that must be
		// removed.
		_, _ = fmt.Fprintf(ourOut, `{"id":%d,"method":"Browser.close"}`+"\x00", b.lastID+1)
		_ = cmd.Wait()
		_, _ = ourOut.Close(), ourIn.Close()
		if t.Failed() {
			t.Logf("chromium: %s", stderr.String())
		}
	})
	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log"} {
		b.call(domain+".enable", nil, nil)
	}
	return b
}

// call sends a command and decodes its result. Events that come before it are kept.
func (b *browser) call(method string, params, result any) {
	b.t.Helper()
	b.lastID++
	id := b.lastID
	command := map[string]any{"id": id, "method": method, "params": params}
	if params == nil {
		delete(command, "params")
	}
	if b.session != "" && !strings.HasPrefix(method, "Browser.") {
		command["sessionId"] = b.session
	}
	data, err := json.Marshal(command)
	require.NoError(b.t, err)
	_, err = b.to.Write(append(data, 0))
	require.NoError(b.t, err)
	for {
		m := b.read()
		if m.ID != id {
			b.events = append(b.events, m)
			continue
		}
		require.Nil(b.t, m.Error, "%s: %+v", method, m.Error)
		if result != nil {
			require.NoError(b.t, json.Unmarshal(m.Result, result))
		}
		return
	}
}

func (b *browser) read() message {
	b.t.Helper()
	data, err := b.from.ReadBytes(0)
	require.NoError(b.t, err, "Chromium ended or hangs")
	var m message
	require.NoError(b.t, json.Unmarshal(data[:len(data)-1], &m))
	return m
}

// await returns the next event of that name, of those that were kept or of those to come.
func (b *browser) await(method string) json.RawMessage {
	b.t.Helper()
	for i, m := range b.events {
		if m.Method == method {
			b.events = append(b.events[:i:i], b.events[i+1:]...)
			return m.Params
		}
	}
	for {
		m := b.read()
		if m.Method == method {
			return m.Params
		}
		b.events = append(b.events, m)
	}
}

func (b *browser) open(path string) {
	b.t.Helper()
	b.call("Page.navigate", map[string]any{"url": "file://" + path}, nil)
	b.await("Page.loadEventFired")
}

// eval runs a script in the page and decodes what it returns.
func (b *browser) eval(script string, result any) {
	b.t.Helper()
	var reply struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	b.call("Runtime.evaluate", map[string]any{
		"expression": "(() => {" + script + "})()", "returnByValue": true, "awaitPromise": true, "userGesture": true,
	}, &reply)
	require.Empty(b.t, string(reply.ExceptionDetails), script)
	if result != nil {
		require.NoError(b.t, json.Unmarshal(reply.Result.Value, result))
	}
}

// text returns the text of what a selector names, as a person sees it.
func (b *browser) text(selector string) string {
	b.t.Helper()
	var text string
	b.eval(fmt.Sprintf("return document.querySelector(%q).innerText", selector), &text)
	return text
}

func (b *browser) click(selector string) {
	b.t.Helper()
	b.eval(fmt.Sprintf("document.querySelector(%q).click()", selector), nil)
}

// press presses and releases a key.
func (b *browser) press(key string, code int) {
	b.t.Helper()
	event := map[string]any{"type": "keyDown", "key": key, "code": key, "windowsVirtualKeyCode": code}
	if len(key) == 1 {
		event["text"] = key
	}
	b.call("Input.dispatchKeyEvent", event, nil)
	event["type"] = "keyUp"
	b.call("Input.dispatchKeyEvent", event, nil)
}

// write types text into what has the focus.
func (b *browser) write(text string) {
	b.t.Helper()
	b.call("Input.insertText", map[string]any{"text": text}, nil)
}

// shoot saves a picture of the page if HUMAN_SCREENSHOTS names a directory.
func (b *browser) shoot(name string) {
	b.t.Helper()
	dir := os.Getenv("HUMAN_SCREENSHOTS")
	if dir == "" {
		return
	}
	var picture struct{ Data string }
	b.call("Page.captureScreenshot", map[string]any{"format": "png"}, &picture)
	data, err := base64.StdEncoding.DecodeString(picture.Data)
	require.NoError(b.t, err)
	require.NoError(b.t, os.WriteFile(filepath.Join(dir, name+".png"), data, 0o644))
}
