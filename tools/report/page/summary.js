// Head figures, options, notes.
function stack(parts) {
  const all = parts.reduce((sum, [, n]) => sum + n, 0);
  return element("div.stack", { role: "img", "aria-label": parts.map(([tone, n]) => `${n} ${toneNames[tone] || tone}`).join(", ") },
    parts.filter(([, n]) => n > 0).map(([tone, n]) => element(`i.${tone}`, { style: `flex: ${n / all}` })));
}
function keys(parts) {
  return element("div.keys", {}, parts.filter(([, n]) => n > 0).map(([tone, n, name]) =>
    element("span", {}, element(`i.dot.${tone}`), element("b", {}, count(n)), ` ${name || toneNames[tone]}`)));
}
function tile(title, big, ...rest) {
  return element("div.tile", {}, element("h3", {}, title), element("div.big", {}, big), ...rest);
}

function sumDamage() {
  const sum = { weights: 0, elements: 0, clamped: 0, flushed: 0, subnormal: 0, non_finite: 0 };
  for (const weight of report.weights) {
    if (!weight.elements) continue;
    ++sum.weights;
    for (const key of ["elements", "clamped", "flushed", "subnormal", "non_finite"]) sum[key] += weight[key];
  }
  return sum;
}

function drawSummary() {
  const ops = totals.low + totals.fp32 + totals.none;
  const casts = report.casts.length + report.omitted.casts;
  const down = report.casts.filter((c) => toneOfType(c.to) === "low").length;
  const damage = sumDamage();
  const file = (path) => path.replace(/.*[\\/](?=[^\\/])/, "");
  const parts = [["low", totals.low], ["fp32", totals.fp32], ["none", totals.none]];
  const changed = report.bytes_before > 0 ? report.bytes_after / report.bytes_before : 1;
  const chips = [["level", report.level], ["type", report.low ? lowName : "none"], ["target", report.target], ["rules", report.mode === "own" ? "ampc" : report.mode]];
  const floats = totals.low + totals.fp32, share = report.low_flops_share;
  document.getElementById("summary").append(
    element("div.title", {},
      element("div", {}, element("h1", { id: "summary-title" }, file(report.output)), element("p.path", {}, "from ", element("code", {}, report.input))),
      element("div.chips", {}, chips.map(([key, value]) => element("span.chip", {}, `${key} `, element("b", {}, value))))),
    element("div.tiles", {},
      tile("Size of the model", [bytes(report.bytes_after), element("small", {}, ` of ${bytes(report.bytes_before)}`)],
        element("div.meter", {}, element("i", { style: `width: ${Math.min(100, changed * 100)}%` })),
        element("p.note", {}, `${percent(changed)} of the original${changed > 1 ? ": the program grew by more than the weights shrank" : ""}`)),
      tile("Matrix and convolution work in low precision", share === null ? "none" : percent(share),
        share === null ? null : element("div.meter", {}, element("i", { style: `width: ${share * 100}%` })),
        element("p.note", {}, share === null ? "no product or convolution" : "share of the floating point operations; unknown sizes count as 1")),
      tile("Operations", [count(ops), element("small", {}, floats ? `, ${percent(totals.low / floats)} of those with floats low` : "")], ops ? stack(parts) : null, keys(parts)),
      tile("Casts inserted", count(casts), element("p.note", {}, casts === 0 ? "the program needed none" :
        report.omitted.casts ? "the first of them are listed below" : `${count(down)} to ${lowName}, ${count(casts - down)} back to fp32 or wider`)),
      tile("Weights stored low", [count(damage.weights + report.omitted.weights), element("small", {}, damage.elements ? `, ${count(damage.elements)} values` : "")],
        damage.elements ? element("p.note", {}, `${percent(damage.clamped / damage.elements, 2)} clamped, ${percent(damage.flushed / damage.elements, 2)} became zero, ${percent(damage.subnormal / damage.elements, 2)} subnormal`)
          : element("p.note", {}, report.weights.length ? "stored low before, or without values" : "no weight changed its type")),
      tile("Time", seconds(report.seconds), element("p.note", {}, `reading ${seconds(report.load_seconds)}, deciding and rewriting ${seconds(report.pass_seconds)}, writing ${seconds(report.save_seconds)}`))),
    element("div.card.run", {}, element("h3", {}, "The same again"),
      element("div.command", {}, element("pre", { id: "command" }, report.command || `ampc convert ${report.input} -o ${report.output}`), copyButton("command")),
      element("details.more", {}, element("summary", {}, "Passes and their options"), element("pre", {}, report.pipeline.split(/,(?![^{]*\})/).join("\n") || "none"))),
    ...report.notes.map((note) => element("p.notice", {}, note)));
}

// Copies the text of the element with that id, or selects it where the browser does not let a page copy.
function copyButton(id) {
  const button = element("button", { type: "button", onclick: async () => {
    const place = document.getElementById(id);
    try {
      await navigator.clipboard.writeText(place.textContent);
      button.textContent = "Copied";
    } catch (error) {
      getSelection().selectAllChildren(place);
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  } }, "Copy");
  return button;
}
