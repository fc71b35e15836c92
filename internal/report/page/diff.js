const maxOpenLines = 400; // a file with more is folded at first

/** A unified diff as folded files with coloured, numbered lines. */
function diffView(text) {
  const all = diffFiles(text);
  return all.map((file) => fileDiff(file, true, all.length <= 20));
}

/** One file of a diff, open if it may be and is not too long. */
function fileDiff(file, named, open) {
  return folded(
    [
      named && [h('code', { class: 'path' }, file.name), ' '],
      h('span', { class: 'plus' }, `+${file.added}`),
      ' ',
      h('span', { class: 'minus' }, `−${file.removed}`),
    ],
    () => h('pre', { class: 'diff', tabindex: '0' }, diffLines(file.lines)),
    { class: 'file', open: open && file.lines.length <= maxOpenLines },
  );
}

/** Splits a diff at its files: {name, added, removed, lines}. */
function diffFiles(text) {
  const list = [];
  let file;
  let inHunk = false;
  for (const line of text.replace(/\n$/, '').split('\n')) {
    if (line.startsWith('diff --git ') || !file) {
      file = {
        name: line.replace(/^diff --git /, '').replace(/^a\/(.*) b\/\1$/, '$1'),
        added: 0,
        removed: 0,
        lines: [],
      };
      list.push(file);
      inHunk = false;
      if (line.startsWith('diff --git ')) continue;
    }
    if (line.startsWith('@@')) inHunk = true;
    if (inHunk && line.startsWith('+')) file.added += 1;
    if (inHunk && line.startsWith('-')) file.removed += 1;
    file.lines.push(line);
  }
  return list;
}

function diffLines(lines) {
  let [before, after] = [0, 0];
  let inHunk = false;
  const line = (cls, left, right, text) =>
    h(
      'span',
      { class: `line ${cls}` },
      h('span', { class: 'gutter', 'aria-hidden': 'true' }, `${left}`.padStart(5), `${right}`.padStart(5), ' '),
      text,
      '\n',
    );
  return lines.map((text) => {
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(text);
    if (hunk) {
      [before, after] = [Number(hunk[1]), Number(hunk[2])];
      inHunk = true;
      return line('hunk', '', '', text);
    }
    if (!inHunk) return !/^(---|\+\+\+|index) /.test(text) && line('meta', '', '', text); // the file's name stands above
    if (text.startsWith('+')) return line('added', '', after++, text);
    if (text.startsWith('-')) return line('removed', before++, '', text);
    if (text.startsWith('\\')) return line('meta', '', '', text);
    return line('', before++, after++, text);
  });
}

/** A change that a tool call shows: the old text and the new one. */
function changeView(change) {
  const lines = (text, sign, cls) =>
    text
      .replace(/\n$/, '')
      .split('\n')
      .map((l) => h('span', { class: `line ${cls}` }, `${sign}${l}\n`));
  return [
    h('p', { class: 'small' }, h('code', { class: 'path' }, change.path)),
    h(
      'pre',
      { class: 'diff', tabindex: '0' },
      change.old ? lines(change.old, '-', 'removed') : null,
      lines(change.new ?? '', '+', 'added'),
    ),
  ];
}
