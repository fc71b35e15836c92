package mutatedata

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"strings"
)

// Cassette is the [Seal] of cassettes: counts and checksums of the last line, and as many times as there are events. It
// repeats what package cassette does, since that offers nobody to seal what it did not write.
func Cassette(lines [][]byte, moved bool) [][]byte {
	n := len(lines) - 1
	if n < 0 || !bytes.HasPrefix(lines[n], []byte(`{"totals"`)) {
		return lines
	}
	counts := make(map[string]int)
	for _, line := range lines[:n] {
		for _, prefix := range []string{`{"turn":`, `{"event":`, `{"event":"tool_call"`} {
			if bytes.HasPrefix(line, []byte(prefix)) {
				counts[prefix]++
			}
		}
	}
	sealed := make([][]byte, 0, len(lines))
	var sums strings.Builder
	whole := sha256.New()
	for _, line := range lines[:n] {
		if moved && bytes.HasPrefix(line, []byte(`{"timings":[`)) && bytes.HasSuffix(line, []byte("}\n")) {
			line = timed(line, counts[`{"event":`])
		}
		fmt.Fprintf(&sums, "%08x", crc32.ChecksumIEEE(line))
		whole.Write(line)
		sealed = append(sealed, line)
	}
	return append(sealed, fmt.Appendf(nil,
		`{"totals":{"turns":%d,"events":%d,"tool_calls":%d},"lines":"%s","sha256":"%x"}`+"\n",
		counts[`{"turn":`], counts[`{"event":`], counts[`{"event":"tool_call"`], &sums, whole.Sum(nil)))
}

// timed returns the line of the times with n times.
func timed(line []byte, n int) []byte {
	tree := parse(line)
	times := tree.items[0]
	for len(times.items) < n {
		times.items = append(times.items, &node{scalar: "0"})
	}
	times.items = times.items[:n]
	return []byte(tree.String() + "\n")
}

// Judgments is the [Seal] of recordings of judges: a chain of digests, the digests of questions and the counts.
func Judgments(lines [][]byte, _ bool) [][]byte {
	sum, questions, answers := "", 0, 0
	var sealed [][]byte
	for _, line := range lines {
		text, ok := bytes.CutSuffix(line, []byte("\n"))
		if !ok || !valid(text) {
			return append(sealed, line)
		}
		tree := parse(text)
		if q := tree.get("question"); q != nil && q.open == '{' {
			questions++
			if a := q.get("answers"); a != nil {
				answers += len(a.items)
			}
			rekey(q)
		}
		if end := tree.get("end"); end != nil && end.kind() == "object" {
			set(end, "questions", fmt.Sprint(questions))
			set(end, "answers", fmt.Sprint(answers))
		}
		set(tree, "sum", quoted(sum))
		digest := sha256.Sum256([]byte(tree.String()))
		sum = hex.EncodeToString(digest[:16])
		set(tree, "sum", quoted(sum))
		sealed = append(sealed, []byte(tree.String()+"\n"))
	}
	return sealed
}

// rekey computes the digest of a question anew.
func rekey(q *node) {
	bare := parse([]byte(q.String()))
	set(bare, "key", `""`)
	set(bare, "answers", "null")
	digest := sha256.Sum256([]byte(bare.String()))
	set(q, "key", quoted(hex.EncodeToString(digest[:16])))
}

// set replaces the number, the string or the list of a key, if it is there and of its usual type.
func set(n *node, key, text string) {
	with := &node{scalar: text}
	for i, k := range n.keys {
		if was := n.items[i].kind(); k == quoted(key) && (was == "array" || was == with.kind()) && was != "null" {
			n.items[i] = with
		}
	}
}

func valid(text []byte) bool {
	tree := bytes.TrimSpace(text)
	return len(tree) > 0 && tree[0] == '{' && json.Valid(tree)
}
