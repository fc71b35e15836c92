package shell

import "strings"

// part reads one character of a word, which is c, or a whole quoted part of it. It returns false if the part does not
// end.
func (p *parser) part(c byte) bool {
	switch c {
	case '\\':
		p.escaped()
	case '\'':
		p.pos++
		end := strings.IndexByte(p.text[p.pos:], '\'')
		if end < 0 {
			return false
		}
		p.add(p.text[p.pos : p.pos+end])
		p.pos += end + 1
	case '"':
		return p.quoted()
	case '`':
		return p.backquoted()
	case '$':
		return p.dollar()
	default:
		p.add(p.text[p.pos : p.pos+1])
		p.pos++
	}
	return true
}

// escaped reads a backslash and what it escapes. Before the end of a line both are nothing.
func (p *parser) escaped() {
	switch {
	case p.at("\\\n"):
		p.pos += 2
	case p.at("\\\r\n"):
		p.pos += 3
	case p.pos+1 == len(p.text):
		p.add(`\`)
		p.pos++
	default:
		p.add(p.text[p.pos+1 : p.pos+2])
		p.pos += 2
	}
}

// quoted reads a part within double quotes.
func (p *parser) quoted() bool {
	p.add("")
	p.pos++
	for p.pos < len(p.text) {
		ok := true
		switch c := p.text[p.pos]; {
		case c == '"':
			p.pos++
			return true
		case c == '\\' && p.pos+1 < len(p.text) && strings.IndexByte("$`\"\\\n", p.text[p.pos+1]) >= 0:
			p.escaped()
		case c == '`':
			ok = p.backquoted()
		case c == '$' && !p.at("$'") && !p.at(`$"`):
			ok = p.dollar()
		default:
			p.add(p.text[p.pos : p.pos+1])
			p.pos++
		}
		if !ok {
			return false
		}
	}
	return false
}

// dollar reads what begins with a dollar sign. What is expanded stays in the word as $, and something follows it.
func (p *parser) dollar() bool {
	switch {
	case p.at("$(("):
		p.add("$")
		return p.skip('(', ')')
	case p.at("$("):
		p.add("$()")
		p.pos++
		return p.nested(true)
	case p.at("${"):
		p.add("${}")
		return p.skip('{', '}')
	case p.at("$'"):
		return p.ansi()
	case p.at(`$"`):
		p.pos++
		return p.quoted()
	}
	p.add("$")
	p.pos++
	return true
}

// skip moves after what is between the next opening character and its closing one.
func (p *parser) skip(opening, closing byte) bool {
	depth := 0
	for p.pos++; p.pos < len(p.text); p.pos++ {
		switch p.text[p.pos] {
		case '\\':
			p.pos++
		case opening:
			depth++
		case closing:
			if depth--; depth == 0 {
				p.pos++
				return true
			}
		}
	}
	p.pos = len(p.text)
	return false
}

// ansi reads $'...', and keeps what a backslash escapes as it is.
func (p *parser) ansi() bool {
	p.add("")
	for p.pos += 2; p.pos < len(p.text); p.pos++ {
		switch p.text[p.pos] {
		case '\'':
			p.pos++
			return true
		case '\\':
			p.pos++
		}
		if p.pos < len(p.text) {
			p.add(p.text[p.pos : p.pos+1])
		}
	}
	return false
}

// backquoted reads a command within backquotes.
func (p *parser) backquoted() bool {
	var script strings.Builder
	for p.pos++; p.pos < len(p.text); p.pos++ {
		c := p.text[p.pos]
		if c == '`' {
			p.pos++
			in := parser{text: script.String(), depth: p.depth + 1}
			if in.depth > maxDepth || !in.parse(0) {
				return false
			}
			p.found = append(p.found, in.found...)
			p.add("$()")
			return true
		}
		if c == '\\' && p.pos+1 < len(p.text) && strings.IndexByte("$`\\", p.text[p.pos+1]) >= 0 {
			p.pos++
			c = p.text[p.pos]
		}
		script.WriteByte(c)
	}
	return false
}
