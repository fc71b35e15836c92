/** The page's address: the unit that is shown, or the filter of the list. */
function hash(params) {
  const text = Object.entries(params)
    .filter(([, v]) => v)
    .map(([k, v]) => `${k}=${encodeURIComponent(v)}`)
    .join('&');
  return `#${text.replaceAll('%2F', '/')}`;
}

const app = { index: JSON.parse(byId('index').textContent) };

function route() {
  const params = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  const { unit, compare } = params;
  const shown = unit !== undefined || compare !== undefined;
  if (shown && !byId('overview').hidden) app.scroll = scrollY;
  const returned = !shown && byId('overview').hidden;
  byId('overview').hidden = shown;
  byId('unit').hidden = !shown;
  if (shown) {
    const make = unit !== undefined ? () => openUnit(unit) : () => openCase(compare, Number(params.trial ?? 1));
    return openPage(unit ?? compare, make, params.unfold !== undefined);
  }
  document.title = `${app.index.run.name} · ${app.index.run.run_id}`;
  const filter = Object.fromEntries(Object.keys(noFilter).map((k) => [k, params[k] ?? '']));
  const changed = Object.keys(filter).some((k) => filter[k] !== app.list.filter[k]);
  app.list.apply(filter);
  if (changed && Object.values(filter).some(Boolean)) app.list.node.scrollIntoView();
  else if (returned) scrollTo(0, app.scroll ?? 0);
}

/**
 * Opens the page of a unit or a case in place of the overview; make reads it and returns what shows it. Unfold shows
 * all there is of it, as one wants it for printing.
 */
async function openPage(name, make, unfold) {
  const main = byId('unit');
  app.opened = make;
  app.neighbours = {};
  document.title = `${name} · ${app.index.run.run_id}`;
  try {
    // The parser may still be on its way through the details.
    if (document.readyState === 'loading')
      await new Promise((done) => {
        addEventListener('DOMContentLoaded', done, { once: true });
      });
    const show = await make();
    if (app.opened !== make) return; // another was opened meanwhile
    show();
  } catch (error) {
    if (app.opened !== make) return;
    main.replaceChildren(
      h('p', { class: 'lead' }, `${name} cannot be shown: ${error.message}`),
      h('p', {}, h('a', { href: '#' }, 'All units')),
    );
  }
  if (unfold) unfoldAll(main);
  scrollTo(0, 0);
  main.focus({ preventScroll: true });
  main.dataset.ready = name;
}

/** What stands above a page: the ways to the list and to the pages before and after this one, and the search. */
function crumbs(what, neighbours, ...more) {
  app.neighbours = neighbours;
  const link = (to, text, label) =>
    to
      ? h('a', { class: 'button', href: to, 'aria-label': label }, text)
      : h('span', { class: 'button off' }, text);
  return h(
    'nav',
    { class: 'crumbs', 'aria-label': 'Pages' },
    h('a', { href: hash(app.list.filter), class: 'button' }, '← All units'),
    more,
    h('span', { class: 'push' }),
    finder(byId('unit')),
    link(neighbours.before, '‹ Previous', `Previous ${what}`),
    link(neighbours.after, 'Next ›', `Next ${what}`),
  );
}

/** Unfolds what is folded, and what appears by that, or only makes what is folded. */
function unfoldAll(node, open = true) {
  for (let list = []; list.length !== node.querySelectorAll('details').length;) {
    list = node.querySelectorAll('details');
    for (const d of list) {
      d.fill?.();
      if (open) d.open = true;
    }
  }
}

const themes = ['auto', 'light', 'dark'];

/** Storage may be forbidden to files; the choice then lasts as long as the page. */
function stored(theme) {
  try {
    if (theme) localStorage.setItem('sdd-eval-theme', theme);
    return localStorage.getItem('sdd-eval-theme');
  } catch {
    return theme;
  }
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  byId('theme').textContent = { auto: '◐ Auto', light: '☀ Light', dark: '☾ Dark' }[theme];
}

function start() {
  const theme = stored();
  setTheme(themes.includes(theme) ? theme : 'auto');
  byId('theme').addEventListener('click', () => {
    const next = themes[(themes.indexOf(document.documentElement.dataset.theme) + 1) % themes.length];
    stored(next);
    setTheme(next);
  });
  byId('home').append(app.index.run.name);
  byId('bar-run').append(app.index.run.run_id);
  overview(app.index);
  app.list = new UnitList(app.index, (filter) => history.replaceState(null, '', hash(filter)));
  byId('overview').append(app.list.node, h('footer', { class: 'dim small' }, app.index.run.tool));
  byId('skip').addEventListener('click', (event) => {
    event.preventDefault();
    (byId('overview').hidden ? byId('unit') : app.list.search).focus();
  });
  app.list.apply(app.list.filter);
  addEventListener('hashchange', route);
  addEventListener('keydown', keys);
  route();
  // How long it took until everything above could be seen, for whoever measures.
  document.documentElement.dataset.shownMs = Math.round(performance.now());
}

/** "/" searches; j, k and Escape move between units or cases. */
function keys(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.('input, select, textarea')) return;
  const listed = byId('unit').hidden;
  if (event.key === '/') {
    event.preventDefault();
    (listed ? app.list.search : byId('unit').querySelector('input[type=search]'))?.focus();
  }
  if (listed) return;
  const to = { j: app.neighbours.after, k: app.neighbours.before }[event.key];
  if (to) location.hash = to;
  if (event.key === 'Escape') location.hash = hash(app.list.filter);
}

start();
