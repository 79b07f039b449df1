// The data, and how elements and numbers are made. Text becomes text nodes and attributes only, never markup.
const read = (id) => JSON.parse(document.getElementById(id).textContent);
const report = read("report-data");
const graph = read("graph-data");
const root = document.documentElement;

// element("td.num", {title: "..."}, "text", otherElement): the tag with its classes, attributes or listeners, children.
function element(name, attributes, ...children) {
  const [tag, ...classes] = name.split(".");
  const made = document.createElement(tag);
  if (classes.length) made.className = classes.join(" ");
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "style") made.style.cssText = value;
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false));
  return made;
}

function shape(tag, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value);
  }
  made.append(...children.filter((c) => c !== null && c !== undefined));
  return made;
}

const whole = new Intl.NumberFormat("en-US");
const count = (n) => whole.format(n);
const plural = (n, one, more) => `${count(n)} ${n === 1 ? one : more || one + "s"}`;
function percent(share, digits = 1) {
  if (!share) return "0 %";
  const value = share * 100;
  if (value < 100 && value > 100 - 0.5 * 10 ** -digits) return `> ${(100 - 10 ** -digits).toFixed(digits)} %`;
  const least = 10 ** -digits;
  if (value < least) return `< ${least.toFixed(digits)} %`;
  return `${value === 100 ? "100" : value.toFixed(digits)} %`;
}
function bytes(n) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  while (n >= 999.5 && unit < units.length - 1) { n /= 1000; ++unit; }
  return `${unit === 0 || n >= 99.95 ? n.toFixed(0) : n.toFixed(1)} ${units[unit]}`;
}
const seconds = (s) => s >= 1 ? `${s.toFixed(2)} s` : s >= 1e-3 ? `${(s * 1e3).toFixed(1)} ms` : `${(s * 1e6).toFixed(0)} µs`;
const magnitude = (v) => typeof v !== "number" ? String(v) : v === 0 ? "0" : v >= 1e5 || v < 1e-3 ? v.toExponential(2) : String(+v.toPrecision(3));

// What an op computes in: "low", "fp32" (or wider) or "none".
const lowName = (report.low || "").replace("bfloat", "bf").replace("float", "fp") || "low";
const toneOfType = (dtype) => dtype === "none" ? "none" : dtype === "float16" || dtype === "bfloat16" ? "low" : "fp32";
const tones = ["none", "fp32", "low", "mixed", "cast"];  // as numbered in the graph's data
const toneNames = { low: lowName === "low" ? "fp16 / bf16" : lowName, fp32: "fp32", none: "no floats", mixed: "mixed", cast: "inserted cast" };
const badge = (tone, text) => element(`span.badge.${tone}`, {}, text || toneNames[tone]);
const shortType = (dtype) => dtype.replace("bfloat", "bf").replace("float", "fp");

// Positions in program order are those of the graph; the report lists inserted casts apart.
const castAt = new Map((graph.casts || []).map((position, index) => [position, index]));
const positionOfOp = [];
{
  const known = Math.min(report.ops.length, (graph.num_ops || 0) - castAt.size);
  for (let position = 0; positionOfOp.length < known; ++position) if (!castAt.has(position)) positionOfOp.push(position);
}
const opAt = new Map(positionOfOp.map((position, index) => [position, index]));
const totals = { low: 0, fp32: 0, none: 0 };
for (const type of report.types) for (const tone of Object.keys(totals)) totals[tone] += type[tone];
