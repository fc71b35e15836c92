const {config: c, candidate_answer: output, question: prompt} = JSON.parse(require("fs").readFileSync(0, "utf8"));
const context = {prompt, vars: c.vars, config: c.config, test: {vars: c.vars}};
const find = async () => {
  if (process.argv[1]) {
    const m = await import(require("url").pathToFileURL(process.argv[1]).href), d = m.default;
    return c.function ? m[c.function] ?? d?.[c.function] : typeof d === "function" ? d : d?.default ?? m;
  }
  if (c.code.includes("\n")) return new Function("output", "context", c.code);
  if (/^(const|let|var)\s/.test(c.code)) return new Function("output", "context", "return eval(" + JSON.stringify(c.code) + ")");
  return new Function("output", "context", "return (" + c.code.replace(/;+\s*$/, "") + "\n)");
};
(async () => {
  const judge = await find();
  let r;
  try {
    r = await judge(output, context);
  } catch (e) {
    if (e instanceof ReferenceError) throw e;
    r = {pass: false, score: 0, reason: "the code threw " + e};
    c.not = false;
  }
  const known = typeof r === "boolean" || Number.isFinite(r) || typeof r?.pass === "boolean";
  if (!known) throw new Error("the code gave neither a boolean, a number nor {pass, score, reason} but " + JSON.stringify(r));
  let pass = typeof r === "boolean" ? r : typeof r === "number" ? c.threshold == null ? r > 0 : r >= c.threshold : r.pass;
  let score = typeof r === "number" ? r : Number(r.score ?? pass);
  if (c.not) { pass = !pass; if (typeof r === "boolean") score = 1 - score; }
  const reason = String(r.reason ?? "the code gave " + JSON.stringify(r));
  console.log(JSON.stringify(c.scored ? {score: Math.min(1, Math.max(0, score)), reasoning: reason} : {pass, reason}));
})().catch(e => { console.error(e); process.exit(1); });
