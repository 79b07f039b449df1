// The graph: one scene at a time, with what leads to it; zoom, pan, selection.
const kinds = ["op", "repeat", "section", "feed", "fetch", "in", "out"];
const asNode = ([x, y, width, height, kind, tone, label, below, first, num, times, scenes, byTone]) =>
  ({ x, y, width, height, kind: kinds[kind], tone: tones[tone], label, below, first, num, times, scenes, byTone });

const picture = {
  mode: "grouped",
  path: [],      // [{scene, shift, node, turn}]: shift is added to positions, turn is which of the equal blocks
  selected: -1,  // node of the scene
  view: { x: 0, y: 0, scale: 1 },

  scenes() { return graph[this.mode] || []; },
  here() { return this.path[this.path.length - 1]; },
  scene() { return this.scenes()[this.here().scene]; },

  draw() {
    const canvas = this.canvas = document.getElementById("canvas");
    if (!graph.grouped || graph.grouped.length === 0) { document.getElementById("graph").hidden = true; return; }
    this.crumbs = element("div.crumbs", { "aria-label": "Where" });
    this.legend = element("div.legend", { role: "group", "aria-label": "Show only" });
    const find = element("input", { type: "search", placeholder: "Go to an op or value", "aria-label": "Go to an op or value", list: "op-names",
      onchange: (event) => this.find(event.target.value) });
    const names = element("datalist", { id: "op-names" }, report.ops.slice(0, 1000).map((op) => element("option", { value: op.value }, op.op)));
    const fold = graph.flat && element("label", {}, element("input", { type: "checkbox", checked: true, id: "fold", onchange: (event) => this.setMode(event.target.checked ? "grouped" : "flat") }), "Fold repeated blocks");
    document.getElementById("graph-tools").append(this.crumbs, element("span.spring"), this.legend, fold || "", find, names);
    canvas.append(element("span.hint", {}, "drag or arrows to pan, + and - or Ctrl + wheel to zoom, / to search"), element("div.zoom", {},
      [["−", "Zoom out", () => this.zoom(1 / 1.3)], ["+", "Zoom in", () => this.zoom(1.3)], ["Fit", "Fit to the window", () => this.fit(0)]].map(([text, title, onclick]) => element("button", { type: "button", title, "aria-label": title, onclick }, text))));
    this.listen();
    this.open([{ scene: 0, shift: 0 }]);
  },

  setMode(mode) {
    const position = this.selected >= 0 ? this.scene().nodes[this.selected][8] + this.here().shift : -1;
    this.mode = mode;
    const fold = document.getElementById("fold");
    if (fold) fold.checked = mode === "grouped";
    this.open([{ scene: 0, shift: 0 }]);
    if (position >= 0) this.goTo(position, false);
  },

  open(path, selected = -1) {
    this.path = path;
    const scene = this.scene();
    this.nodes = scene.nodes.map(asNode);
    if (this.here().shift > 0) this.rename(scene);
    this.selected = -1;
    this.canvas.querySelector("svg")?.remove();
    const arrow = shape("marker", { id: "arrow", viewBox: "0 0 6 6", refX: 5.5, refY: 3, markerWidth: 5, markerHeight: 5, orient: "auto" }, shape("path", { d: "M0 0L6 3L0 6z" }));
    this.edges = scene.edges.map(([, , d]) => shape("path", { class: "edge", d, "marker-end": "url(#arrow)" }));
    this.faces = this.nodes.map((node, index) => this.face(node, index));
    this.world = shape("g", {}, ...this.edges, ...this.faces);
    this.svg = shape("svg", { role: "img", "aria-label": `Graph with ${this.nodes.length} nodes` }, shape("defs", {}, arrow), this.world);
    this.canvas.prepend(this.svg);
    this.drawCrumbs();
    this.drawLegend();
    this.fit(0.42);
    this.select(selected);
  },

  // The scene shows the first of equal blocks: names and types of another one.
  rename(scene) {
    const shift = this.here().shift, real = new Map();
    for (let p = scene.first; p < scene.first + scene.num && graph.ops[p + shift]; ++p) {
      for (const side of [0, 1]) graph.ops[p][side].forEach((value, i) => real.has(value) || real.set(value, graph.ops[p + shift][side][i]));
    }
    for (const node of this.nodes) {
      if (node.times > 1 || node.kind === "section") continue;
      const value = real.get(node.first < 0 ? node.num : graph.ops[node.first]?.[1][0]);
      if (value === undefined) { node.below = ""; continue; }
      node.below = graph.types[graph.values[value][1]];
      if (node.first < 0) node.label = graph.values[value][0];
    }
  },

  face(node, index) {
    const { x, y, width, height, kind, tone } = node;
    const left = x - width / 2, top = y - height / 2;
    const pill = tone === "cast" && kind === "op" ? height / 2 : 6;
    const value = kind === "feed" || kind === "fetch" || kind === "in" || kind === "out";
    const many = kind === "repeat" || kind === "section" || node.scenes.length > 0;
    const behind = many ? shape("rect", { class: "behind", x: left + 5, y: top + 5, width, height, rx: pill }) : null;
    const below = node.below !== "";
    const text = left + (pill > 6 ? 18 : 13);
    const made = shape("g", { class: `node ${tone}${value ? " value" : ""}`, tabindex: 0, role: "button", "aria-label": `${node.label}, ${toneNames[tone]}${node.times > 1 ? `, ${node.times} times` : ""}` },
      behind, shape("rect", { class: "face", x: left, y: top, width, height, rx: value ? height / 2 : pill }),
      value || pill > 6 ? null : shape("path", { class: "band", d: `M${left + 6} ${top}h-0a6 6 0 0 0 -6 6v${height - 12}a6 6 0 0 0 6 6z` }),
      shape("text", { x: text + (value ? 4 : 0), y: y + (below ? -2.5 : 4) }, node.label),
      below ? shape("text", { class: "sub", x: text + (value ? 4 : 0), y: y + 12 }, node.below) : null,
      node.times > 1 ? shape("text", { class: "count", x: left + width - 9, y: y - 2.5 }, `×${node.times}`) : null,
      node.tone === "mixed" ? this.shares(node, left + 6, top + height - 3, width - 12) : null,
      shape("title", {}, `${node.label}${node.times > 1 ? ` ×${node.times}` : ""}${below ? `\n${node.below}` : ""}\n${this.why(node)}`));
    made.addEventListener("click", (event) => { event.stopPropagation(); if (!this.moved) this.select(index, true); });
    made.addEventListener("dblclick", (event) => { event.stopPropagation(); this.enter(index); });
    made.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      this.selected === index ? this.enter(index) : this.select(index, true);
    });
    return made;
  },

  // What its ops compute in, as a thin bar.
  shares(node, x, y, width) {
    const parts = ["low", "fp32", "none"].map((tone) => [tone, node.byTone[tones.indexOf(tone)]]);
    const all = parts.reduce((sum, [, n]) => sum + n, 0) || 1;
    const bar = shape("g", {});
    for (const [tone, n] of parts) {
      if (n) bar.append(shape("rect", { class: `band ${tone}`, x, y, width: n / all * width, height: 3 }));
      x += n / all * width;
    }
    return bar;
  },

  why(node) {
    if (node.kind === "op") {
      const op = report.ops[opAt.get(node.first + this.here().shift)];
      const cast = report.casts[castAt.get(node.first + this.here().shift)];
      return op ? `${op.rule}: ${op.reason}` : cast ? cast.reason : "";
    }
    return node.num > 1 ? `${count(node.num)} ops; double click opens` : "";
  },

  drawCrumbs() {
    this.crumbs.replaceChildren();
    this.path.forEach((step, i) => {
      const last = i === this.path.length - 1;
      const title = i === 0 ? "Whole graph" : `${this.scenes()[step.scene].title}${step.of > 1 ? ` (${step.turn + 1} of ${step.of})` : ""}`;
      if (i > 0) this.crumbs.append(element("span.sep", { "aria-hidden": "true" }, "›"));
      this.crumbs.append(last ? element("b", {}, title) : element("button.link", { type: "button", onclick: () => this.open(this.path.slice(0, i + 1), step.node) }, title));
    });
    const scene = this.scene();
    const left = graph.num_ops - graph.ops.length;
    document.getElementById("graph-lead").textContent = `${plural(scene.num, "op")}${this.nodes.length < scene.num ? `, drawn as ${plural(this.nodes.length, "node")}` : ""}` +
      `${left > 0 && this.path.length === 1 ? `; reasons of the last ${count(left)} are in the .json report only` : ""}`;
  },

  drawLegend() {
    const used = tones.filter((tone) => this.nodes.some((node) => node.tone === tone));
    const only = new Set();
    const ordered = ["low", "fp32", "mixed", "none", "cast"].filter((tone) => used.includes(tone));
    this.legend.replaceChildren(...ordered.map((tone) => {
      const button = element(`button.${tone}`, { type: "button", "aria-pressed": "false", title: "Show only these", onclick: () => {
        only.has(tone) ? only.delete(tone) : only.add(tone);
        button.setAttribute("aria-pressed", String(only.has(tone)));
        this.faces.forEach((face, i) => face.classList.toggle("dim", only.size > 0 && !only.has(this.nodes[i].tone)));
        this.edges.forEach((edge) => edge.classList.toggle("dim", only.size > 0));
      } }, element(`i.dot.${tone}`), toneNames[tone]);
      return button;
    }));
  },

  select(index, byHand = false) {
    this.faces[this.selected]?.classList.remove("selected");
    for (const edge of this.edges) edge.classList.remove("from", "to");
    this.selected = index;
    if (index >= 0) {
      this.faces[index].classList.add("selected");
      this.scene().edges.forEach(([from, to], e) => {
        if (from === index) this.edges[e].classList.add("from");
        if (to === index) this.edges[e].classList.add("to");
      });
    }
    drawDetails(index >= 0 ? this.nodes[index] : null);
    const node = this.nodes[index];
    decisions.selected = node && node.kind === "op" ? opAt.get(node.first + this.here().shift) ?? -1 : -1;
    if (byHand && node && node.kind === "op") remember({ op: node.first + this.here().shift + 1 });
  },

  // Into a node, or into another of its equal blocks.
  enter(index, turn = 0) {
    const node = this.nodes[index];
    if (!node || node.scenes.length === 0) return;
    this.path[this.path.length - 1].node = index;
    const each = node.num / node.times;
    const shift = node.kind === "repeat" ? this.here().shift + turn * each : node.kind === "section" ? this.here().shift : 0;
    this.open([...this.path, { scene: node.scenes[0], shift, turn, of: node.times, parent: index }]);
  },

  turnTo(turn) {
    const step = this.here(), outer = this.path[this.path.length - 2];
    const node = asNode(this.scenes()[outer.scene].nodes[step.parent]);
    const selected = this.selected;
    this.open([...this.path.slice(0, -1), { ...step, turn, shift: outer.shift + turn * (node.num / node.times) }], selected);
  },

  // The path to the op at a position: [steps, node], null where it is not drawn.
  locate(position, path) {
    const { scene, shift } = path[path.length - 1];
    const nodes = this.scenes()[scene].nodes.map(asNode);
    for (let i = 0; i < nodes.length; ++i) {
      const node = nodes[i];
      if (node.first < 0) continue;
      const first = node.first + shift;
      if (node.kind === "op" && first === position) return [path, i];
      const inside = position >= first && position < first + node.num;
      if (node.kind !== "op" && inside) {
        if (node.scenes.length === 0) return [path, i];
        const each = node.num / node.times, turn = Math.floor((position - first) / each);
        const step = { scene: node.scenes[0], shift: node.kind === "repeat" ? shift + turn * each : shift, turn, of: node.times, parent: i };
        return this.locate(position, [...path.slice(0, -1), { ...path[path.length - 1], node: i }, step]);
      }
      if (node.kind === "op") {
        for (const child of node.scenes) {
          const inner = this.scenes()[child];
          if (position >= inner.first && position < inner.first + inner.num) return this.locate(position, [...path, { scene: child, shift: 0, parent: i, of: 1, turn: 0 }]);
        }
      }
    }
    return null;
  },

  goTo(position, scroll = true) {
    const found = this.locate(position, [{ scene: 0, shift: 0 }]);
    if (!found) return false;
    this.open(found[0], found[1]);
    this.centre(this.nodes[found[1]]);
    remember({ op: position + 1 });
    decisions.table?.draw();
    if (scroll) document.getElementById("graph").scrollIntoView();
    return true;
  },

  find(text) {
    if (!text) return;
    const match = matcher(text);
    const index = report.ops.findIndex((op) => op.value === text);
    const near = index >= 0 ? index : report.ops.findIndex((op) => match(`${op.op} ${op.value}`));
    if (near >= 0 && positionOfOp[near] !== undefined) this.goTo(positionOfOp[near], false);
  },

  // Everything in the window, at `least` of the natural size; then the top is shown.
  fit(least) {
    const scene = this.scene(), width = this.canvas.clientWidth || 900, height = this.canvas.clientHeight || 600;
    const whole = Math.min(width / scene.width, height / scene.height, 1.15);
    const scale = Math.max(whole, Math.min(least, 1));
    this.view = { scale, x: scene.width * scale <= width ? (width - scene.width * scale) / 2 : 0, y: scene.height * scale <= height ? (height - scene.height * scale) / 2 : 0 };
    this.place();
  },
  centre(node) {
    this.fit(0);
    if (this.view.scale >= 0.6) return;  // all of it can be read
    const scale = 0.8;
    this.view = { scale, x: this.canvas.clientWidth / 2 - node.x * scale, y: this.canvas.clientHeight / 2 - node.y * scale };
    this.place();
  },
  zoom(factor, x = this.canvas.clientWidth / 2, y = this.canvas.clientHeight / 2) {
    const scale = Math.min(4, Math.max(0.03, this.view.scale * factor));
    const real = scale / this.view.scale;
    this.view = { scale, x: x - (x - this.view.x) * real, y: y - (y - this.view.y) * real };
    this.place();
  },
  // All of the scene, as large as the paper is wide.
  toPaper() {
    const { width, height } = this.scene();
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.world.removeAttribute("transform");
    this.svg.classList.remove("far");
  },
  place() {
    this.svg.removeAttribute("viewBox");
    this.world.setAttribute("transform", `translate(${this.view.x.toFixed(1)} ${this.view.y.toFixed(1)}) scale(${this.view.scale.toFixed(4)})`);
    this.svg.classList.toggle("far", this.view.scale < 0.5);
  },

  listen() {
    const canvas = this.canvas, fingers = new Map();
    const at = (event) => { const box = canvas.getBoundingClientRect(); return { x: event.clientX - box.left, y: event.clientY - box.top }; };
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const { x, y } = at(event);
      this.zoom(Math.exp(-event.deltaY * 0.003), x, y);
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      if (event.target.closest("button")) return;
      fingers.set(event.pointerId, at(event));
      this.moved = false;
    });
    canvas.addEventListener("pointermove", (event) => {
      const before = fingers.get(event.pointerId);
      if (!before) return;
      const now = at(event);
      if (!this.moved && fingers.size === 1 && Math.hypot(now.x - before.x, now.y - before.y) < 4) return;
      if (!this.moved) { this.moved = true; canvas.setPointerCapture(event.pointerId); canvas.classList.add("dragging"); }
      if (fingers.size === 2) {
        const other = [...fingers].find(([id]) => id !== event.pointerId)[1];
        this.zoom(Math.hypot(now.x - other.x, now.y - other.y) / Math.max(1, Math.hypot(before.x - other.x, before.y - other.y)), other.x, other.y);
      } else {
        this.view.x += now.x - before.x;
        this.view.y += now.y - before.y;
        this.place();
      }
      fingers.set(event.pointerId, now);
    });
    const end = (event) => { fingers.delete(event.pointerId); canvas.classList.remove("dragging"); };
    canvas.addEventListener("pointerup", end);
    canvas.addEventListener("pointercancel", end);
    canvas.addEventListener("click", (event) => { if (!this.moved && !event.target.closest("button")) this.select(-1); });
    canvas.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }[event.key];
      if (step) { this.view.x += step[0]; this.view.y += step[1]; this.place(); }
      else if (event.key === "+" || event.key === "=") this.zoom(1.3);
      else if (event.key === "-") this.zoom(1 / 1.3);
      else if (event.key === "0") this.fit(0);
      else if (event.key === "Escape" && this.path.length > 1) this.open(this.path.slice(0, -1), this.path[this.path.length - 2].node);
      else return;
      event.preventDefault();
    });
    new ResizeObserver(() => { if (this.width !== canvas.clientWidth) { if (this.width) this.fit(0.42); this.width = canvas.clientWidth; } }).observe(canvas);
  },
};
