const maxFound = 1000;

/** A field that searches the texts in a node, folded ones too; Enter goes to the next place, Shift and Enter back. */
function finder(node) {
  let found = []; // ranges
  let at = -1;
  let waiting;
  const status = h('span', { class: 'dim small', role: 'status' });
  const search = () => {
    const q = input.value.toLowerCase();
    CSS.highlights?.clear();
    found = [];
    at = -1;
    status.textContent = '';
    if (q.trim() === '') return;
    unfoldAll(node, false);
    const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
    for (let t = walker.nextNode(); t && found.length < maxFound; t = walker.nextNode()) {
      const lower = t.data.toLowerCase();
      const text = lower.length === t.data.length ? lower : t.data; // places must be those of the text itself
      for (let i = text.indexOf(q); i >= 0 && found.length < maxFound; i = text.indexOf(q, i + q.length)) {
        const range = new Range();
        range.setStart(t, i);
        range.setEnd(t, i + q.length);
        found.push(range);
      }
    }
    if (found.length === 0) status.textContent = 'not found';
    else if (CSS.highlights) CSS.highlights.set('found', new Highlight(...found));
    step(1);
  };
  const step = (by) => {
    if (found.length === 0) return;
    at = (at + by + found.length) % found.length;
    const range = found[at];
    if (CSS.highlights) CSS.highlights.set('current', new Highlight(range));
    status.textContent = `${integer(at + 1)} of ${integer(found.length)}${found.length === maxFound ? ' or more' : ''}`;
    const around = [];
    for (let n = range.startContainer.parentElement; n !== node; n = n.parentElement) around.push(n);
    for (const n of around) if (n.matches('details')) n.open = true;
    for (const n of around)
      if (n.scrollHeight > n.clientHeight)
        n.scrollTop += range.getBoundingClientRect().top - n.getBoundingClientRect().top - n.clientHeight / 2;
    scrollBy(0, range.getBoundingClientRect().top - innerHeight / 2);
  };
  const input = h('input', {
    type: 'search',
    placeholder: 'Search here',
    'aria-label': 'Search this page',
    oninput: () => {
      clearTimeout(waiting);
      waiting = setTimeout(search, 150);
    },
    onkeydown: (event) => {
      if (event.key !== 'Enter') return;
      event.preventDefault();
      step(event.shiftKey ? -1 : 1);
    },
  });
  CSS.highlights?.clear();
  return [input, status];
}
