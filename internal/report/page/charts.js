// A chart is a list of bars, one for each variant in the playbook's order, so that the charts line up with each other
// and with the table; it reads as well with one variant as with twelve.

const bar = { row: 42, text: 13, top: 21, height: 8 };

/** The figures that charts are made of: {title, hint, max, value(variant) -> {mean, min, max, known, of}, show}. */
function chartList(index) {
  const perUnit = (sum) => ({ mean: mean(sum), min: sum.min, max: sum.max, known: sum.known, of: sum.of });
  const plain = (v) => ({ mean: v });
  const currencies = [...new Set(index.variants.flatMap((v) => (v.cost ?? []).map((c) => c.currency)))].sort();
  const costs = currencies.length > 0 ? currencies : [''];
  const charts = [
    { title: 'Score', hint: 'mean of the evaluators, 0 to 1', top: 1, value: (v) => plain(v.score), show: score },
    { title: 'Time', hint: 'mean per unit', value: (v) => perUnit(v.duration_ms), show: duration },
    { title: 'Tokens', hint: 'mean per unit', value: (v) => perUnit(v.tokens.total), show: short },
    ...costs.map((currency) => ({
      title: currency && costs.length > 1 ? `Cost, ${currency}` : 'Cost',
      hint: 'mean per unit',
      value: (v) => {
        const cost = (v.cost ?? []).find((c) => c.currency === currency);
        return cost ? perUnit(cost) : plain(null);
      },
      show: (n) => money(n, currency),
    })),
    { title: 'Tool calls', hint: 'mean per unit', value: (v) => perUnit(v.tool_calls), show: short },
    { title: 'Iterations', hint: 'mean per unit', value: (v) => perUnit(v.iterations), show: short },
  ];
  for (const [title, key] of [
    ['Human score', 'human'],
    ['AI judge', 'ai'],
  ]) {
    if (index.variants.some((v) => known(v[key].score))) {
      charts.push({ title, hint: 'mean, 0 to 10', top: 10, value: (v) => plain(v[key].score), show: score });
    }
  }
  return charts;
}

function chart({ title, hint, top, value, show }, variants) {
  const values = variants.map(value);
  if (values.every((v) => !known(v.mean))) {
    return h(
      'figure',
      { class: 'chart' },
      h('figcaption', {}, h('strong', {}, title), ' ', h('span', {}, 'unknown')),
      h('p', { class: 'unknown' }, title.endsWith('core') ? 'There are no scores.' : 'No agent reported it.'),
    );
  }
  const ranged = values.some((v) => v.known > 1 && v.max > v.min);
  const scale = top ?? (Math.max(...values.map((v) => (known(v.mean) ? Math.max(v.mean, v.max ?? 0) : 0))) || 1);
  const percent = (v) => `${Math.max(0, Math.min(100, (100 * v) / scale))}%`;
  const text = (v) =>
    known(v.mean) ? show(v.mean) + (v.known < v.of ? ` (${v.known} of ${plural(v.of, 'unit')})` : '') : 'unknown';
  const svg = s('svg', {
    width: '100%',
    height: variants.length * bar.row,
    role: 'img',
    'aria-label': `${title}: ${variants.map((v, i) => `${v.id} ${text(values[i])}`).join('; ')}`,
  });
  variants.forEach((variant, i) => {
    const v = values[i];
    const y = i * bar.row;
    const middle = y + bar.top + bar.height / 2;
    svg.append(s('text', { x: 0, y: y + bar.text, class: 'name' }, clip(variant.id, 30), s('title', {}, variant.id)));
    svg.append(s('text', { x: '100%', y: y + bar.text, class: known(v.mean) ? 'value' : 'value none' }, text(v)));
    svg.append(
      s('rect', {
        x: 0,
        y: y + bar.top,
        width: '100%',
        height: bar.height,
        rx: 2,
        class: known(v.mean) ? 'track' : 'track none',
      }),
    );
    if (!known(v.mean)) return;
    svg.append(s('rect', { x: 0, y: y + bar.top, width: percent(v.mean), height: bar.height, rx: 2, class: 'bar' }));
    if (!(v.known > 1 && v.max > v.min)) return;
    svg.append(
      s(
        'g',
        { class: 'range' },
        s('line', { x1: percent(v.min), x2: percent(v.max), y1: middle, y2: middle }),
        [v.min, v.max].map((x) => s('line', { x1: percent(x), x2: percent(x), y1: middle - 5, y2: middle + 5 })),
        s('title', {}, `${show(v.min)} to ${show(v.max)}`),
      ),
    );
  });
  return h(
    'figure',
    { class: 'chart' },
    h('figcaption', {}, h('strong', {}, title), ' ', h('span', {}, ranged ? `${hint}, least to most` : hint)),
    svg,
  );
}

const clip = (text, limit) => (text.length > limit ? `${text.slice(0, limit - 1)}…` : text);
