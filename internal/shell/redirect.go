package shell

import "strings"

// target says what the next word is.
type target int

const (
	ownWord   target = iota // a word of the command
	inFile                  // after <
	outFile                 // after >
	duplicate               // after <& and >&: a number, - or a file
	hereText                // after <<<
	delimiter               // after <<
	stripped                // after <<-
)

// operators are those of redirections; none is the beginning of a later one.
var operators = []struct {
	text   string
	target target
}{
	{"&>>", outFile},
	{"&>", outFile},
	{"<<<", hereText},
	{"<<-", stripped},
	{"<<", delimiter},
	{"<>", outFile},
	{"<&", duplicate},
	{">&", duplicate},
	{">>", outFile},
	{">|", outFile},
	{"<", inFile},
	{">", outFile},
}

// redirection reads the operator of a redirection, which is here, or a command that stands for a file: <(sort a).
func (p *parser) redirection() bool {
	if p.at("<(") || p.at(">(") {
		p.add("/dev/fd/63")
		p.pos++
		return p.nested(true)
	}
	for _, o := range operators {
		if p.at(o.text) {
			p.pos += len(o.text)
			p.target = o.target
			break
		}
	}
	return true
}

// redirect takes the word after the operator of a redirection.
func (p *parser) redirect(word string) {
	c, to := &p.current, p.target
	p.target = ownWord
	file := !strings.HasPrefix(word, "/dev/") // /dev/null is nobody's file
	switch to {
	case inFile:
		c.input = c.input || file
	case outFile:
		c.output = c.output || file
	case duplicate:
		c.output = c.output || file && word != "-" && !isNumber([]byte(word))
	case hereText:
		c.doc = word
	case delimiter, stripped:
		p.waiting = append(p.waiting, heredoc{end: word, tabs: to == stripped, command: unknown})
		c.doc = "\n" // until it is read
	}
}

// heredoc is a here-document whose text has not been read.
type heredoc struct {
	end     string
	tabs    bool // tabs at the beginning of lines do not count
	command int  // the index of its command, unknown while that is read
}

const unknown = -1

// heredocs reads the texts of here-documents, which begin here. A text without its end goes on to the script's.
func (p *parser) heredocs() {
	for _, h := range p.waiting {
		start, end := p.pos, len(p.text)
		for p.pos < len(p.text) {
			line, _, _ := strings.Cut(p.text[p.pos:], "\n")
			from := p.pos
			p.pos = min(p.pos+len(line)+1, len(p.text))
			line = strings.TrimSuffix(line, "\r")
			if h.tabs {
				line = strings.TrimLeft(line, "\t")
			}
			if line == h.end {
				end = from
				break
			}
		}
		p.found[h.command].doc = p.text[start:end]
	}
	p.waiting = nil
}
