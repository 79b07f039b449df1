// Tables: sorted by a click on a head, filtered, drawn in portions.
const portion = 100;

// columns: {key, name, num, first (-1: largest first), value(row) for sorting, cell(row) -> td}. `current(row)` marks a
// row; `cards`: on a narrow screen a row is a few lines.
function makeTable(place, columns, sort, options = {}) {
  let rows = [], shown = portion;
  const body = element("tbody");
  const rest = element("div.rest");
  const heads = columns.map((column) => {
    const arrow = element("span.arrow", { "aria-hidden": "true" });
    const head = element(`th${column.num ? ".num" : ""}`, { scope: "col" },
      column.value ? element("button", { type: "button", title: column.title, onclick: () => {
        sort = { key: column.key, up: sort.key === column.key ? !sort.up : !(column.first < 0) };
        draw();
      } }, column.num ? [arrow, column.name] : [column.name, arrow]) : column.name);
    return { column, head, arrow };
  });
  place.append(element("div.scroll", {}, element(`table${options.cards ? ".cards" : ""}`, {}, element("thead", {}, element("tr", {}, heads.map((h) => h.head))), body)), rest);

  function draw() {
    for (const { column, head, arrow } of heads) {
      const on = column.key === sort.key;
      on ? head.setAttribute("aria-sort", sort.up ? "ascending" : "descending") : head.removeAttribute("aria-sort");
      arrow.textContent = on ? (sort.up ? "↑" : "↓") : "";
    }
    const column = columns.find((c) => c.key === sort.key);
    const keyed = rows.map((row, index) => [column.value(row), index, row]);
    const way = sort.up ? 1 : -1;
    keyed.sort((a, b) => (a[0] < b[0] ? -way : a[0] > b[0] ? way : a[1] - b[1]));
    body.replaceChildren(...keyed.slice(0, shown).map(([, , row]) => {
      const line = element(`tr${options.go ? ".go" : ""}${options.current && options.current(row) ? ".current" : ""}`, {}, columns.map((c) => c.cell(row)));
      if (options.go) line.addEventListener("click", () => options.go(row));
      return line;
    }));
    rest.replaceChildren();
    if (rows.length === 0) rest.append(element("span", {}, options.empty || "Nothing matches."));
    if (rows.length > shown) {
      rest.append(element("button", { type: "button", onclick: () => { shown += 5 * portion; draw(); } }, `Show ${count(Math.min(5 * portion, rows.length - shown))} more`),
        element("span", {}, `${count(shown)} of ${count(rows.length)} shown`));
    }
    if (options.omitted) rest.append(element("span", {}, `${count(options.omitted)} more in the .json report`));
  }
  return { show(newRows) { rows = newRows; shown = portion; draw(); }, draw };
}

const numberCell = (n, text) => element(`td.num${n ? "" : ".zero"}`, {}, text === undefined ? count(n) : text);
const heading = (id, title, lead) => element("div.head", {}, element("h2", { id: `${id}-title` }, title), lead ? element("p.lead", {}, lead) : null);
const searchBox = (label, change) => element("input", { type: "search", placeholder: label, "aria-label": label, oninput: (event) => change(event.target.value) });
// Every word has to occur.
function matcher(query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return (text) => { const low = text.toLowerCase(); return words.every((word) => low.includes(word)); };
}

function drawTypes() {
  const place = document.getElementById("types");
  const most = Math.max(1, ...report.types.map((t) => t.low + t.fp32 + t.none));
  place.append(heading("types", "Op types", `${plural(report.types.length, "type")}, in what they compute`));
  const table = makeTable(place, [
    { key: "op", name: "Type", value: (t) => t.op, cell: (t) => element("td.name", {}, element("button.link", { type: "button", title: "List these ops", onclick: () => decisions.only({ type: t.op }) }, t.op)) },
    { key: "bar", name: "", cell: (t) => {
      const all = t.low + t.fp32 + t.none;
      return element("td.wide", {}, element("div.bars", { style: `width: ${Math.max(1, all / most * 100)}%; min-width: 0` },
        ["low", "fp32", "none"].filter((tone) => t[tone]).map((tone) => element(`i.${tone}`, { style: `flex: ${t[tone]}`, title: `${t[tone]} ${toneNames[tone]}` }))));
    } },
    ...["low", "fp32", "none"].map((tone) => ({ key: tone, name: toneNames[tone], num: true, first: -1, value: (t) => t[tone], cell: (t) => numberCell(t[tone]) })),
    { key: "all", name: "all", num: true, first: -1, value: (t) => t.low + t.fp32 + t.none, cell: (t) => numberCell(t.low + t.fp32 + t.none) },
  ], { key: "all", up: false }, { empty: "The program has no ops." });
  table.show(report.types);
}

// What low precision would destroy, by the rule that found it, and what was done about it.
function drawHazards() {
  const place = document.getElementById("hazards"), rows = new Map();
  for (const op of report.ops) {
    if (!/^(protect\.|mask$)/.test(op.rule)) continue;
    const row = rows.get(op.rule) || { rule: op.rule, ops: 0, reason: op.reason, done: op.rule === "mask" ? `stored in the range of ${lowName}` : "kept in fp32" };
    ++row.ops;
    rows.set(op.rule, row);
  }
  const ops = [...rows.values()].reduce((sum, row) => sum + row.ops, 0);
  place.append(heading("hazards", "Hazards", rows.size ? `${plural(ops, "op")}${report.omitted.ops ? " of those listed" : ""} that low precision would have spoilt` : ""));
  makeTable(place, [
    { key: "rule", name: "Rule", value: (r) => r.rule, cell: (r) => element("td.name", {}, element("button.link", { type: "button", title: "List these ops", onclick: () => decisions.only({ rule: r.rule }) }, r.rule)) },
    { key: "ops", name: "Ops", num: true, first: -1, value: (r) => r.ops, cell: (r) => numberCell(r.ops) },
    { key: "done", name: "Done", value: (r) => r.done, cell: (r) => element("td", {}, r.done) },
    { key: "reason", name: "First reason", cell: (r) => element("td", {}, r.reason) },
  ], { key: "ops", up: false }, { empty: "None was found." }).show([...rows.values()]);
}

function drawWeights() {
  const place = document.getElementById("weights");
  const measured = report.weights.filter((w) => w.elements > 0);
  const hurt = measured.filter((w) => w.clamped + w.flushed + w.subnormal > 0).length;
  place.append(heading("weights", "Weights", measured.length ? `${count(hurt)} of ${plural(measured.length, "weight")} lost something; worst first: clamped, then became zero, then subnormal` : ""));
  const share = (w, key) => w.elements ? w[key] / w.elements : 0;
  const loss = (w) => share(w, "clamped") * 1e12 + share(w, "flushed") * 1e6 + share(w, "subnormal");
  const limits = { float16: [2 ** -24, 65504], bfloat16: [2 ** -133, 3.39e38] };
  const lossColumn = (key, name, title) => ({ key, name, title, num: true, first: -1, value: (w) => share(w, key), cell: (w) =>
    numberCell(w[key] || 0, w[key] ? element("span", { title: `${count(w[key])} of ${count(w.elements)}` }, percent(share(w, key), 2)) : w.elements ? "0" : "–") });
  const table = makeTable(place, [
    { key: "name", name: "Weight", value: (w) => w.name, cell: (w) => element("td.name", {}, w.name, w.copy ? element("span.lead", {}, " (a copy beside the fp32 one)") : null) },
    { key: "to", name: "Type", value: (w) => w.to, cell: (w) => element("td.type", {}, `${shortType(w.from)} → ${shortType(w.to)}`) },
    { key: "elements", name: "Values", num: true, first: -1, value: (w) => w.elements || 0, cell: (w) => numberCell(w.elements || 0, w.elements ? undefined : "–") },
    { key: "max", name: "Largest |w|", title: "The line goes from the smallest to the largest value of the type", num: true, first: -1, value: (w) => w.max_abs || 0,
      cell: (w) => numberCell(w.max_abs || 0, w.elements ? magnitude(w.max_abs) : "–") },
    { key: "range", name: "in the type's range", cell: (w) => {
      const limit = limits[w.to];
      if (!limit || !w.max_abs) return element("td");
      const at = Math.log(w.max_abs / limit[0]) / Math.log(limit[1] / limit[0]);
      const over = w.max_abs > limit[1];
      return element("td", {}, element("div.range", { title: over ? "beyond the largest value of the type" : `${magnitude(limit[1] / w.max_abs)} times below the largest value of the type` },
        element(`i.${over ? "bad" : "low"}`, { style: `left: ${Math.max(0, Math.min(1, at)) * 100}%` })));
    } },
    lossColumn("clamped", "Clamped", "Beyond the range"), lossColumn("flushed", "Became zero", "Too small for the type"), lossColumn("subnormal", "Subnormal", "Kept with fewer digits"),
    { key: "norm", name: "Norm lost", title: "At most this part of the weight's norm was clamped or became zero", num: true, first: -1, value: (w) => w.norm_lost || 0,
      cell: (w) => numberCell(w.norm_lost || 0, w.norm_lost ? percent(w.norm_lost, 2) : w.elements ? "0" : "–") },
    { key: "loss", name: "Loss", title: "Worst first", first: -1, value: loss, cell: (w) => element("td", {}, element("div.bars", { style: "width: 120px" },
      [["clamped", "bad"], ["flushed", "fp32"], ["subnormal", "mixed"]].filter(([key]) => w[key]).map(([key, tone]) => element(`i.${tone}`, { style: `width: ${share(w, key) * 118}px`, title: `${key} ${percent(share(w, key), 2)}` })))) },
  ], { key: "loss", up: false }, { empty: report.weights.length ? "No weight matches." : "No weight is stored in low precision.", omitted: report.omitted.weights });
  const say = element("span.count");
  const show = (query) => {
    const match = matcher(query);
    const rows = report.weights.filter((w) => match(w.name));
    say.textContent = rows.length === report.weights.length ? plural(rows.length, "weight") : `${count(rows.length)} of ${plural(report.weights.length, "weight")}`;
    table.show(rows);
  };
  if (report.weights.length) place.insertBefore(element("div.filters", {}, searchBox("Find a weight", show),
    keysOf([["bad", "clamped"], ["fp32", "became zero"], ["mixed", "subnormal"]]), say), place.children[1]);
  show("");
}
const keysOf = (parts) => element("div.keys", {}, parts.map(([tone, name]) => element("span", {}, element(`i.dot.${tone}`), name)));

function drawCasts() {
  const place = document.getElementById("casts");
  const casts = report.casts.map((cast, index) => ({ ...cast, index, position: (graph.casts || [])[index] }));
  place.append(heading("casts", "Casts", casts.length ? `${plural(casts.length + report.omitted.casts, "cast")} inserted, one for all readers of a value` : ""));
  const wanted = (cast) => {
    const more = cast.consumers.length + (cast.more_consumers || 0) - 4;
    return [element("div", {}, cast.reason || "no op reads it"), element("div.lead.mono", {}, `→ ${cast.consumers.slice(0, 4).join(", ")}${more > 0 ? ` and ${count(more)} more` : ""}`)];
  };
  makeTable(place, [
    { key: "index", name: "#", num: true, value: (c) => c.index, cell: (c) => element("td.num.zero", {}, c.position === undefined ? "–" : c.position + 1) },
    { key: "source", name: "Value", value: (c) => c.source, cell: (c) => element("td.name", {}, c.source) },
    { key: "to", name: "Type", value: (c) => c.from + c.to, cell: (c) => element("td.type", {}, badge(toneOfType(c.from), shortType(c.from)), " → ", badge(toneOfType(c.to), shortType(c.to))) },
    { key: "reason", name: "Wanted by", value: (c) => c.reason, cell: (c) => element("td.wide", {}, wanted(c)) },
  ], { key: "index", up: true }, { cards: true, empty: "No cast was inserted.", omitted: report.omitted.casts, go: (c) => c.position !== undefined && picture.goTo(c.position) }).show(casts);
}

// The table of decisions: filtered by text, precision, type and rule.
const decisions = {
  filter: { text: "", tone: "", type: "", rule: "" },
  selected: -1,
  draw() {
    const place = document.getElementById("decisions");
    const rows = report.ops.map((op, index) => ({ ...op, index, tone: toneOfType(op.dtype), text: `${op.op} ${op.value} ${op.rule} ${op.reason}` }));
    const select = (key, label) => element("select", { "aria-label": label, onchange: (event) => this.set({ [key]: event.target.value }) }, element("option", { value: "" }, label),
      [...new Set(report.ops.map((op) => op[key === "type" ? "op" : "rule"]))].sort().map((name) => element("option", { value: name }, name)));
    this.search = searchBox("Find in types, values, rules and reasons", (text) => this.set({ text }));
    this.types = select("type", "All types");
    this.rules = select("rule", "All rules");
    this.buttons = ["", "low", "fp32", "none"].map((tone) => element("button", { type: "button", onclick: () => this.set({ tone }) }, tone ? toneNames[tone] : "All"));
    this.count = element("span.count", { "aria-live": "polite" });
    place.append(heading("decisions", "Decisions", "every op, in program order; a click shows it in the graph"),
      element("div.filters", {}, this.search, element("div.seg", { role: "group", "aria-label": "Precision" }, this.buttons), this.types, this.rules, this.count));
    this.table = makeTable(place, [
      { key: "index", name: "#", num: true, value: (op) => op.index, cell: (op) => element("td.num.zero", {}, (positionOfOp[op.index] ?? op.index) + 1) },
      { key: "op", name: "Op", value: (op) => op.op, cell: (op) => element("td.name", { style: "min-width: 120px" }, op.op) },
      { key: "value", name: "Result", value: (op) => op.value, cell: (op) => element("td.name", {}, op.value) },
      { key: "dtype", name: "Computes in", value: (op) => op.dtype, cell: (op) => element("td.type", {}, badge(op.tone, op.dtype === "none" ? "no floats" : shortType(op.dtype))) },
      { key: "rule", name: "Rule", value: (op) => op.rule, cell: (op) => element("td.type.mono", {}, op.rule) },
      { key: "reason", name: "Reason", value: (op) => op.reason, cell: (op) => element("td.wide", {}, op.reason) },
    ], { key: "index", up: true }, { cards: true, empty: report.ops.length ? "No op matches." : "The program has no ops.", omitted: report.omitted.ops,
      go: (op) => positionOfOp[op.index] !== undefined && picture.goTo(positionOfOp[op.index]), current: (op) => op.index === this.selected });
    this.rows = rows;
    this.set({});
  },
  set(change) {
    Object.assign(this.filter, change);
    const { text, tone, type, rule } = this.filter;
    const match = matcher(text);
    const found = this.rows.filter((op) => (!tone || op.tone === tone) && (!type || op.op === type) && (!rule || op.rule === rule) && match(op.text));
    if (this.search.value !== text) this.search.value = text;
    this.types.value = type;
    this.rules.value = rule;
    ["", "low", "fp32", "none"].forEach((name, i) => this.buttons[i].setAttribute("aria-pressed", String(name === tone)));
    this.count.textContent = found.length === this.rows.length ? plural(found.length, "op") : `${count(found.length)} of ${plural(this.rows.length, "op")}`;
    this.table.show(found);
  },
  only(change) {
    this.set({ text: "", tone: "", type: "", rule: "", ...change });
    document.getElementById("decisions").scrollIntoView();
  },
};
