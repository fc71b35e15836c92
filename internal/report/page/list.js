const rowHeight = 40; // as in page.css
const maxPrinted = 1000; // rows that are printed
const maxGroups = 8; // reasons that are shown above the list

/** What did not pass comes first. */
const urgency = ['error', 'fail', 'not_run', 'reference_fail', 'completed', 'skip', 'pass'];

/** Why a unit's session ended, and why the unit did not pass. */
const why = (u) => [u.stop, u.reason].filter(Boolean).join(': ');

const noFilter = { q: '', outcome: '', variant: '', case: '', differ: '', reason: '' };

/** The cases in which not all variants have the same result. */
function differing(index) {
  const first = new Map();
  const cases = new Set();
  for (const r of index.results) {
    const key = `${r.outcome} ${r.passed}`;
    if (!first.has(r.case)) first.set(r.case, key);
    else if (first.get(r.case) !== key) cases.add(r.case);
  }
  return cases;
}

/** The list of all units: filtered, sorted, and with no more rows in the document than can be seen. */
class UnitList {
  constructor(index, onchange) {
    this.units = index.units;
    this.reasons = index.reasons;
    for (const u of this.units) u.reason = (u.reasons ?? []).map((k) => this.reasons[k]).join('; ');
    this.differing = differing(index);
    this.arms = new Map(
      (index.axes ?? []).flatMap(({ name, values }) => values.map((v) => [`${name}: ${v}`, armsWith(index, name, v)])),
    );
    this.onchange = onchange;
    const titles = new Map(index.cases.map((c) => [c.id, c.title ?? '']));
    this.haystack = this.units.map((u) => `${u.id} ${titles.get(u.case)} ${why(u)}`.toLowerCase());
    this.filter = noFilter;
    this.order = { key: 'outcome', descending: false };
    this.groups = h('ul', { class: 'groups', 'aria-label': 'Frequent reasons' });
    this.node = section('units', 'Units', this.controls(index), this.groups, this.head(), this.viewport());
    this.node.id = 'units';
    addEventListener('beforeprint', () => this.draw(true));
    addEventListener('afterprint', () => this.draw());
    addEventListener('resize', () => this.draw());
  }

  controls(index) {
    const change = (key) => (event) => this.set({ [key]: event.target.value });
    this.search = h('input', {
      type: 'search',
      placeholder: 'Search ids, titles, reasons',
      'aria-label': 'Search units',
      oninput: change('q'),
    });
    const select = (key, label, values) => {
      this[key] = h(
        'select',
        { 'aria-label': label, onchange: change(key) },
        h('option', { value: '' }, `All ${key}s`),
        values.map((v) => h('option', { value: v }, v)),
      );
      return values.length > 1 && this[key];
    };
    const chip = (props, ...content) => h('button', { type: 'button', class: 'chip', ...props }, content);
    const present = new Set(this.units.map((u) => u.outcome));
    this.chips = Object.keys(outcomes)
      .filter((o) => present.has(o))
      .map((o) =>
        chip(
          { 'data-outcome': o, onclick: () => this.set({ outcome: this.filter.outcome === o ? '' : o }) },
          mark(o),
          h('span', { class: 'count' }),
        ),
      );
    this.differ = chip(
      {
        title: 'Cases whose results differ between variants',
        onclick: () => this.set({ differ: this.filter.differ ? '' : '1' }),
      },
      'Variants differ',
      h('span', { class: 'count' }),
    );
    this.status = h('p', { class: 'dim small', role: 'status' });
    return h(
      'div',
      { class: 'filters' },
      this.search,
      select(
        'variant',
        'Variant',
        [...this.arms.keys(), ...index.variants.map((v) => v.id)],
      ),
      select(
        'case',
        'Case',
        index.cases.map((c) => c.id),
      ),
      h('div', { class: 'chips', role: 'group', 'aria-label': 'Outcome' }, this.chips),
      index.variants.length > 1 && this.differ,
      this.status,
    );
  }

  head() {
    const column = (key, label, cls) =>
      h(
        'button',
        {
          type: 'button',
          class: cls,
          onclick: () => this.sort(key),
          title: `Sort by ${label.toLowerCase()}`,
        },
        label,
        h('span', { 'aria-hidden': 'true', class: 'arrow', 'data-key': key }),
      );
    return h(
      'div',
      { class: 'row head' },
      column('outcome', 'Outcome'),
      column('case', 'Case'),
      column('variant', 'Variant'),
      column('trial', 'Trial', 'number'),
      h('span', { class: 'why' }, 'Reason'),
      column('score', 'Score', 'number least score'),
      column('calls', 'Calls', 'number least'),
      column('tokens', 'Tokens', 'number least'),
      column('ms', 'Time', 'number'),
    );
  }

  viewport() {
    this.space = h('div', { class: 'space', role: 'list' });
    this.view = h('div', { class: 'viewport', onscroll: () => this.draw(), onkeydown: (e) => this.key(e) }, this.space);
    return this.view;
  }

  /** Changes the filter and tells of it. */
  set(change) {
    this.apply({ ...this.filter, ...change });
    this.onchange(this.filter);
  }

  apply(filter) {
    this.filter = filter;
    for (const [node, value] of [
      [this.search, filter.q],
      [this.variant, filter.variant],
      [this.case, filter.case],
    ]) {
      if (node.value !== value) node.value = value;
    }
    for (const chip of this.chips) chip.setAttribute('aria-pressed', String(chip.dataset.outcome === filter.outcome));
    this.differ.setAttribute('aria-pressed', String(Boolean(filter.differ)));
    const words = filter.q.toLowerCase().split(/\s+/).filter(Boolean);
    const tests = {
      q: (u, i) => words.every((w) => this.haystack[i].includes(w)),
      outcome: (u) => u.outcome === filter.outcome,
      variant: (u) => u.variant === filter.variant || this.arms.get(filter.variant)?.has(u.variant),
      case: (u) => u.case === filter.case,
      differ: (u) => this.differing.has(u.case),
      reason: (u) => (u.reasons ?? []).some((k) => this.reasons[k] === filter.reason),
    };
    const active = Object.keys(tests).filter((key) => filter[key]);
    this.shown = [];
    // A count says how many units there are if that is chosen beside the rest of the filter.
    const counts = {};
    const frequent = new Map();
    let differ = 0;
    this.units.forEach((u, i) => {
      const failed = active.filter((key) => !tests[key](u, i));
      const but = (key) => failed.length === 0 || (failed.length === 1 && failed[0] === key);
      if (failed.length === 0) this.shown.push(i);
      if (but('outcome')) counts[u.outcome] = (counts[u.outcome] ?? 0) + 1;
      if (but('differ') && tests.differ(u)) differ += 1;
      if (but('reason')) for (const k of new Set(u.reasons)) frequent.set(k, (frequent.get(k) ?? 0) + 1);
    });
    for (const chip of this.chips) chip.lastChild.textContent = ` ${integer(counts[chip.dataset.outcome] ?? 0)}`;
    this.differ.lastChild.textContent = ` ${integer(differ)}`;
    this.group(frequent);
    this.arrange();
  }

  /** Shows the reasons that several units have, the most frequent first. */
  group(frequent) {
    const list = [...frequent]
      .filter(([k, n]) => n > 1 || this.reasons[k] === this.filter.reason)
      .sort((a, b) => b[1] - a[1] || a[0] - b[0]);
    const focused = document.activeElement?.dataset?.reason;
    this.groups.replaceChildren(
      ...list.slice(0, maxGroups).map(([k, n]) => {
        const text = this.reasons[k];
        const pressed = text === this.filter.reason;
        return h(
          'li',
          {},
          h(
            'button',
            {
              type: 'button',
              'data-reason': k,
              'aria-pressed': String(pressed),
              title: text,
              onclick: () => this.set({ reason: pressed ? '' : text }),
            },
            h('strong', {}, `${integer(n)} ×`),
            ` ${text}`,
          ),
        );
      }),
      ...(list.length > maxGroups
        ? [h('li', { class: 'dim small' }, `${plural(list.length - maxGroups, 'more frequent reason')}.`)]
        : []),
    );
    if (focused !== undefined) this.groups.querySelector(`[data-reason="${focused}"]`)?.focus({ preventScroll: true });
  }

  sort(key) {
    this.order = {
      key,
      descending: this.order.key === key ? !this.order.descending : ['score', 'calls', 'tokens', 'ms'].includes(key),
    };
    this.arrange();
  }

  /** Sorts what is shown; what is unknown comes last either way. */
  arrange() {
    const { key, descending } = this.order;
    const value = (i) => (key === 'outcome' ? urgency.indexOf(this.units[i].outcome) : this.units[i][key]);
    this.shown.sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      if (!known(x) || !known(y)) return known(y) - known(x) || a - b;
      const order = x < y ? -1 : x > y ? 1 : 0;
      return (descending ? -order : order) || a - b;
    });
    for (const arrow of this.node.querySelectorAll('.arrow')) {
      arrow.textContent = arrow.dataset.key !== key ? '' : descending ? ' ↓' : ' ↑';
    }
    const all = this.shown.length === this.units.length;
    this.status.textContent = all
      ? plural(this.units.length, 'unit')
      : `${integer(this.shown.length)} of ${plural(this.units.length, 'unit')}`;
    this.view.scrollTop = 0;
    this.draw();
  }

  /** Draws the rows that can be seen, and a few around them. */
  draw(print = false) {
    if (!this.shown) return;
    const height = this.view.clientHeight || 600;
    const first = print ? 0 : Math.max(0, Math.floor(this.view.scrollTop / rowHeight) - 8);
    const last = Math.min(this.shown.length, print ? maxPrinted : first + Math.ceil(height / rowHeight) + 16);
    this.space.style.height = `${(print ? last : this.shown.length) * rowHeight}px`;
    const focused = document.activeElement?.dataset?.place;
    this.space.replaceChildren(...this.shown.slice(first, last).map((i, n) => this.row(i, first + n)));
    if (focused !== undefined) this.space.querySelector(`[data-place="${focused}"]`)?.focus({ preventScroll: true });
    if (this.shown.length === 0) this.space.append(h('p', { class: 'dim empty' }, 'No unit matches the filter.'));
  }

  row(i, place) {
    const u = this.units[i];
    const node = h(
      'a',
      { class: 'row', href: hash({ unit: u.id }), 'data-place': place },
      mark(u.outcome),
      h('span', { class: 'id' }, u.case),
      h('span', { class: 'id' }, u.variant),
      h('span', { class: 'number' }, u.trial),
      h('span', { class: 'why', title: why(u) }, why(u)),
      h('span', { class: 'number least score' }, score(u.score)),
      h('span', { class: 'number least' }, integer(u.calls)),
      h('span', { class: 'number least' }, short(u.tokens)),
      h('span', { class: 'number' }, duration(u.ms)),
    );
    const item = h(
      'div',
      { role: 'listitem', 'aria-setsize': this.shown.length, 'aria-posinset': place + 1, class: 'item' },
      node,
    );
    item.style.top = `${place * rowHeight}px`;
    return item;
  }

  /** Arrow keys, Home and End move through the list. */
  key(event) {
    const place = Number(document.activeElement?.dataset?.place ?? NaN);
    const page = Math.floor(this.view.clientHeight / rowHeight);
    const to = {
      ArrowDown: place + 1,
      ArrowUp: place - 1,
      Home: 0,
      End: this.shown.length - 1,
      PageDown: place + page,
      PageUp: place - page,
    }[event.key];
    if (to === undefined || Number.isNaN(to)) return;
    event.preventDefault();
    const target = Math.max(0, Math.min(this.shown.length - 1, to));
    const top = target * rowHeight;
    if (top < this.view.scrollTop) this.view.scrollTop = top;
    if (top + rowHeight > this.view.scrollTop + this.view.clientHeight)
      this.view.scrollTop = top + rowHeight - this.view.clientHeight;
    this.draw();
    this.space.querySelector(`[data-place="${target}"]`)?.focus({ preventScroll: true });
  }

  /** The id of the unit before or after this one, in the order that is shown. */
  neighbour(id, step) {
    const at = this.shown.findIndex((i) => this.units[i].id === id);
    const next = at < 0 ? undefined : this.shown[at + step];
    return next === undefined ? undefined : this.units[next].id;
  }
}
