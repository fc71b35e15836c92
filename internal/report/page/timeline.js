const longText = 600; // characters of a text that is folded at first

/** What the agent did, turn by turn. */
function timeline(run) {
  const ends = endsOf(run.events);
  const asked = new Map();
  for (const e of run.events) if (e.event === 'tool_call') asked.set(e.id, e);
  const turns = new Map();
  for (const e of run.events) {
    if (!turns.has(e.turn)) turns.set(e.turn, []);
    turns.get(e.turn).push(e);
  }
  return [...turns].map(([turn, events]) => {
    const stop = events.findLast((e) => e.event === 'stop');
    const took = events.at(-1).at_us - events[0].at_us;
    return h(
      'section',
      { class: 'turn', 'aria-label': `Turn ${turn}` },
      h(
        'h3',
        {},
        `Turn ${turn}`,
        h('span', { class: 'dim' }, ` ${duration(took / 1000)}${stop ? `, ${stop.reason}` : ''}${usage(stop?.usage)}`),
      ),
      h('ol', { class: 'events' }, events.map((e) => eventView(e, ends, asked)).filter(Boolean)),
    );
  });
}

/** The results of tool calls, by the calls' ids. */
function endsOf(events) {
  const ends = new Map();
  for (const e of events) if (e.event === 'tool_result' && !ends.has(e.id)) ends.set(e.id, e);
  return ends;
}

const usage = (u) => (u && known(u.total) ? `, ${short(u.total)} tokens` : '');

const eventViews = {
  prompt: (e) => words('prompt', 'Prompt', e.text),
  message: (e) => words('message', 'Agent', e.text),
  thought: (e) => words('thought', 'Thought', e.text),
  plan: (e) => [
    h('span', { class: 'who' }, 'Plan'),
    h(
      'ul',
      { class: 'plan' },
      (e.entries ?? []).map((p) =>
        h(
          'li',
          { class: p.status },
          p.content,
          p.status && h('span', { class: 'dim' }, ` ${p.status.replaceAll('_', ' ')}`),
        ),
      ),
    ),
  ],
  tool_call: (e, ends) => toolCall(e, ends.get(e.id)),
  file_read: (e) =>
    line(
      'Read',
      e.path,
      e.error,
      e.text && (() => h('pre', { tabindex: '0' }, e.text)),
      e.line && `from line ${e.line}`,
    ),
  file_write: (e) => line('Wrote', e.path, e.error, e.text && (() => h('pre', { tabindex: '0' }, e.text))),
  terminal: (e) =>
    line(
      'Terminal',
      [e.command, ...(e.args ?? [])].join(' '),
      e.error,
      e.output && (() => terminal(e.output, e.truncated)),
      exit(e),
    ),
  permission: (e, ends, asked) => {
    const chosen = (e.options ?? []).find((o) => o.id === e.decision);
    const decision = (chosen?.kind ?? e.decision).replaceAll('_', ' ');
    const call = asked.get(e.id);
    return [
      h('span', { class: 'who' }, 'Permission'),
      call && h('code', {}, call.title || call.name || call.kind),
      ' ',
      h('span', { class: /^allow/.test(decision) ? 'granted' : 'refused' }, decision),
    ];
  },
  notice: (e) => line('Notice', e.name, '', known(e.data) && (() => value(e.data))),
  state: (e) => {
    const { event, turn, at_us: at, ...rest } = e;
    return line('State', e.title || e.mode || '', '', Object.keys(rest).length > 0 && (() => value(rest)));
  },
};

function eventView(e, ends, asked) {
  if (e.event === 'tool_result' || e.event === 'stop') return null; // stands with its call, with its turn
  const view = Object.hasOwn(eventViews, e.event)
    ? eventViews[e.event]
    : () => h('span', { class: 'reason' }, `Unknown event ${e.event}: trajectory.json has it.`);
  return h(
    'li',
    { class: `event ${e.event}` },
    h('span', { class: 'at' }, duration(e.at_us / 1000)),
    h('div', { class: 'what' }, view(e, ends, asked)),
  );
}

/** Text that somebody wrote; a long one is folded behind its beginning. */
function words(cls, who, text = '') {
  const body = () => h('div', { class: `words ${cls}` }, cls === 'prompt' ? text : markdown(text));
  if (text.length <= longText) return [h('span', { class: 'who' }, who), body()];
  const head = `${text.slice(0, 160).replaceAll('\n', ' ')}…`;
  return folded([h('span', { class: 'who' }, who), h('span', { class: 'words head' }, head)], body, {
    open: cls === 'message',
  });
}

/** One line of the timeline, with what there is to unfold. */
function line(who, what, error, content, note) {
  const summary = [
    h('span', { class: 'who' }, who),
    what && h('code', {}, what),
    note && [' ', h('span', { class: 'dim' }, note)],
    error && [' ', h('span', { class: 'refused' }, error)],
  ];
  return content ? folded(summary, content) : h('div', {}, summary);
}

function exit(e) {
  if (e.signal) return h('span', { class: 'failed' }, e.signal);
  if (!known(e.exit_code)) return h('span', { class: 'unknown' }, 'exit unknown');
  return h('span', { class: e.exit_code === 0 ? 'ok' : 'failed' }, `exit ${e.exit_code}`);
}

const terminal = (text, cut) => [
  cut && h('p', { class: 'dim small' }, 'Earlier output was cut.'),
  h('pre', { class: 'terminal', tabindex: '0' }, text),
];

const callName = (call) => call.name || call.kind || 'tool';

function toolCall(call, end) {
  const name = callName(call);
  const status = end ? end.status : 'pending';
  const title = (call.title ?? '').startsWith(name) ? call.title.slice(name.length).trim() : call.title; // often "Read a.go"
  const summary = [
    h('span', { class: 'tool' }, name),
    title && h('code', { class: 'title' }, title),
    call.parent && h('span', { class: 'dim' }, ` by the sub-agent of ${call.parent}`),
    status !== 'completed' && [
      ' ',
      h('span', { class: status === 'failed' ? 'failed' : 'unknown' }, end ? status : 'no result'),
    ],
    end && known(end.exit_code) && [' ', exit(end)],
    (call.flaws ?? []).map((f) => h('span', { class: 'failed flaw' }, `✗ ${f}`)),
    end && h('span', { class: 'dim took' }, duration((end.at_us - call.at_us) / 1000)),
  ];
  call.node = folded(
    summary,
    () => [
      known(call.input) && part('Input', value(call.input)),
      (call.locations ?? []).length > 0 &&
        part(
          'Files',
          h(
            'ul',
            { class: 'plain' },
            call.locations.map((l) => h('li', {}, h('code', {}, l.line ? `${l.path}:${l.line}` : l.path))),
          ),
        ),
      (end?.diffs ?? []).length > 0 && part('Changes', end.diffs.map(changeView)),
      end?.printed && part('Printed', terminal(end.printed)),
      known(end?.output) && part('Output', value(end.output)),
      !known(call.input) &&
        !known(end?.output) &&
        !end?.printed &&
        h('p', { class: 'dim' }, 'The agent reports neither input nor output.'),
    ],
    { class: 'call' },
  );
  return call.node;
}

const part = (title, content) => h('div', { class: 'part' }, h('h4', {}, title), content);

/** Any JSON value: objects as a list of their fields, texts as they are, so that line ends can be read. */
function value(v) {
  if (typeof v === 'string') return h('pre', { tabindex: '0' }, v);
  if (v === null || typeof v !== 'object') return h('pre', {}, String(v));
  if (Array.isArray(v) || Object.keys(v).length === 0) return h('pre', { tabindex: '0' }, JSON.stringify(v, null, 2));
  return h(
    'dl',
    { class: 'fields' },
    Object.entries(v).map(([k, field]) => [
      h('dt', {}, k),
      h(
        'dd',
        {},
        h(
          'pre',
          { tabindex: typeof field === 'string' && field.length > 80 ? '0' : null },
          typeof field === 'string' ? field : JSON.stringify(field, null, 2),
        ),
      ),
    ]),
  );
}
