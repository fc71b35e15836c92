const maxCheckCases = 20; // cases whose checks are shown at once

/** The checks of a run that has references: a column for each arm, and what came out otherwise than in the reference. */
function checkTable(index) {
  if (!index.checks) return null;
  const of = new Map();
  for (const check of index.checks) {
    if (!of.has(check.case)) of.set(check.case, []);
    of.get(check.case).push(check);
  }
  const flips = (checks) => Math.min(0, ...checks.map((c) => c.flip ?? 0)) || Math.max(...checks.map((c) => c.flip ?? 0));
  const rank = { '-1': 0, 1: 1, 0: 2 };
  const cases = [...of].toSorted(([, a], [, b]) => rank[flips(a)] - rank[flips(b)]); // what was lost first
  const count = (flip) => index.checks.filter((c) => c.flip === flip).length;
  const results = new Map(index.results.map((r) => [`${r.case}/${r.variant}`, r]));
  const columns = [
    { label: 'Check' },
    { label: '' },
    ...index.variants.map((v) => ({ label: [v.id, v.reference && h('span', { class: 'dim' }, ' (reference)')], class: 'cell' })),
  ];
  const grid = (list) =>
    table(
      columns,
      list.flatMap(([id, checks]) => [
        [
          h('a', { href: hash({ compare: id }), class: 'ofcase' }, h('strong', {}, id)),
          '',
          ...index.variants.map((v) => {
            const r = results.get(`${id}/${v.id}`);
            return r && mark(r.outcome, r.trials > 1 ? `${r.passed}/${r.trials}` : false);
          }),
        ],
        ...checks.map((c) => [checkName(index, c), flipMark(c), ...c.arms.map((n, i) => armMark(n, index.variants[i]))]),
      ]),
      { class: 'checks', 'aria-label': 'Checks by arm' },
    );
  const first = grid(cases.slice(0, maxCheckCases));
  const all = h(
    'button',
    {
      type: 'button',
      onclick: () => {
        all.remove();
        first.replaceWith(grid(cases));
      },
    },
    `Show the checks of all ${integer(cases.length)} cases`,
  );
  return section(
    'checks',
    'Checks',
    h(
      'p',
      { class: 'lead' },
      `Compared with the reference, ${plural(count(1), 'check')} gained and ${count(-1)} lost, of ${integer(index.checks.length + (index.checks_left ?? 0))}.`,
      index.checks_left && ` Of so many, ${integer(index.checks_left)} are left out here; what differs is shown first.`,
    ),
    first,
    cases.length > maxCheckCases && all,
  );
}

function flipMark(check) {
  if (!check.flip) return '';
  return check.flip > 0
    ? h('span', { class: 'ok nowrap', title: 'passed more often than in the reference' }, '▲ gained')
    : h('span', { class: 'failed nowrap', title: 'passed less often than in the reference' }, '▼ lost');
}

/** How often a check passed in an arm: of one trial the mark says it. */
function armMark(n, variant) {
  const known = n.judged > 0;
  const fail = variant.reference ? 'reference_fail' : 'fail';
  const outcome = n.passed === n.judged ? 'pass' : fail;
  const text = n.judged > 1 ? `${n.passed}/${n.judged}` : false;
  return [
    known && mark(outcome, text),
    n.unknown > 0 && h('span', { class: 'mark error', title: 'units without a verdict on it' }, `! ${n.unknown}`),
    !known && !n.unknown && none(),
  ];
}

/** The check's text, which unfolds to what each trial of each arm says of it. */
function checkName(index, check) {
  return folded(
    [check.text || check.by, check.text && h('span', { class: 'dim' }, ` ${check.by}`)],
    () => {
      const node = h('div', {}, h('p', { class: 'dim' }, '…'));
      evidence(index, check)
        .catch((error) => h('p', {}, `It cannot be read: ${error.message}`))
        .then((said) => node.replaceChildren(said));
      return node;
    },
  );
}

const maxEvidence = 40; // units whose evidence is shown of a check

async function evidence(index, check) {
  const units = index.units.map((u, i) => [u, i]).filter(([u]) => u.case === check.case);
  const list = [];
  for (const [unit, i] of units.slice(0, maxEvidence)) {
    const detail = (await readUnit(i)) ?? {};
    const e = (detail.result?.evaluations ?? []).find((x) => x.name === check.by);
    const one = (e?.checks ?? []).find((c) => c.id === check.id);
    const said = one ? one.evidence : [e?.detail || e?.reason].filter(Boolean).join('');
    const judged = e && (e.outcome === 'pass' || e.outcome === 'fail');
    list.push(
      h(
        'li',
        {},
        h('a', { href: hash({ unit: unit.id }) }, mark(judged ? (one ?? e).outcome : unit.outcome, `${unit.variant}/${unit.trial}`)),
        said && h('pre', {}, said),
      ),
    );
  }
  const left = units.length - maxEvidence;
  if (left > 0) list.push(h('li', { class: 'dim' }, `${plural(left, 'more unit')}.`));
  return h('ul', { class: 'opinions' }, list);
}
