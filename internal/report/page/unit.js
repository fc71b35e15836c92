/**
 * Reads the details of a unit: a line of JSON, and the JSON of its trajectory if there is one, compressed with gzip, in
 * base64. The block has those of all units in their order.
 */
async function readUnit(i) {
  const { units } = app.index;
  if (!units[i].size) return null;
  if (typeof DecompressionStream === 'undefined')
    throw new Error('This browser cannot decompress the data in this file: it has no DecompressionStream.');
  app.details ??= byId('details').textContent;
  const start = units.slice(0, i).reduce((sum, u) => sum + (u.size ?? 0), 0);
  const bytes = Uint8Array.from(atob(app.details.slice(start, start + units[i].size)), (c) => c.charCodeAt(0));
  const text = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).text();
  const end = text.indexOf('\n');
  const detail = JSON.parse(text.slice(0, end));
  try {
    if (end + 1 < text.length) detail.run = JSON.parse(text.slice(end + 1));
    blame(detail);
  } catch (error) {
    detail.damaged = error.message;
  }
  return detail;
}

/** Notes at calls, in flaws, what evaluators wanted of them, and in the evaluators' verdicts the calls themselves. */
function blame(detail) {
  const calls = (detail.run?.events ?? []).filter((e) => e.event === 'tool_call');
  for (const e of detail.result?.evaluations ?? []) {
    for (const flaw of e.calls ?? []) {
      flaw.at = calls[flaw.call - 1];
      if (flaw.at) (flaw.at.flaws ??= []).push(`${e.name}: ${flaw.want}`);
    }
  }
}

/** Buttons that lead to the calls that were not as an evaluator expected. */
function flawList(flaws) {
  const show = (call) => {
    call.node.open = true;
    call.node.scrollIntoView({ block: 'center' });
    call.node.firstChild.focus({ preventScroll: true });
  };
  const text = (f) => [f.at && h('code', {}, callName(f.at)), ` ${f.want}`];
  return h(
    'ul',
    { class: 'groups', 'aria-label': 'Calls that were not as expected' },
    flaws.map((f) =>
      h('li', {}, f.at ? h('button', { type: 'button', onclick: () => show(f.at) }, '→ ', text(f)) : text(f)),
    ),
  );
}

/** Opens a unit's page. */
async function openUnit(id) {
  const i = app.index.units.findIndex((u) => u.id === id);
  if (i < 0) throw new Error(`There is no unit ${id} in this run.`);
  const detail = await readUnit(i);
  const neighbour = (step) => {
    const to = app.list.neighbour(id, step);
    return to && hash({ unit: to });
  };
  return () => unitView(app.index.units[i], detail, { before: neighbour(-1), after: neighbour(1) });
}

function unitView(unit, detail, neighbours) {
  const result = detail?.result;
  const sections = result ? unitSections(detail, result) : [];
  byId('unit').replaceChildren(
    crumbs(
      'unit',
      neighbours,
      app.index.variants.length > 1 &&
        h('a', { class: 'button', href: hash({ compare: unit.case, trial: unit.trial }) }, 'Compare variants'),
    ),
    h(
      'div',
      { class: 'hero' },
      h(
        'p',
        { class: `verdict ${unit.outcome}` },
        h('span', { class: 'glyph', 'aria-hidden': 'true' }, outcomes[unit.outcome].glyph),
        ` ${outcomes[unit.outcome].verdict}`,
      ),
      h(
        'h1',
        {},
        unit.case,
        h('span', { class: 'dim' }, ` ${unit.variant}`),
        app.index.run.trials > 1 && h('span', { class: 'dim' }, ` trial ${unit.trial}`),
      ),
      unit.reason && h('p', { class: 'lead' }, result?.reason || unit.reason),
      result?.next && h('p', {}, 'Next: ', h('code', {}, result.next)),
      !result && h('p', { class: 'lead' }, 'This unit has not run.'),
    ),
    h(
      'ul',
      { class: 'notes', 'aria-label': 'Notes' },
      unitNotes(detail, result).map((n) => h('li', {}, n)),
    ),
    h(
      'div',
      { class: 'columns' },
      h(
        'aside',
        {},
        result && unitFacts(detail, result),
        sections.length > 0 &&
          h(
            'nav',
            { 'aria-label': 'On this page' },
            h(
              'ul',
              {},
              sections.map((x) =>
                h(
                  'li',
                  {},
                  h(
                    'button',
                    { type: 'button', onclick: () => byId(`${x.id}-title`).scrollIntoView() },
                    x.title,
                    x.count && h('span', { class: 'dim' }, ` ${x.count}`),
                  ),
                ),
              ),
            ),
          ),
      ),
      h(
        'div',
        {},
        sections.map((x) => section(x.id, x.title, x.tools, x.content)),
      ),
    ),
  );
}

function unitNotes(detail, result) {
  if (!result) return [];
  return [
    result.endpoint === 'scripted' &&
      'The model of the agent was scripted: what the agent did was written beforehand.',
    result.replayed && 'Replayed from a recording; no agent ran.',
    ...(result.warnings ?? []),
    ...(result.attempts ?? []).map((a, i) => `Attempt ${i + 1} ended in an error and was repeated: ${a}`),
    ...(detail.missing ?? []).map((m) => `Missing, although the unit ran: ${m}`),
    ...(detail.too_large ?? []),
    detail.damaged && `The trajectory is damaged, so it is not shown: ${detail.damaged}`,
    ...(detail.cut ?? []).map((c) => `Left out here for its size, but in the unit’s artifacts: ${c}.`),
  ].filter(Boolean);
}

// machine says what processes used of the machine.
function machine(m) {
  const parts = [`${integer(Math.ceil(m.memory_bytes / 2 ** 20))} MiB of memory`, `${duration(m.cpu_ms)} of CPU`];
  return [...parts, ...(m.disk_bytes ? [`${integer(Math.ceil(m.disk_bytes / 2 ** 20))} MiB on disk`] : [])].join(', ');
}

function unitFacts(detail, result) {
  const m = result.metrics;
  const tokens = m?.tokens;
  return facts([
    ['Stopped', result.stop],
    ['Should stop with', (result.expect_stop ?? []).join(' or ')],
    ['Session mode', (result.modes ?? []).join(', then ')],
    ['Time', duration(result.duration_ms)],
    ['Started', instant(result.started_at)],
    ['Iterations', m && integer(m.iterations)],
    ['Turns ended', m && (m.stop_reasons ?? []).join(', ')],
    ['Tokens', m && (tokens && known(tokens.total) ? integer(tokens.total) : unknown)],
    [
      'Input, output',
      tokens && (known(tokens.input) || known(tokens.output)) && `${integer(tokens.input)}, ${integer(tokens.output)}`,
    ],
    ['Machine', m?.machine && machine(m.machine)],
    ['Cost', m && (m.cost ? money(m.cost.amount, m.cost.currency) : unknown)],
    [
      'Agent',
      detail.run?.agent &&
        [detail.run.agent.name || detail.run.agent.kind, detail.run.agent.version].filter(Boolean).join(' '),
    ],
    ['Model', detail.run?.agent?.model],
    ['Recording', result.session && h('code', {}, result.session)],
    // No links: where reports are served, a page that an agent wrote would run with the rights of this one.
    ['Workspace', h('code', {}, detail.paths.workspace)],
    ['Logs', detail.paths.logs && h('code', {}, detail.paths.logs)],
    ['Artifacts', h('code', {}, detail.paths.artifacts)],
  ]);
}

/** The parts of a unit's page, those that there are: {id, title, count, tools, content}. */
function unitSections(detail, result) {
  const m = result.metrics ?? {};
  const events = detail.run?.events ?? [];
  const some = (list) => (list ?? []).length > 0;
  const calls = events.filter((e) => e.event === 'tool_call').length;
  const timelineNode = h('div', { class: 'timeline' }, some(events) && timeline(detail.run));
  const foldAll = () =>
    timelineNode.querySelectorAll('details').forEach((d) => {
      d.open = false;
    });
  return [
    some(result.evaluations) && {
      id: 'verdicts',
      title: 'Verdicts',
      count: result.evaluations.length,
      content: result.evaluations.map(verdict),
    },
    some(detail.ai) && {
      id: 'judged',
      title: 'AI judge',
      content: h(
        'ul',
        { class: 'opinions' },
        detail.ai.map((a) =>
          h(
            'li',
            {},
            h('strong', {}, score(a.score)),
            h('span', { class: 'dim' }, ` of 10, ${a.model}`),
            h('p', {}, a.reason),
          ),
        ),
      ),
    },
    some(result.steps) && { id: 'steps', title: 'Steps', count: result.steps.length, content: stepList(result.steps) },
    detail.task &&
      some(detail.task.prompts) && {
        id: 'task',
        title: 'Task',
        content: folded(detail.task.title || 'What was asked', () => taskText(detail.task), { class: 'plain' }),
      },
    some(events) && {
      id: 'timeline',
      title: 'Timeline',
      count: plural(calls, 'call'),
      content: timelineNode,
      tools: h(
        'div',
        { class: 'tools' },
        h('button', { type: 'button', onclick: () => unfoldAll(timelineNode) }, 'Unfold all'),
        h('button', { type: 'button', onclick: foldAll }, 'Fold all'),
      ),
    },
    detail.diff && {
      id: 'diff',
      title: 'Workspace diff',
      count: m.changes && plural(m.changes.files?.length ?? 0, 'file'),
      content: diffView(detail.diff),
    },
    some(m.changes?.files) && {
      id: 'files',
      title: 'Files changed',
      count: m.changes.files.length,
      content: changeTable(m.changes),
    },
    some(m.terminal_commands) && {
      id: 'commands',
      title: 'Commands',
      count: m.terminal_commands.length,
      content: commandList(m.terminal_commands),
    },
    some(m.permission_requests) && {
      id: 'permissions',
      title: 'Permission requests',
      count: m.permission_requests.length,
      content: table(
        [{ label: 'Tool' }, { label: 'Title' }, { label: 'Decision' }],
        m.permission_requests.map((p) => [h('code', {}, p.tool), p.title ?? '', p.decision.replaceAll('_', ' ')]),
        { 'aria-label': 'Permission requests' },
      ),
    },
    some(m.denied_operations) && {
      id: 'denied',
      title: 'Denied',
      count: m.denied_operations.length,
      content: table(
        [{ label: 'Operation' }, { label: 'Path' }, { label: 'Reason' }],
        m.denied_operations.map((d) => [d.op, h('code', {}, d.path), d.reason]),
        { 'aria-label': 'Denied operations' },
      ),
    },
  ].filter(Boolean);
}

function verdict(e) {
  const summary = [
    mark(e.outcome),
    ' ',
    h('strong', {}, e.name),
    h('span', { class: 'dim' }, ` ${e.type}`),
    known(e.score) && h('span', { class: 'dim' }, `, score ${score(e.score)}, needs ${score(e.threshold)}`),
    e.reason && h('span', { class: 'reason' }, e.reason),
    e.position && h('code', { class: 'dim position' }, e.position),
  ];
  if (!e.detail) return h('div', { class: 'verdictline' }, summary);
  return folded(summary, () => [h('pre', { tabindex: '0' }, e.detail), e.calls && flawList(e.calls)], {
    class: 'plain',
    open: e.outcome === 'fail' || e.outcome === 'error',
  });
}

function changeTable(changes) {
  const lines = (f) =>
    known(f.lines_added) && known(f.lines_removed)
      ? [h('span', { class: 'plus' }, `+${f.lines_added}`), ' ', h('span', { class: 'minus' }, `−${f.lines_removed}`)]
      : unknown;
  return table(
    [
      { label: 'File' },
      { label: 'Change' },
      { label: 'Kind' },
      { label: 'Size', class: 'number' },
      { label: 'Lines', class: 'number' },
    ],
    changes.files.map((f) => [h('code', {}, f.path), f.op, f.kind, size(f.bytes), lines(f)]),
    { 'aria-label': 'Files changed' },
  );
}

const sources = { terminal: 'client’s terminal', tool: 'agent’s own', step: 'run step' };

function commandList(commands) {
  return commands.map((c) => {
    const summary = [
      h('code', { class: 'command' }, c.command),
      ' ',
      exit(c),
      h('span', { class: 'dim' }, ` ${sources[c.source] ?? c.source}, ${duration(c.duration_ms)}`),
      c.output_cut && h('span', { class: 'dim' }, ', output cut'),
    ];
    return c.output
      ? folded(
          summary,
          () => [c.cwd && h('p', { class: 'dim small' }, `in ${c.cwd}`), terminal(c.output, c.output_cut)],
          { class: 'plain' },
        )
      : h('div', { class: 'verdictline' }, summary);
  });
}
