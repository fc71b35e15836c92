const firstCompared = 4; // variants that are side by side at first
const maxAligned = 500; // calls of a variant that are aligned
const maxCompared = 50; // files whose diffs are side by side

/** Opens the page of a case, on which one trial of each variant stands side by side. */
async function openCase(id, trial) {
  const { index } = app;
  const at = index.cases.findIndex((c) => c.id === id);
  if (at < 0) throw new Error(`There is no case ${id} in this run.`);
  const units = index.units.map((u, i) => [u, i]).filter(([u]) => u.case === id && u.trial === trial);
  app.compared ??= new Set(index.variants.slice(0, firstCompared).map((v) => v.id));
  const columns = [];
  for (const [unit, i] of units)
    if (app.compared.has(unit.variant)) columns.push({ unit, detail: (await readUnit(i)) ?? {} });
  const neighbour = (c) => c && hash({ compare: c.id, trial });
  return () => caseView(index.cases[at], trial, columns, {
    before: neighbour(index.cases[at - 1]),
    after: neighbour(index.cases[at + 1]),
  });
}

function caseView(c, trial, columns, neighbours) {
  const { run, variants } = app.index;
  const main = byId('unit');
  const chip = (v, i) =>
    h(
      'button',
      {
        type: 'button',
        class: 'chip',
        'aria-pressed': String(app.compared.has(v.id)),
        onclick: async () => {
          if (!app.compared.delete(v.id)) app.compared.add(v.id);
          await route();
          main.querySelectorAll('.chip')[i].focus();
        },
      },
      v.id,
    );
  const link = (n) => {
    const href = hash({ compare: c.id, trial: n });
    return h('a', { class: 'button', href, 'aria-current': n === trial && 'page' }, `Trial ${n}`);
  };
  const task = columns.find((x) => x.detail.task)?.detail.task;
  main.replaceChildren(
    crumbs('case', neighbours),
    h('div', { class: 'hero' }, h('h1', {}, c.id, titleOf(c))),
    h(
      'div',
      { class: 'chips' },
      run.trials > 1 && Array.from({ length: run.trials }, (_, i) => link(i + 1)),
      variants.length > 1 && variants.map(chip),
    ),
    h(
      'div',
      {},
      task && (task.prompts ?? []).length > 0 && folded('Task', () => taskText(task), { class: 'plain' }),
      columns.length === 0
        ? h('p', { class: 'lead' }, 'No variant is chosen.')
        : [
            section('results', 'Results', sideBySide(columns, resultRows(columns))),
            section('answers', 'Answers', sideBySide(columns, [['Last message', ...columns.map(answer)]])),
            section('calls', 'Calls', callRows(columns)),
            section('diffs', 'Workspace diffs', diffRows(columns)),
          ],
    ),
  );
}

const none = () => h('span', { class: 'dim' }, unknown);

/** A table with a column for each variant; rows begin with what they are about. */
function sideBySide(columns, rows) {
  const node = table(
    [
      { label: '' },
      ...columns.map(({ unit }) => ({
        label: h('a', { href: hash({ unit: unit.id }) }, mark(unit.outcome, unit.variant)),
      })),
    ],
    rows,
    { class: 'side', 'aria-label': 'Variants side by side' },
  );
  node.firstChild.style.minWidth = `${110 + columns.length * 260}px`;
  return node;
}

function resultRows(columns) {
  const of = (show) => columns.map((c) => show(c.unit, c.detail.result ?? {}, c.detail));
  const evaluators = new Set(columns.flatMap((c) => (c.detail.result?.evaluations ?? []).map((e) => e.name)));
  return [
    ['Outcome', ...of((u) => [mark(u.outcome), h('span', { class: 'reason' }, why(u))])],
    ['Notes', ...of((_, r, d) => r.outcome && unitNotes(d, r).map((n) => h('p', {}, n)))],
    ['Score', ...of((u) => score(u.score))],
    ['Time', ...of((u) => duration(u.ms))],
    ['Tokens', ...of((u) => integer(u.tokens))],
    ['Calls', ...of((u) => integer(u.calls))],
    ['Cost', ...of((_, r) => (r.metrics?.cost ? money(r.metrics.cost.amount, r.metrics.cost.currency) : unknown))],
    ...[...evaluators].map((name) => [
      name,
      ...of((_, r) => {
        const e = (r.evaluations ?? []).find((x) => x.name === name);
        if (!e) return none();
        return [mark(e.outcome), ` ${score(e.score)}`, e.reason && h('span', { class: 'reason' }, e.reason)];
      }),
    ]),
  ].filter(([name, ...cells]) => name !== 'Notes' || cells.some((cell) => cell?.length));
}

/** The agent's last message in the last turn, as evaluators see it. */
function answer({ detail }) {
  const events = detail.run?.events ?? [];
  const last = events.findLast((e) => e.event === 'message' && e.turn === events.at(-1).turn);
  return last?.text ? markdown(last.text) : none();
}

function callRows(columns) {
  const lists = columns.map(({ detail }) => {
    const events = detail.run?.events ?? [];
    const ends = endsOf(events);
    return events.filter((e) => e.event === 'tool_call').map((call) => ({ call, end: ends.get(call.id) }));
  });
  const rows = align(lists.map((l) => l.slice(0, maxAligned)));
  const text = (x) => x && JSON.stringify([x.call.name, x.call.title, x.call.input]);
  const differs = (row) => columns.some((_, i) => text(row[i]) !== text(row[0]));
  const n = rows.filter(differs).length;
  const cut = lists.filter((l) => l.length > maxAligned).length;
  return [
    h(
      'p',
      { class: 'dim small' },
      rows.length === 0
        ? 'No variant called a tool.'
        : `${integer(n)} of ${plural(rows.length, 'row')} ${n === 1 ? 'differs' : 'differ'}, marked ≠.`,
      cut > 0 && ` Only the first ${maxAligned} calls of each variant are here.`,
    ),
    rows.length > 0 &&
      sideBySide(
        columns,
        rows.map((row, i) => [
          [integer(i + 1), differs(row) && h('strong', { class: 'failed', title: 'differs' }, ' ≠')],
          ...columns.map((_, k) => (row[k] ? toolCall(row[k].call, row[k].end) : none())),
        ]),
      ),
  ];
}

/** Puts lists of calls side by side: rows with at most one call of each list, in their order, alike ones in one row. */
function align(lists) {
  let rows = [];
  lists.forEach((list, column) => {
    const alike = (row, { call }) => {
      const other = row.find(Boolean).call;
      const name = (x) => x.name || x.kind;
      return name(other) !== name(call) ? 0 : other.title === call.title ? 3 : 1;
    };
    // best[i][j] is how alike the rows from i on and the calls from j on can be at most.
    const best = Array.from({ length: rows.length + 1 }, () => new Uint16Array(list.length + 1));
    const together = (i, j) => {
      const a = alike(rows[i], list[j]);
      return a > 0 ? a + best[i + 1][j + 1] : 0;
    };
    for (let i = rows.length - 1; i >= 0; i -= 1)
      for (let j = list.length - 1; j >= 0; j -= 1)
        best[i][j] = Math.max(best[i + 1][j], best[i][j + 1], together(i, j));
    const merged = [];
    let [i, j] = [0, 0];
    while (i < rows.length || j < list.length) {
      const both = i < rows.length && j < list.length;
      const row = [];
      if (both && best[i][j] > 0 && best[i][j] === together(i, j)) {
        row.push(...rows[i++]);
        row[column] = list[j++];
      } else if (j === list.length || (both && best[i][j] === best[i + 1][j])) row.push(...rows[i++]);
      else row[column] = list[j++];
      merged.push(row);
    }
    rows = merged;
  });
  return rows;
}

function diffRows(columns) {
  const files = columns.map(({ detail }) => new Map(detail.diff ? diffFiles(detail.diff).map((f) => [f.name, f]) : []));
  const names = [...new Set(files.flatMap((f) => [...f.keys()]))].sort();
  if (names.length === 0) return h('p', { class: 'dim small' }, 'No variant has a diff.');
  const lines = (f) => f?.lines.join('\n');
  const cell = (name, k) => {
    const file = files[k].get(name);
    if (!file) return none();
    const same = files.findIndex((f) => lines(f.get(name)) === lines(file));
    if (same < k) return h('span', { class: 'dim' }, `as ${columns[same].unit.variant}`);
    return fileDiff(file, false, names.length <= 20);
  };
  return [
    names.length > maxCompared &&
      h('p', { class: 'dim small' }, `The first ${maxCompared} of ${plural(names.length, 'file')}.`),
    sideBySide(
      columns,
      names.slice(0, maxCompared).map((name) => [h('code', {}, name), ...columns.map((_, k) => cell(name, k))]),
    ),
  ];
}
