const unknown = '–';

const outcomes = {
  pass: { glyph: '✓', label: 'passed', verdict: 'Passed' },
  completed: { glyph: '●', label: 'completed', verdict: 'Completed, not judged' },
  fail: { glyph: '✗', label: 'failed', verdict: 'Failed' },
  reference_fail: { glyph: '✗', label: 'failed (reference)', verdict: 'Failed; a reference, which decides nothing' },
  error: { glyph: '!', label: 'error', verdict: 'Error' },
  skip: { glyph: '»', label: 'skipped', verdict: 'Skipped' },
  not_run: { glyph: '○', label: 'not run', verdict: 'Not finished' },
};

/** The outcome as a small mark, with its word unless only the glyph is wanted. */
function mark(outcome, text) {
  const o = outcomes[outcome] ?? outcomes.error;
  return h(
    'span',
    { class: `mark ${outcome}`, title: text === false ? o.label : undefined },
    h('span', { class: 'glyph', 'aria-hidden': 'true' }, o.glyph),
    text === false ? h('span', { class: 'hidden' }, o.label) : (text ?? o.label),
  );
}

const grouped = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const known = (v) => v !== undefined && v !== null;

function integer(v) {
  return known(v) ? grouped.format(v) : unknown;
}

/** A number short enough for a label: 940, 12.4k, 3.1M. */
function short(v) {
  if (!known(v)) return unknown;
  if (Math.abs(v) >= 1e6) return `${trim(v / 1e6, 1)}M`;
  if (Math.abs(v) >= 1e4) return `${trim(v / 1e3, 1)}k`;
  return Number.isInteger(v) ? grouped.format(v) : trim(v, 1);
}

const trim = (v, digits) => String(Number(v.toFixed(digits)));

const score = (v) => (known(v) ? trim(v, 2) : unknown);

function duration(ms) {
  if (!known(ms)) return unknown;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 59950) return `${trim(ms / 1000, 1)} s`;
  const minutes = Math.floor(Math.round(ms / 1000) / 60);
  if (minutes < 60) return `${minutes} min ${String(Math.round(ms / 1000) % 60).padStart(2, '0')} s`;
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, '0')} min`;
}

function size(bytes) {
  if (!known(bytes)) return unknown;
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 * 1024) return `${trim(bytes / 1024, 1)} KiB`;
  return `${trim(bytes / 1024 / 1024, 1)} MiB`;
}

function money(amount, currency) {
  if (!known(amount)) return unknown;
  const text = amount === 0 ? '0' : amount >= 1 ? amount.toFixed(2) : String(Number(amount.toPrecision(3)));
  return `${text} ${currency}`;
}

const instant = (text) => (text ? `${text.slice(0, 10)} ${text.slice(11, 19)} UTC` : '');

const plural = (n, what) => `${grouped.format(n)} ${what}${n === 1 ? '' : 's'}`;

/** A sum of units' figures; one that is not known of all of them is a lower bound. */
function total(sum, show) {
  if (!known(sum.sum)) return h('span', { class: 'unknown', title: 'not reported' }, unknown);
  if (sum.known === sum.of) return show(sum.sum);
  return h('span', { title: `known for ${sum.known} of ${plural(sum.of, 'unit')}` }, `≥ ${show(sum.sum)}`);
}

const mean = (sum) => (known(sum.sum) && sum.known > 0 ? sum.sum / sum.known : null);
