package shell

import (
	"slices"
	"strings"
)

// command is one simple command of a script.
type command struct {
	words  []string // without quotes and redirections
	piped  bool     // its input is what another command prints
	input  bool     // its input is a file: < a.go
	fed    bool     // its operands are what another command prints or finds: xargs, find -exec
	output bool     // a redirection writes a file: > a.go
	doc    string   // its here-document
}

// parser takes a script apart into simple commands. It does not know compound ones: "if", "do" and "{" are words before
// a command.
type parser struct {
	text  string
	pos   int
	depth int

	found   []command
	current command
	begun   bool // the current command has words other than assignments and reserved words
	word    []byte
	open    bool // a word has begun; it may still be empty: ''
	test    bool // within [[ ]], where operators are words
	target  target
	waiting []heredoc // here-documents whose text begins after the line
}

// parse reads commands up to an unquoted end, or to the end of the text if end is 0. It returns false if that does not
// come.
func (p *parser) parse(end byte) bool {
	for p.pos < len(p.text) {
		c := p.text[p.pos]
		ok := true
		switch {
		case c == end:
			p.endCommand(false)
			p.pos++
			return true
		case c == '\n':
			p.pos++
			p.endCommand(false)
			p.heredocs()
		case c == ' ' || c == '\t' || c == '\r':
			p.pos++
			p.endWord()
		case c == '#' && !p.open:
			p.skipTo('\n')
		case strings.IndexByte(";&|()<>", c) >= 0:
			ok = p.operator(c)
		default:
			ok = p.part(c)
		}
		if !ok {
			return false
		}
	}
	p.endCommand(false)
	return end == 0
}

// skipTo moves to the next byte like this, or to the end of the text.
func (p *parser) skipTo(c byte) {
	if i := strings.IndexByte(p.text[p.pos:], c); i >= 0 {
		p.pos += i
	} else {
		p.pos = len(p.text)
	}
}

// at reports whether the text goes on like this.
func (p *parser) at(text string) bool { return strings.HasPrefix(p.text[p.pos:], text) }

// operator reads an operator, which begins with c.
func (p *parser) operator(c byte) bool {
	switch {
	case c == '(' && len(p.word) > 0 && p.word[len(p.word)-1] == '=':
		return p.nested(false) // a list of values, no commands
	case (c == '<' || c == '>') && isNumber(p.word):
		p.open, p.word = false, p.word[:0] // 2> is one operator
	default:
		p.endWord()
	}
	switch {
	case p.test:
		p.add(string(c))
		p.pos++
	case c == '<' || c == '>' || p.at("&>"):
		return p.redirection()
	case p.at("()"): // of a function's definition
		p.pos += 2
		p.newCommand(false)
	case c == '(':
		return p.subshell()
	case c == ')': // after a pattern of "case"
		p.pos++
		p.newCommand(false)
	case p.at("||"), p.at("&&"):
		p.pos += 2
		p.endCommand(false)
	case p.at("|&"):
		p.pos += 2
		p.endCommand(true)
	default:
		p.pos++
		p.endCommand(c == '|')
	}
	return true
}

// subshell reads ( ... ).
func (p *parser) subshell() bool {
	piped := p.current.piped
	p.endCommand(false)
	first := len(p.found)
	if !p.nested(true) {
		return false
	}
	if first < len(p.found) && piped {
		p.found[first].piped = true
	}
	return true
}

// nested reads the commands from an opening parenthesis, which is here, to the closing one.
func (p *parser) nested(keep bool) bool {
	in := parser{text: p.text, pos: p.pos + 1, depth: p.depth + 1}
	if in.depth > maxDepth || !in.parse(')') {
		return false
	}
	p.pos = in.pos
	if keep {
		p.found = append(p.found, in.found...)
	}
	return true
}

// add adds text to the word.
func (p *parser) add(text string) {
	p.open = true
	p.word = append(p.word, text...)
}

// endWord ends the word, if one has begun.
func (p *parser) endWord() {
	if !p.open {
		return
	}
	word := string(p.word)
	p.open, p.word = false, p.word[:0]
	if p.target != ownWord {
		p.redirect(word)
		return
	}
	switch {
	case word == "[[" && !p.begun:
		p.test = true
	case word == "]]":
		p.test = false
	}
	p.begun = p.begun || !isPrefix(word)
	p.current.words = append(p.current.words, word)
}

// endCommand ends the command. What the next one reads may be what this one prints.
func (p *parser) endCommand(piped bool) {
	p.endWord()
	c := p.current
	if len(c.words) > 0 || c.input || c.output || c.doc != "" {
		for i := len(p.waiting) - 1; i >= 0 && p.waiting[i].command == unknown; i-- {
			p.waiting[i].command = len(p.found)
		}
		p.found = append(p.found, c)
		p.newCommand(piped)
	} else {
		p.newCommand(piped || c.piped) // a newline after |, or | after a subshell
	}
}

// newCommand forgets the command that has begun.
func (p *parser) newCommand(piped bool) {
	for n := len(p.waiting); n > 0 && p.waiting[n-1].command == unknown; n-- {
		p.waiting = p.waiting[:n-1]
	}
	p.current = command{piped: piped}
	p.begun, p.test, p.target = false, false, ownWord
}

// isNumber reports whether a word has only digits, and some.
func isNumber(word []byte) bool {
	return len(word) > 0 && !slices.ContainsFunc(word, func(c byte) bool { return c < '0' || c > '9' })
}
