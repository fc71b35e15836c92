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
  const shown = params.unit !== undefined;
  if (shown && !byId('overview').hidden) app.scroll = scrollY;
  const returned = !shown && byId('overview').hidden;
  byId('overview').hidden = shown;
  byId('unit').hidden = !shown;
  if (shown) {
    openUnit(params.unit, params.unfold !== undefined);
    return;
  }
  document.title = `${app.index.run.name} · ${app.index.run.run_id}`;
  const filter = Object.fromEntries(Object.keys(noFilter).map((k) => [k, params[k] ?? '']));
  const changed = Object.keys(filter).some((k) => filter[k] !== app.list.filter[k]);
  app.list.apply(filter);
  if (changed && Object.values(filter).some(Boolean)) app.list.node.scrollIntoView();
  else if (returned) scrollTo(0, app.scroll ?? 0);
}

/** Opens a unit; unfold shows all there is of it, as one wants it for printing. */
async function openUnit(id, unfold) {
  const i = app.index.units.findIndex((u) => u.id === id);
  const main = byId('unit');
  app.opened = id;
  if (i < 0) {
    main.replaceChildren(
      h('p', { class: 'lead' }, `There is no unit ${id} in this run.`),
      h('p', {}, h('a', { href: '#' }, 'All units')),
    );
    return;
  }
  const unit = app.index.units[i];
  document.title = `${unit.id} · ${app.index.run.run_id}`;
  try {
    // The parser may still be on its way through the details.
    if (document.readyState === 'loading')
      await new Promise((done) => {
        addEventListener('DOMContentLoaded', done, { once: true });
      });
    const detail = await readUnit(i);
    if (app.opened !== id) return; // another was opened meanwhile
    unitView(unit, detail, { before: app.list.neighbour(id, -1), after: app.list.neighbour(id, 1) });
  } catch (error) {
    main.replaceChildren(
      h('p', { class: 'lead' }, `The unit ${id} cannot be shown: ${error.message}`),
      h('p', {}, h('a', { href: '#' }, 'All units')),
    );
  }
  if (unfold) unfoldAll(main);
  scrollTo(0, 0);
  main.focus({ preventScroll: true });
  main.dataset.ready = id;
}

/** Unfolds what is folded, and what appears by that. */
function unfoldAll(node) {
  for (let list = []; list.length !== node.querySelectorAll('details').length;) {
    list = node.querySelectorAll('details');
    for (const d of list) {
      d.fill?.();
      d.open = true;
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

/** "/" searches; j, k and Escape move between units. */
function keys(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.('input, select, textarea')) return;
  if (byId('unit').hidden) {
    if (event.key === '/') {
      event.preventDefault();
      app.list.search.focus();
    }
    return;
  }
  const to = { j: 1, k: -1 }[event.key];
  const id = to && app.list.neighbour(app.opened, to);
  if (id) location.hash = hash({ unit: id });
  if (event.key === 'Escape') location.hash = hash(app.list.filter);
}

start();
