"use strict";
// A person reads and scores each variant here. All text of agents enters the page as text nodes, never as markup.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const storageKey = "sdd-eval/scores/" + data.run_id;
  const $ = (id) => document.getElementById(id);
  const letter = (i) => (i >= 26 ? letter(Math.floor(i / 26) - 1) : "") + String.fromCharCode(65 + (i % 26));

  // el makes an element. Properties are set as such, except those that only exist as attributes.
  const el = (tag, properties = {}, ...children) => {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
      if (name.includes("-") || name === "for") node.setAttribute(name, value);
      else node[name] = value;
    }
    node.append(...children);
    return node;
  };

  // state is what is saved. A score that is null is not given yet.
  // solved has what is said of units: true, false, or nothing.
  const blank = () => ({ rater: "", entries: data.entries.map((e) => ({ score: null, notes: "", solved: e.units.map(() => null) })) });
  let state = blank();
  let current = 0;
  let unit = 0;
  let unsaved = false;

  const isScore = (n) => typeof n === "number" && n >= 0 && n <= 10;

  const restore = () => {
    try {
      const kept = JSON.parse(localStorage.getItem(storageKey));
      if (!kept || !Array.isArray(kept.entries) || kept.entries.length !== data.entries.length) return;
      state.rater = String(kept.rater || "");
      kept.entries.forEach((e, i) => {
        if (isScore(e.score)) state.entries[i].score = e.score;
        state.entries[i].notes = String(e.notes || "");
        state.entries[i].solved.forEach((_, u, all) => {
          const said = Array.isArray(e.solved) ? e.solved[u] : null;
          all[u] = typeof said === "boolean" ? said : null;
        });
      });
      unsaved = kept.unsaved === true;
    } catch { /* what is not readable is not there */ }
  };

  const keep = () => {
    try {
      localStorage.setItem(storageKey, JSON.stringify({ ...state, unsaved }));
      $("kept").textContent = "What you enter is kept in this browser until you start over.";
    } catch {
      $("kept").textContent = "This browser keeps nothing for this page: save the file before you close it.";
    }
  };

  const changed = () => {
    unsaved = true;
    keep();
    say("");
    showProgress();
  };

  const say = (text, good = false) => {
    $("message").textContent = text;
    $("message").hidden = text === "";
    $("message").classList.toggle("good", good);
  };

  const showProgress = () => {
    const scored = state.entries.filter((e) => e.score !== null).length;
    $("progress").textContent = `${scored} of ${state.entries.length} scored`;
    $("fill").style.width = `${(100 * scored) / state.entries.length}%`;
    state.entries.forEach((e, i) => {
      const button = $("variants").children[i];
      button.classList.toggle("scored", e.score !== null);
      button.setAttribute("aria-current", String(i === current));
      button.lastChild.textContent = e.score === null ? "no score yet" : `${e.score} of 10`;
    });
  };

  const showTasks = () => {
    $("name").textContent = data.name;
    document.title = `Score ${data.name}`;
    const alone = data.tasks.length === 1;
    $("title").textContent = alone ? data.tasks[0].title || "Task" : `${data.tasks.length} tasks`;
    for (const task of data.tasks) {
      const box = el("section", { className: "case" });
      if (!alone) box.append(el("h2", {}, task.title ? `${task.id}: ${task.title}` : task.id));
      for (const prompt of task.prompts || []) box.append(el("div", { className: "prompt" }, prompt.trimEnd()));
      if (task.expected_outcome) box.append(el("p", {}, el("strong", {}, "Expected: "), task.expected_outcome));
      $("tasks").append(box);
    }
    if (data.left_out > 0) {
      $("tasks").append(el("p", { className: "dim" }, `${data.left_out} more units are not on this page, for want of room; the run's directory has them.`));
    }
  };

  const showVariants = () => {
    data.entries.forEach((_, i) => {
      const button = el("button", { type: "button" }, letter(i), el("span", { className: "badge" }));
      button.addEventListener("click", () => open(i));
      $("variants").append(button);
    });
  };

  const open = (i) => {
    current = i;
    if (unit >= data.entries[i].units.length) unit = 0;
    showScoring();
    showWork();
    showProgress();
  };

  // showScoring builds the panel in which the current variant is scored.
  const showScoring = () => {
    const entry = state.entries[current];
    const scale = el("div", { className: "scale" });
    for (let n = 0; n <= 10; n++) {
      const radio = el("input", { type: "radio", name: "score", value: String(n), checked: entry.score === n, "aria-label": `${n} of 10` });
      radio.addEventListener("change", () => {
        entry.score = n;
        exact.value = n;
        changed();
      });
      scale.append(el("label", {}, radio, String(n)));
    }
    const exact = el("input", { id: "exact", type: "number", min: "0", max: "10", step: "any", value: entry.score ?? "" });
    exact.addEventListener("input", () => {
      const n = exact.value === "" ? null : Number(exact.value);
      entry.score = isScore(n) ? n : null;
      for (const radio of scale.querySelectorAll("input")) radio.checked = Number(radio.value) === entry.score;
      changed();
    });
    const notes = el("textarea", { id: "notes", maxLength: 6000, value: entry.notes, placeholder: "What decided it?" });
    notes.addEventListener("input", () => {
      entry.notes = notes.value;
      changed();
    });
    const last = current + 1 === data.entries.length;
    const next = el("button", { type: "button", id: "next" }, last ? "Save scores.json" : `Next: ${letter(current + 1)}`);
    next.addEventListener("click", () => {
      if (last) return save();
      open(current + 1);
      $("variants").scrollIntoView({ block: "center" });
      $("variants").children[current].focus();
    });
    $("scoring").replaceChildren(
      el("h2", {}, `Variant ${letter(current)}`),
      el("fieldset", {}, el("legend", {}, "How well was the task done?"), scale),
      el("div", { className: "ends" }, el("span", {}, "useless"), el("span", {}, "merge as it is")),
      el("label", {}, "or exactly", exact),
      el("label", {}, "Notes", notes),
      next,
    );
  };

  const showWork = () => {
    const units = data.entries[current].units;
    const parts = [];
    if (units.length > 1) {
      const list = el("div", { className: "units", role: "group", "aria-label": "Cases and trials" });
      units.forEach((u, i) => {
        const trials = units.filter((o) => o.case === u.case).length;
        const button = el("button", { type: "button", "aria-current": String(i === unit) }, trials > 1 ? `${u.case}, trial ${u.trial}` : u.case);
        button.addEventListener("click", () => {
          unit = i;
          showWork();
          $("work").querySelectorAll(".units button")[i].focus();
        });
        list.append(button);
      });
      parts.push(list);
    }
    $("work").replaceChildren(...parts, ...(units.length ? showUnit(units[unit]) : [el("p", { className: "dim" }, "This variant has no units.")]));
  };

  const showUnit = (u) => {
    if (!u.ended) return [el("p", { className: "dim" }, "This unit has not run to an end. There is nothing to be seen of it.")];
    return [
      showSolved(),
      el("h3", {}, "Last message"),
      u.answer ? el("div", { className: "answer" }, u.answer) : el("p", { className: "dim" }, "The agent said nothing at the end."),
      el("h3", {}, "Changes"),
      ...showChanges(u),
      el("h3", {}, "Commands"),
      ...showCommands(u),
    ];
  };

  // showSolved asks whether the current unit did what it was to do; judges are compared with that.
  const showSolved = () => {
    const said = state.entries[current].solved;
    const box = el("fieldset", { className: "solved" }, el("legend", {}, "Did it do what was asked? (optional)"));
    const choices = [["yes", true], ["no", false], ["cannot tell", null]];
    for (const [text, value] of choices) {
      const radio = el("input", { type: "radio", name: "solved", checked: said[unit] === value });
      const of = unit;
      radio.addEventListener("change", () => {
        said[of] = value;
        changed();
      });
      box.append(el("label", {}, radio, text));
    }
    return box;
  };

  const showChanges = (u) => {
    if (!u.compared) return [el("p", { className: "dim" }, "Unknown: the files were not compared.")];
    if (!u.diff) return [el("p", { className: "dim" }, "No file was changed.")];
    const files = u.diff.split(/^(?=diff --git )/m);
    return files.map((text) => showFile(text, files.length));
  };

  // showFile shows the difference of one file; its lines are made when it is opened.
  const showFile = (text, files) => {
    const lines = text.replace(/\n$/, "").split("\n");
    const start = lines.findIndex((line) => line.startsWith("@@"));
    const body = start < 0 ? lines.slice(1) : lines.slice(start);
    const count = (sign) => (start < 0 ? 0 : body.filter((line) => line.startsWith(sign)).length);
    const box = el("details", { className: "file" }, el("summary", {},
      el("span", {}, title(lines, start)),
      el("span", { className: "plus" }, `+${count("+")}`), el("span", { className: "minus" }, `\u2212${count("-")}`)));
    box.addEventListener("toggle", () => {
      if (!box.open || box.children.length > 1) return;
      const rows = el("div");
      const kinds = { "+": "row add", "-": "row del", "@": "row hunk" };
      for (const line of body) rows.append(el("div", { className: (start >= 0 && kinds[line[0]]) || "row" }, line));
      box.append(el("pre", { tabIndex: 0 }, rows));
    });
    box.open = files <= 8 && body.length <= 400;
    return box;
  };

  const title = (lines, start) => {
    const head = start < 0 ? lines : lines.slice(0, start);
    const named = head[0].match(/^diff --git "?a\/.* "?b\/(.*?)"?$/);
    const path = named ? named[1] : head[0];
    if (head.some((line) => line.startsWith("new file"))) return `${path} (new)`;
    if (head.some((line) => line.startsWith("deleted file"))) return `${path} (deleted)`;
    return path;
  };

  const showCommands = (u) => {
    const commands = u.commands || [];
    if (commands.length === 0) return [el("p", { className: "dim" }, "None are known.")];
    const boxes = commands.map((c) => {
      const line = [el("span", { className: "line" }, c.command), el("span", { className: /^(|exit 0)$/.test(c.exit) ? "dim" : "failed" }, c.exit || "exit unknown")];
      if (!c.output) return el("div", { className: "command" }, el("div", {}, ...line));
      const output = (c.cut ? "[the beginning is not shown]\n" : "") + c.output;
      return el("details", { className: "command" }, el("summary", {}, ...line), el("pre", { tabIndex: 0 }, output));
    });
    if (u.commands_left_out) boxes.push(el("p", { className: "dim" }, `${u.commands_left_out} more commands are not shown.`));
    return boxes;
  };

  // ids are the variants' real names. They are decoded only to be saved.
  const ids = () => JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(data.key), (c) => c.charCodeAt(0))));

  const save = () => {
    const missing = state.entries.flatMap((e, i) => (e.score === null ? [i] : []));
    const labelled = state.entries.some((e) => e.solved.some((said) => said !== null));
    // Whoever only says what was solved need not score.
    if (missing.length > 0 && !(labelled && missing.length === state.entries.length)) {
      open(missing[0]);
      say(`Not saved: ${missing.map(letter).join(", ")} ${missing.length > 1 ? "have" : "has"} no score yet.`);
      $("scoring").querySelector("input").focus();
      return;
    }
    if (!labelled && state.entries.every((e) => e.score === 0 && e.notes.trim() === "")) {
      say("Not saved: every score is 0 and there are no notes, as in a form that was forgotten. Say why in the notes of a variant.");
      $("notes").focus();
      return;
    }
    const scores = { file: "scores.json", run_id: data.run_id, rater: state.rater.trim() || "anonymous" };
    if (missing.length === 0) scores.variants = {};
    if (labelled) scores.units = {};
    ids().forEach((id, i) => {
      const { score, notes, solved } = state.entries[i];
      if (scores.variants) scores.variants[id] = { score, notes };
      data.entries[i].units.forEach((u, n) => {
        if (solved[n] !== null) scores.units[`${u.case}/${id}/${u.trial}`] = { solved: solved[n] };
      });
    });
    const url = URL.createObjectURL(new Blob([JSON.stringify(scores, null, 2) + "\n"], { type: "application/json" }));
    el("a", { href: url, download: "scores.json" }).click();
    setTimeout(() => URL.revokeObjectURL(url), 60000);
    unsaved = false;
    keep();
    say(`Saved to your downloads. To add it to the run: sdd-eval import-human --run ${data.run_id} --file scores.json`, true);
  };

  $("save").addEventListener("click", save);
  $("rater").addEventListener("input", () => {
    state.rater = $("rater").value;
    changed();
  });
  $("clear").addEventListener("click", () => {
    if (!confirm("Remove all scores and notes on this page?")) return;
    state = blank();
    unsaved = false;
    keep();
    say("");
    $("rater").value = "";
    open(0);
  });
  window.addEventListener("beforeunload", (event) => {
    if (unsaved) event.preventDefault();
  });

  restore();
  $("rater").value = state.rater;
  showTasks();
  showVariants();
  keep();
  if (data.entries.length > 0) open(0);
})();
