package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// seal masks what a session log shows although each of its lines is masked: a secret that an agent says in several
// chunks. Its text is then joined in the first chunk of its kind.
func (j *journal) seal(path string) error {
	texts, err := joinedChunks(path)
	if err != nil {
		return fmt.Errorf("read the session log again: %w", err)
	}
	for kind, text := range texts {
		if _, found := j.secrets.Contains([]byte(text)); !found {
			delete(texts, kind)
		}
	}
	if len(texts) == 0 {
		return nil
	}
	var sealed bytes.Buffer
	err = eachLine(path, func(line json.RawMessage) error {
		if kind, _ := chunkOf(line); kind != "" {
			if text, ok := texts[kind]; ok {
				line = withText(line, text)
				texts[kind] = ""
			}
		}
		sealed.Write(line)
		sealed.WriteByte('\n')
		return nil
	})
	if err != nil {
		return fmt.Errorf("mask the session log: %w", err)
	}
	return j.secrets.WriteFile(path, sealed.Bytes(), 0o644)
}

// joinedChunks returns the whole text of each kind of chunks in a session log.
func joinedChunks(path string) (map[string]string, error) {
	texts := make(map[string]*strings.Builder)
	err := eachLine(path, func(line json.RawMessage) error {
		kind, text := chunkOf(line)
		if kind == "" {
			return nil
		}
		if texts[kind] == nil {
			texts[kind] = new(strings.Builder)
		}
		texts[kind].WriteString(text)
		return nil
	})
	joined := make(map[string]string, len(texts))
	for kind, b := range texts {
		joined[kind] = b.String()
	}
	return joined, err
}

// eachLine calls f with each line of a session log, which we wrote.
func eachLine(path string, f func(json.RawMessage) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := json.NewDecoder(file)
	for {
		var line json.RawMessage
		if err := lines.Decode(&line); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := f(line); err != nil {
			return err
		}
	}
}

// chunkOf returns the kind of update and the text of a line that is a chunk of text, else no kind.
func chunkOf(line json.RawMessage) (kind, text string) {
	if !bytes.Contains(line, []byte(`_chunk"`)) {
		return "", ""
	}
	var l struct {
		Frame struct {
			Params struct {
				Update struct {
					Kind    string `json:"sessionUpdate"`
					Content struct {
						Text *string `json:"text"`
					} `json:"content"`
				} `json:"update"`
			} `json:"params"`
		} `json:"frame"`
	}
	if err := json.Unmarshal(line, &l); err != nil || l.Frame.Params.Update.Content.Text == nil {
		return "", "" // not of that form
	}
	return l.Frame.Params.Update.Kind, *l.Frame.Params.Update.Content.Text
}

// withText returns a chunk's line with another text.
func withText(line json.RawMessage, text string) json.RawMessage {
	var l map[string]any
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	if err := d.Decode(&l); err != nil {
		panic(fmt.Sprintf("engine: a line that was read cannot be read: %v", err))
	}
	content := l["frame"].(map[string]any)["params"].(map[string]any)["update"].(map[string]any)["content"].(map[string]any)
	content["text"] = text
	changed, err := json.Marshal(l)
	if err != nil {
		panic(fmt.Sprintf("engine: a line that was read cannot be written: %v", err))
	}
	return changed
}
