// The panel beside the graph: why an op is what it is, what it reads and makes; what a group consists of.
const makerOf = new Map();    // value -> positions of the ops that make it, in order
const readersOf = new Map();  // value -> positions of the ops that read it
(graph.ops || []).forEach(([reads, makes], position) => {
  for (const value of makes) makerOf.set(value, [...(makerOf.get(value) || []), position]);
  for (const value of new Set(reads)) readersOf.set(value, [...(readersOf.get(value) || []), position]);
});
const opName = (position) => castAt.has(position) ? "cast" : report.ops[opAt.get(position)]?.op || "op";
const opLink = (position) => element("button.link", { type: "button", onclick: () => picture.goTo(position, false) }, `${opName(position)} #${position + 1}`);

function valueItem(value, ops) {
  const [name, type] = graph.values[value];
  return element("li", {}, element("span.mono", {}, name), element("div.sub", {}, graph.types[type], ops.length ? " · " : "",
    ops.slice(0, 4).map((position, i) => [i ? ", " : "", opLink(position)]), ops.length > 4 ? ` and ${count(ops.length - 4)} more` : ""));
}

function valueList(title, items) {
  return items.length ? [element("h3", {}, title), element("ul", {}, items)] : [];
}

function describeOp(position, node) {
  const op = report.ops[opAt.get(position)];
  const cast = report.casts[castAt.get(position)];
  const [reads, makes, guard] = graph.ops[position] || [[], [], 0];
  const before = (value) => (makerOf.get(value) || []).filter((p) => p < position).slice(-1);
  const parts = [];
  if (op) {
    parts.push(element("p", { style: "margin-top: 6px" }, badge(toneOfType(op.dtype), op.dtype === "none" ? "no floats" : shortType(op.dtype)), " ",
      element("span.lead", {}, op.precision === "low" ? "low" : op.precision === "fp32" ? "kept" : "not decided")),
      element("h3", {}, "Rule"), element("p.mono", {}, op.rule), element("h3", {}, "Reason"), element("p", {}, op.reason));
  } else if (cast) {
    parts.push(element("p", { style: "margin-top: 6px" }, badge(toneOfType(cast.from), shortType(cast.from)), " → ", badge(toneOfType(cast.to), shortType(cast.to))),
      element("h3", {}, "Wanted because"), element("p", {}, cast.reason || "no op reads it"));
  } else {
    parts.push(element("p.lead", { style: "margin-top: 6px" }, "Its decision is in the .json report."));
  }
  if (op?.precision === "low") parts.push(...exclusion(op));
  if (guard) parts.push(element("h3", {}, "Guard region"), element("p", {}, `fp16_guard ${guard}`));
  parts.push(...valueList("Reads", reads.map((value) => valueItem(value, before(value)))), ...valueList("Makes", makes.map((value) => valueItem(value, readersOf.get(value) || []))));
  return [element("div.sub", {}, `op #${position + 1}`), element("div.name", {}, op ? op.op : node.label), ...parts, ...insideButtons(node)];
}

// The option that keeps this op alone in fp32, as a shell reads it.
function exclusion(op) {
  const name = op.value.replace(/[&,;]/g, "?");  // these part selectors
  const text = `--exclude 'name:${name.replaceAll("'", "'\\''")}'`;
  return [element("h3", {}, "Keep it in fp32"), element("div.command", {}, element("pre", { id: "exclusion" }, text), copyButton("exclusion"))];
}

function insideButtons(node) {
  if (node.scenes.length === 0) return node.kind !== "op" && node.num > 1 ? [element("p.lead", { style: "margin-top: 10px" }, "Its ops are not drawn: the graph is too large for a page.")] : [];
  return [element("p", { style: "margin-top: 12px" }, element("button", { type: "button", onclick: () => picture.enter(picture.selected) }, node.kind === "op" ? "Open its block" : node.times > 1 ? "Open the block" : "Open"))];
}

function describeGroup(node) {
  const each = node.num / node.times;
  const first = node.first + picture.here().shift;
  const parts = [["low", 2], ["fp32", 1], ["none", 0], ["cast", 4]].map(([tone, i]) => [tone, node.byTone[i]]);
  const types = new Map();
  for (let p = first; p < first + each; ++p) types.set(opName(p), (types.get(opName(p)) || 0) + 1);
  return [element("div.sub", {}, node.times > 1 ? `${count(node.times)} equal blocks of ${plural(each, "op")}` : plural(node.num, "op")),
    element("div.name", {}, node.label), element("div.sub", {}, `ops #${first + 1} to #${first + node.num}`), stack(parts), keys(parts), ...insideButtons(node),
    element("h3", {}, node.times > 1 ? "One block" : "Ops"), element("ul", {}, [...types].sort((a, b) => b[1] - a[1]).slice(0, 14).map(([name, n]) => element("li", {}, element("span.mono", {}, name), element("span.sub", {}, ` ×${n}`))))];
}

function describeScene() {
  const step = picture.here(), scene = picture.scene();
  const parts = [];
  if (step.of > 1) {
    const move = (by) => element("button", { type: "button", disabled: step.turn + by < 0 || step.turn + by >= step.of, "aria-label": by < 0 ? "Block before" : "Block after", onclick: () => picture.turnTo(step.turn + by) }, by < 0 ? "‹" : "›");
    parts.push(element("div.stepper", {}, move(-1), element("span", {}, `block ${step.turn + 1} of ${step.of}`), move(1)));
  }
  const groups = picture.nodes.filter((node) => node.kind === "repeat");
  if (groups.length) parts.push(element("h3", {}, "Repeated blocks"), element("ul", {}, groups.slice(0, 12).map((node) => element("li", {},
    element("button.link", { type: "button", onclick: () => picture.select(picture.nodes.indexOf(node), true) }, node.label), element("span.sub", {}, ` ×${node.times}, ${plural(node.num / node.times, "op")} each`)))));
  return [element("div.name", {}, picture.path.length === 1 ? "Whole graph" : scene.title), element("div.sub", {}, plural(scene.num, "op")), ...parts,
    element("p.lead", { style: "margin-top: 14px" }, "Select a node to see its decision, the rule and the reason."),
    ...(picture.path.length > 1 ? [] : [element("p.lead", { style: "margin-top: 8px" }, groups.length ? "A stacked node stands for blocks that repeat; a double click opens one." : "")])];
}

function drawDetails(node) {
  const place = document.getElementById("details");
  const shift = picture.here().shift;
  let content;
  if (!node) content = describeScene();
  else if (node.kind === "op") content = describeOp(node.first + shift, node);
  else if (node.kind === "repeat" || node.kind === "section") content = describeGroup(node);
  else {
    const what = { feed: "Given by the caller", fetch: "Returned to the caller", in: "Comes from outside of this block", out: "Read outside of this block" }[node.kind];
    content = [element("div.sub", {}, what), element("div.name", {}, node.label), element("p", { style: "margin-top: 6px" }, badge(node.tone, node.below))];
  }
  const stepper = node && picture.here().of > 1 ? [describeScene().find((part) => part.className === "stepper")] : [];
  place.replaceChildren(...stepper, ...content);
}
