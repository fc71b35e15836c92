const maxMatrix = 20; // cases that are shown at once

function overview(index) {
  build(byId('overview'), {}, [
    hero(index),
    notes(index),
    task(index),
    variantTable(index),
    checkTable(index),
    axisTable(index),
    activation(index),
    charts(index),
    matrix(index),
    more(index),
    mutants(index),
    jobs(index),
  ]);
}

const section = (id, title, ...children) =>
  h('section', { 'aria-labelledby': `${id}-title` }, h('h2', { id: `${id}-title` }, title), ...children);

function hero(index) {
  const { run } = index;
  const counts = {};
  for (const r of index.results) counts[r.outcome] = (counts[r.outcome] ?? 0) + 1;
  const present = Object.keys(outcomes).filter((o) => counts[o]);
  return h(
    'section',
    { class: 'hero' },
    h(
      'p',
      { class: `verdict ${index.outcome}` },
      h('span', { class: 'glyph', 'aria-hidden': 'true' }, outcomes[index.outcome].glyph),
      ` ${outcomes[index.outcome].verdict}`,
    ),
    h('h1', {}, run.name),
    h('p', { class: 'lead' }, index.headline),
    h(
      'div',
      { class: 'proportions', 'aria-hidden': 'true' },
      present.map((o) => {
        const part = h('span', { class: o, title: `${counts[o]} ${outcomes[o].label}` });
        part.style.flexGrow = counts[o];
        return part;
      }),
    ),
    facts([
      ['Run', h('code', {}, run.run_id)],
      ['Started', instant(run.created_at)],
      ['Took', run.finished_at ? duration(Date.parse(run.finished_at) - Date.parse(run.created_at)) : run.state],
      ['Mode', run.mode],
      ['Trials', index.rule],
      ['Sandbox', run.sandbox],
      ['Playbook', h('code', { title: run.playbook.digest }, run.playbook.path)],
    ]),
  );
}

function notes(index) {
  if (index.notes.length === 0) return null;
  return h(
    'ul',
    { class: 'notes', 'aria-label': 'Notes' },
    index.notes.map((n) => h('li', {}, n)),
  );
}

/** A case's title beside its id, unless it is the id. */
const titleOf = (c) => c.title && c.title !== c.id && h('span', { class: 'dim' }, ` ${c.title}`);

function task(index) {
  const t = index.task;
  if (!t || !(t.prompts ?? []).length) return null;
  return folded(['Task', t.title ? h('span', { class: 'dim' }, ` ${t.title}`) : null], () => taskText(t), {
    class: 'plain',
  });
}

function taskText(t) {
  return [
    (t.prompts ?? []).map((p) => h('pre', { class: 'prose' }, p)),
    t.expected_outcome && [h('h4', {}, 'Expected outcome'), h('pre', { class: 'prose' }, t.expected_outcome)],
    t.reference_answer && [h('h4', {}, 'Reference answer'), h('pre', { class: 'prose' }, t.reference_answer)],
  ];
}

const tally = (counts) =>
  Object.keys(outcomes)
    .filter((o) => counts[o])
    .map((o) => [mark(o, integer(counts[o])), ' ']);

function variantName(v) {
  const about = [v.reference && 'reference', v.style, v.kind, v.preset, v.model].filter(Boolean).join(' · ');
  return h(
    'a',
    { class: 'variant', href: hash({ variant: v.id }) },
    h('strong', {}, v.id),
    about && h('span', { class: 'dim' }, about),
  );
}

function variantTable(index) {
  const rated = (key) => index.variants.some((v) => known(v[key].score));
  const columns = [
    { label: 'Variant', value: variantName },
    { label: 'Results', value: (v) => tally(v.cases) },
    { label: 'Score', value: (v) => score(v.score) },
    rated('human') && { label: 'Human', title: 'mean of all raters, 0 to 10', value: (v) => score(v.human.score) },
    rated('ai') && { label: 'AI', title: 'mean of the AI judge, 0 to 10', value: (v) => score(v.ai.score) },
    { label: 'Iterations', value: (v) => total(v.iterations, integer) },
    { label: 'Tool calls', value: (v) => total(v.tool_calls, integer) },
    { label: 'Files', title: 'added, modified, deleted', value: (v) => files(v.files_changed) },
    {
      label: 'Commands',
      value: (v) => [
        integer(v.terminal_commands.count),
        v.terminal_commands.failed > 0 && failed(v.terminal_commands.failed),
      ],
    },
    { label: 'Denied', value: (v) => integer(v.denied_operations) },
    { label: 'Tokens', value: (v) => total(v.tokens.total, short) },
    {
      label: 'Cost',
      value: (v) =>
        (v.cost ?? []).length > 0
          ? v.cost.map((c, i) => [i > 0 && ', ', total(c, (n) => money(n, c.currency))])
          : h('span', { class: 'unknown', title: 'not reported' }, unknown),
    },
    { label: 'Time', value: (v) => total(v.duration_ms, duration) },
  ]
    .filter(Boolean)
    .map((c, i) => ({ ...c, class: i > 1 ? 'number' : undefined }));
  return section(
    'variants',
    'Variants',
    table(
      columns,
      index.variants.map((v) => columns.map((c) => c.value(v))),
      { class: 'variants', 'aria-label': 'Variants' },
    ),
    h(
      'p',
      { class: 'dim small' },
      'Sums over all units. ',
      unknown,
      ' is unknown, which is not zero; ≥ marks a sum without the units whose figure is unknown.',
    ),
  );
}

/** How often skills and tools were used where they should be, and where not. */
function activation(index) {
  const rows = index.variants.flatMap((v) => (v.activation ?? []).map((a) => [a, v]));
  if (rows.length === 0) return null;
  const share = (v) => (known(v) ? `${Math.floor(100 * v)} %` : unknown);
  const columns = [
    { label: 'Skill or tool', value: (a) => h('code', {}, a.name) },
    { label: 'Variant', value: (a, v) => h('a', { href: hash({ variant: v.id }) }, v.id) },
    { label: 'Precision', title: 'of the units in which it was used, how many should', value: (a) => share(a.precision) },
    { label: 'Recall', title: 'of the units in which it should be used, how many did', value: (a) => share(a.recall) },
    { label: 'Fired', title: 'used, as it should be', value: (a) => integer(a.fired) },
    { label: 'Missed', title: 'not used, but should be', value: (a) => a.missed > 0 ? bad(a.missed) : '0' },
    { label: 'Unwanted', title: 'used, but should not be', value: (a) => a.unwanted > 0 ? bad(a.unwanted) : '0' },
    { label: 'Silent', title: 'not used, as it should be', value: (a) => integer(a.silent) },
    { label: 'Unknown', title: 'nobody knows whether it was used', value: (a) => integer(a.unknown) },
  ].map((c, i) => ({ ...c, class: i > 1 ? 'number' : undefined }));
  return section(
    'activation',
    'Skills and tools',
    table(
      columns,
      rows.map(([a, v]) => columns.map((c) => c.value(a, v))),
      { 'aria-label': 'Skills and tools' },
    ),
    h('p', { class: 'dim small' }, 'Units of cases that say whether it should be used. ', unknown, ' is unknown: it was never used, or never should be.'),
    confusion(index),
  );
}

/** Whether the evals would notice a bad agent. */
function mutants(index) {
  const all = index.mutants;
  if (!all) return null;
  const share = (c) => (known(c.score) ? `${(100 * c.score).toFixed(1)} %` : unknown);
  const columns = [
    { label: 'Case', value: (c) => h('code', {}, c.case) },
    { label: 'Noticed', title: 'of the mutants of which that is known', value: share },
    { label: 'Killed', title: 'an evaluator or a step failed it', value: (c) => integer(c.killed) },
    { label: 'Survived', title: 'it passes', value: (c) => (c.survived > 0 ? bad(c.survived) : '0') },
    { label: 'Accepted', title: 'it passes, and the playbook says why', value: (c) => integer(c.accepted) },
    { label: 'Unknown', title: 'it could not be judged', value: (c) => (c.unknown > 0 ? bad(c.unknown) : '0') },
    { label: 'Equivalent', title: 'it need not be noticed', value: (c) => integer(c.equivalent) },
  ].map((c, i) => ({ ...c, class: i > 0 ? 'number' : undefined }));
  const survivors = all.cases.filter((c) => c.survivors.length > 0);
  return section(
    'mutants',
    'Would these evals notice a bad agent?',
    h('p', {}, `${all.headline}. ${all.of}`),
    table(
      columns,
      all.cases.map((c) => columns.map((col) => col.value(c))),
      { 'aria-label': 'Mutants' },
    ),
    survivors.map((c) =>
      folded([h('code', {}, c.case), ` ${integer(c.survivors.length)} of a bad agent's sessions pass`], () =>
        h(
          'ul',
          {},
          c.survivors.map((s) =>
            h('li', {}, h('code', {}, s.name), ` ${s.what}. `, h('code', {}, s.position), `: write ${s.advice}`),
          ),
        ),
        { class: 'plain' },
      ),
    ),
  );
}

/** Which skills and tools were used in the place of others. */
function confusion(index) {
  const confused = index.variants.filter((v) => v.confusion);
  if (confused.length === 0) return null;
  const names = [...new Set(confused.flatMap((v) => v.activation.map((a) => a.name)))];
  const used = (c, name) => {
    const n = c.used[name] ?? 0;
    return n > 0 && !(c.wanted ?? []).includes(name) ? bad(n) : integer(n);
  };
  const columns = [
    { label: 'Should fire', value: (c) => (c.wanted ? h('code', {}, c.wanted.join(', ')) : 'none') },
    { label: 'Variant', value: (c, v) => h('a', { href: hash({ variant: v.id }) }, v.id) },
    { label: 'Units', value: (c) => integer(c.units) },
    ...names.map((name) => ({ label: name, title: 'used', value: (c) => used(c, name) })),
    { label: 'None', title: 'used nothing of that', value: (c) => (c.wanted && c.none > 0 ? bad(c.none) : integer(c.none)) },
    { label: 'Unknown', title: 'nobody knows what was used', value: (c) => integer(c.unknown) },
  ].map((c, i) => ({ ...c, class: i > 1 ? 'number' : undefined }));
  return table(
    columns,
    confused.flatMap((v) => v.confusion.map((c) => columns.map((col) => col.value(c, v)))),
    { 'aria-label': 'Which skills and tools were used in the place of others' },
  );
}

const bad = (n) => h('span', { class: 'failed' }, integer(n));

/** The results of all variants that have the same value on an axis. */
function axisTable(index) {
  if (!index.axes) return null;
  const rows = index.axes.flatMap((axis) =>
    axis.values.map((value) => {
      const counts = {};
      const arms = armsWith(index, axis.name, value);
      for (const r of index.results) if (arms.has(r.variant)) counts[r.outcome] = (counts[r.outcome] ?? 0) + 1;
      const of = `${axis.name}: ${value}`;
      return [axis.name, h('a', { href: hash({ variant: of }) }, value), integer(arms.size), tally(counts)];
    }),
  );
  const columns = ['Axis', 'Value', 'Variants', 'Results'].map((label) => ({ label }));
  return section('axes', 'By axis', table(columns, rows, { 'aria-label': 'Results by axis' }));
}

/** The ids of the variants that have a value on an axis. */
const armsWith = (index, axis, value) =>
  new Set(index.variants.filter((v) => v.axes?.[axis] === value).map((v) => v.id));

const failed = (n) => [', ', h('span', { class: 'failed' }, `${integer(n)} failed`)];

function files(f) {
  if (f.known === 0) return h('span', { class: 'unknown', title: 'not compared' }, unknown);
  return h(
    'span',
    { class: 'changes', title: `${size(f.bytes)} added or modified` },
    f.known < f.of && '≥ ',
    h('span', { class: 'plus' }, `+${f.added}`),
    h('span', {}, ` ~${f.modified}`),
    h('span', { class: 'minus' }, ` −${f.deleted}`),
  );
}

function matrix(index) {
  if (index.cases.length < 2) return null;
  const results = new Map(index.results.map((r) => [`${r.case}/${r.variant}`, r]));
  const units = new Map(index.units.map((u) => [`${u.case}/${u.variant}`, u]));
  const columns = [{ label: 'Case' }, ...index.variants.map((v) => ({ label: v.id, class: 'cell' }))];
  const cell = (c, v) => {
    const r = results.get(`${c.id}/${v.id}`);
    if (!r) return '';
    const target = r.trials === 1 ? { unit: units.get(`${c.id}/${v.id}`).id } : { case: c.id, variant: v.id };
    return h(
      'a',
      {
        href: hash(target),
        class: `cellmark ${r.outcome}`,
        'aria-label': `${c.id}, ${v.id}: ${outcomes[r.outcome].label}`,
      },
      h('span', { class: 'glyph' }, outcomes[r.outcome].glyph),
      r.trials > 1 ? ` ${r.passed}/${r.trials}` : '',
    );
  };
  const caseName = (c) => {
    const name = h('strong', {}, c.id);
    return index.variants.length > 1 ? h('a', { href: hash({ compare: c.id }) }, name) : name;
  };
  const grid = (cases) =>
    table(
      columns,
      cases.map((c) => [
        h('span', { title: c.title }, caseName(c), titleOf(c)),
        ...index.variants.map((v) => cell(c, v)),
      ]),
      { class: 'matrix', 'aria-label': 'Cases by variant' },
    );
  const worst = new Map(); // of each case
  for (const r of index.results) {
    worst.set(r.case, Math.min(worst.get(r.case) ?? Infinity, urgency.indexOf(r.outcome)));
  }
  const cases = index.cases.toSorted((a, b) => worst.get(a.id) - worst.get(b.id)); // what did not pass first
  const first = grid(cases.slice(0, maxMatrix));
  const all = h(
    'button',
    {
      type: 'button',
      onclick: () => {
        all.remove();
        first.replaceWith(grid(cases));
      },
    },
    `Show all ${integer(index.cases.length)} cases`,
  );
  return section('cases', 'Cases', first, index.cases.length > maxMatrix && all);
}

function charts(index) {
  return section(
    'charts',
    'Comparison',
    h(
      'div',
      { class: 'charts' },
      chartList(index).map((c) => chart(c, index.variants)),
    ),
  );
}

/** What is known of each variant beyond the table. */
function more(index) {
  return section(
    'more',
    'By variant',
    index.variants.map((v) =>
      folded(
        [h('strong', {}, v.id), ' ', h('span', { class: 'dim' }, [v.style, v.kind].filter(Boolean).join(' · '))],
        () => variantDetails(v),
        { class: 'plain', open: index.variants.length === 1 },
      ),
    ),
  );
}

function variantDetails(v) {
  const block = (title, content) => content && h('div', {}, h('h4', {}, title), content);
  const count = (counts) => {
    const names = Object.keys(counts).sort((a, b) => counts[b] - counts[a] || (a < b ? -1 : 1));
    return (
      names.length > 0 &&
      h(
        'ul',
        { class: 'counts' },
        names.map((n) => h('li', {}, h('code', {}, n || 'unnamed'), h('span', {}, integer(counts[n])))),
      )
    );
  };
  const opinions = (r) =>
    r.scores &&
    h(
      'ul',
      { class: 'opinions' },
      r.scores
        .slice(0, 50)
        .map((o) =>
          h(
            'li',
            {},
            h('strong', {}, score(o.score)),
            ` ${o.by}`,
            o.unit && h('span', { class: 'dim' }, ` ${o.unit}`),
            o.notes && h('p', {}, o.notes),
          ),
        ),
    );
  return h(
    'div',
    { class: 'blocks' },
    block(
      'Agent',
      facts([
        ['Command', v.command && h('code', {}, [v.command, ...(v.args ?? [])].join(' '))],
        ['Preset', v.preset],
        ['Model', v.model],
        ['Mode', v.mode],
        ['Variables', v.env && h('code', {}, v.env.join(' '))],
        ['Units', tally(v.units)],
      ]),
    ),
    block(
      'Evaluators',
      v.evaluator_totals &&
        h(
          'ul',
          { class: 'opinions' },
          v.evaluator_totals.map((e) =>
            h(
              'li',
              {},
              h('strong', {}, e.name),
              h('span', { class: 'dim' }, ` ${e.type} `),
              tally(e.units),
              `score ${score(e.score)}`,
            ),
          ),
        ),
    ),
    block('Tool calls', count(v.tool_calls_by_name)),
    block('Units stopped by', count(v.stops)),
    block('Turns stopped by', count(v.stop_reasons)),
    block('Commands by source', count(v.terminal_commands.by_source)),
    block('Session modes', count(v.modes)),
    block('Permission requests', count(v.permission_requests)),
    block('Human scores', opinions(v.human)),
    block('AI judge', opinions(v.ai)),
  );
}

function jobs(index) {
  if (index.jobs.length === 0) return null;
  return section(
    'jobs',
    'Jobs',
    index.jobs.map((j) =>
      folded(
        [
          mark(j.outcome),
          ' ',
          h('strong', {}, j.id),
          j.result && h('span', { class: 'dim' }, ` ${duration(j.result.duration_ms)}`),
        ],
        () =>
          j.result
            ? [j.result.reason && h('p', {}, j.result.reason), stepList(j.result.steps ?? [])]
            : h('p', {}, 'This job has not run.'),
        { class: 'plain', open: j.outcome === 'fail' || j.outcome === 'error' },
      ),
    ),
  );
}

function stepList(steps) {
  return steps.map((step) =>
    folded(
      [
        mark(step.outcome),
        ' ',
        h('strong', {}, step.name),
        step.position && h('code', { class: 'dim' }, ` ${step.position}`),
        h('span', { class: 'dim' }, ` ${duration(step.duration_ms)}`),
        step.reason && h('span', { class: 'reason' }, ` ${step.reason}`),
      ],
      () => (step.output ? h('pre', {}, step.output) : h('p', { class: 'dim' }, 'No output.')),
      { class: 'plain', open: Boolean(step.output) && (step.outcome === 'fail' || step.outcome === 'error') },
    ),
  );
}
