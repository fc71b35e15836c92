package secret

// mask returns the text masked, and whether that changed it; if not, it is data itself.
func (m *matcher) mask(data []byte) (masked []byte, changed bool) {
	r := m.scan(data, 0, true)
	if len(r.runs) == 0 && len(r.keys) == 0 {
		return data, false
	}
	var c cover
	return c.render(make([]byte, 0, len(data)), data, 0, r), true
}

// cover is what the last placeholder covers beyond the text that has been rendered.
type cover struct {
	bytes int  // so many at least
	tail  tail // and the rest of a key
}

// render appends data[from:r.settled], masked, to dst.
func (c *cover) render(dst, data []byte, from int, r result) []byte {
	runs, keys := r.runs, r.keys
	next := func() int { // where the next run or key begins
		at := r.settled
		if len(runs) > 0 {
			at = min(at, runs[0].start)
		}
		if len(keys) > 0 {
			at = min(at, keys[0].start)
		}
		return at
	}
	at, until := from, from+c.bytes
	for at < r.settled {
		inKey := c.tail.next(data[at])
		covered := inKey || at < until
		begins := next() == at
		if !covered && !begins {
			dst = append(dst, data[at:next()]...)
			at = next()
			continue
		}
		name := keyName
		for len(keys) > 0 && keys[0].start == at {
			c.tail.begin(keys[0].class, data[at])
			inKey = true
			keys = keys[1:]
		}
		if len(runs) > 0 && runs[0].start == at {
			name = runs[0].name
			until = max(until, runs[0].end)
			runs = runs[1:]
		}
		if !covered {
			dst = append(dst, placeholder(name)...)
		}
		if at++; !inKey {
			at = max(at, min(until, next()))
		}
	}
	c.bytes = max(0, until-r.settled)
	return dst
}
