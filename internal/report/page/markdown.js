// A part of Markdown, for what agents write. It becomes elements through h() alone: HTML stays text, links and images
// are their text and their address, and nothing is loaded or can be followed.

const maxMarkdown = 64 << 10; // characters; a longer text is shown as it is
const maxNested = 4; // lists, quotes and emphasis in each other; what is deeper is shown as it is

function markdown(text) {
  const body = text.length > maxMarkdown ? text : blocks(text.split('\n'), 0);
  return h('div', { class: 'markdown' }, body);
}

const fence = /^ {0,3}(`{3,}|~{3,})/;
const heading = /^ {0,3}#{1,6}\s+(.*)$/;
const quote = /^ {0,3}> ?/;
const listItem = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const rule = /^(-{3,}|\*{3,}|_{3,})$/;
const tableRule = /^\|?:?-+:?(\|:?-+:?)*\|?$/;
const bare = (line) => line.replace(/\s/g, '');

function blocks(lines, depth) {
  if (depth > maxNested) return h('p', {}, lines.join('\n'));
  const made = [];
  const isTable = (i) => lines[i].includes('|') && lines[i + 1]?.includes('|') && tableRule.test(bare(lines[i + 1]));
  const starts = (i) =>
    [fence, heading, quote, listItem].some((r) => r.test(lines[i])) || rule.test(bare(lines[i])) || isTable(i);
  /** Takes lines from i while they belong, and returns the first that does not. */
  const take = (i, belongs) => {
    while (i < lines.length && belongs(i)) i += 1;
    return i;
  };
  for (let i = 0; i < lines.length;) {
    const line = lines[i];
    let end = i + 1;
    if (line.trim() === '') {
      i = end;
      continue;
    }
    const fenced = fence.exec(line);
    const item = listItem.exec(line);
    if (fenced) {
      end = take(end, (k) => !lines[k].trim().startsWith(fenced[1]));
      made.push(h('pre', { tabindex: '0' }, lines.slice(i + 1, end).join('\n')));
      end += 1;
    } else if (heading.test(line)) {
      made.push(h('p', { class: 'heading' }, inline(heading.exec(line)[1], 0)));
    } else if (rule.test(bare(line))) {
      made.push(h('hr'));
    } else if (quote.test(line)) {
      end = take(end, (k) => quote.test(lines[k]));
      made.push(
        h(
          'blockquote',
          {},
          blocks(
            lines.slice(i, end).map((l) => l.replace(quote, '')),
            depth + 1,
          ),
        ),
      );
    } else if (item) {
      const ordered = /\d/.test(item[2]);
      const indent = (k) => lines[k].search(/\S/);
      const base = indent(i);
      const inside = (k) =>
        lines[k].trim() === '' ? k + 1 < lines.length && indent(k + 1) > base : indent(k) > base || !starts(k);
      const items = [];
      for (end = i; end < lines.length;) {
        const next = listItem.exec(lines[end]);
        if (!next || indent(end) > base + 1 || /\d/.test(next[2]) !== ordered) break;
        const first = end;
        const afterBlank = (k) => k > first + 1 && lines[k - 1].trim() === '' && indent(k) <= base;
        end = take(end + 1, (k) => inside(k) && !afterBlank(k));
        items.push([next[3], ...lines.slice(first + 1, end).map((l) => l.slice(Math.min(base + 2, indentOf(l))))]);
      }
      const list = items.map((l) => h('li', {}, l.length === 1 ? inline(l[0], 0) : blocks(l, depth + 1)));
      made.push(ordered ? h('ol', { start: Number.parseInt(item[2], 10) }, list) : h('ul', {}, list));
    } else if (isTable(i)) {
      end = take(i + 2, (k) => lines[k].includes('|'));
      const cells = (l) =>
        l
          .trim()
          .replace(/^\||\|$/g, '')
          .split('|')
          .map((c) => inline(c.trim(), 0));
      const columns = cells(line).map((label) => ({ label }));
      const rows = lines.slice(i + 2, end).map((l) => cells(l).slice(0, columns.length));
      made.push(table(columns, rows, { 'aria-label': 'Table' }));
    } else {
      end = take(end, (k) => lines[k].trim() !== '' && !starts(k));
      made.push(h('p', {}, inline(lines.slice(i, end).join('\n'), 0)));
    }
    i = end;
  }
  return made;
}

const indentOf = (line) => Math.max(0, line.search(/\S/));

// Each is tried where its first character stands. They stop at the next such character, so they take linear time.
const spans = [
  [/\\([!-/:-@[-`{-~])/y, (m) => m[1]],
  [/(`{1,3})([^`]+)\1(?!`)/y, (m) => h('code', {}, m[2])],
  [/\*\*(?!\s)([^*]*[^*\s])\*\*/y, (m, depth) => h('strong', {}, inline(m[1], depth + 1))],
  [/(?<!\*)\*(?!\s)([^*]*[^*\s])\*(?!\*)/y, (m, depth) => h('em', {}, inline(m[1], depth + 1))],
  [/(?<!\w)__(?!\s)([^_]*[^_\s])__(?!\w)/y, (m, depth) => h('strong', {}, inline(m[1], depth + 1))],
  [/(?<!\w)_(?!\s)([^_]*[^_\s])_(?!\w)/y, (m, depth) => h('em', {}, inline(m[1], depth + 1))],
  [
    /!?\[([^[\]]{0,500})\]\(([^()\s]{0,2000})(?:\s[^()]{0,500})?\)/y,
    (m, depth) => [inline(m[1], depth + 1), m[1] !== m[2] && h('span', { class: 'dim' }, ` (${m[2]})`)],
  ],
];

function inline(text, depth) {
  if (depth > maxNested) return text;
  const made = [];
  let from = 0; // of the text that has not been taken
  const special = /[\\`*_![]/g;
  for (let found = special.exec(text); found; found = special.exec(text)) {
    const at = found.index;
    for (const [pattern, make] of spans) {
      pattern.lastIndex = at;
      const m = pattern.exec(text);
      if (!m) continue;
      made.push(text.slice(from, at), make(m, depth));
      from = at + m[0].length;
      special.lastIndex = from;
      break;
    }
  }
  made.push(text.slice(from));
  return made;
}
