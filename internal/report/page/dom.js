'use strict';

// What agents wrote gets into the document through these two functions only, as text and never as markup.

/** An element of HTML. Props are attributes; "class", "on…" listeners and booleans are treated as one expects. */
function h(tag, props, ...children) {
  return build(document.createElement(tag), props, children);
}

/** An element of SVG. */
function s(tag, props, ...children) {
  return build(document.createElementNS('http://www.w3.org/2000/svg', tag), props, children);
}

function build(node, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? '' : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== undefined && child !== null && child !== false && child !== '') node.append(child);
  }
  return node;
}

const byId = (id) => document.getElementById(id);

/** A <details> whose content is made when it is first opened, so that nobody waits for what nobody looks at. */
function folded(summary, content, props = {}) {
  const { open, ...rest } = props;
  const node = h('details', rest, h('summary', {}, summary));
  let made = false;
  const fill = () => {
    if (made) return;
    made = true;
    node.append(...[content()].flat(Infinity).filter(Boolean));
  };
  node.addEventListener('toggle', () => node.open && fill());
  node.fill = fill;
  if (open) {
    fill();
    node.open = true;
  }
  return node;
}

/** A table of rows of cells; columns are {label, class}. */
function table(columns, rows, props = {}) {
  return h(
    'div',
    { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': props['aria-label'] },
    h(
      'table',
      { class: props.class },
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          columns.map((c) => h('th', { scope: 'col', class: c.class, title: c.title }, c.label)),
        ),
      ),
      h(
        'tbody',
        {},
        rows.map((cells) =>
          h(
            'tr',
            {},
            cells.map((cell, i) =>
              i === 0
                ? h('th', { scope: 'row', class: columns[i].class }, cell)
                : h('td', { class: columns[i].class }, cell),
            ),
          ),
        ),
      ),
    ),
  );
}

/** A list of terms and what they are; pairs without a value are left out. */
function facts(pairs) {
  return h(
    'dl',
    { class: 'facts' },
    pairs
      .filter(([, v]) => v !== undefined && v !== null && v !== '')
      .map(([k, v]) => h('div', {}, h('dt', {}, k), h('dd', {}, v))),
  );
}
