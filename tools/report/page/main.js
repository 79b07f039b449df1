// Start, colours, and what the address says: #op=12, #q=softmax, #tone=fp32, #type=conv2d, #rule=deny, #fold=0, #theme=dark and
// #only=weights (one section), joined by &.
const themes = ["auto", "light", "dark"];
function setTheme(theme) {
  theme === "auto" ? delete root.dataset.theme : root.dataset.theme = theme;
  document.getElementById("theme").textContent = theme[0].toUpperCase() + theme.slice(1);
}
document.getElementById("theme").addEventListener("click", () => setTheme(themes[(themes.indexOf(root.dataset.theme || "auto") + 1) % themes.length]));

let written = "";
function remember(change) {
  const words = new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
  for (const [key, value] of Object.entries(change)) words.set(key, value);
  written = `#${words}`;
  try { history.replaceState(null, "", written); } catch (error) { /* a page that was opened from a place without an address */ }
}

function obey() {
  if (location.hash === written || !location.hash.includes("=")) return;
  const words = new URLSearchParams(location.hash.slice(1));
  if (words.has("theme")) setTheme(themes.includes(words.get("theme")) ? words.get("theme") : "auto");
  const only = words.get("only");
  for (const section of document.querySelectorAll("main > section")) section.classList.toggle("away", Boolean(only) && section.id !== only);
  if (words.has("fold") && graph.flat) picture.setMode(words.get("fold") === "0" ? "flat" : "grouped");
  const filter = {};
  for (const [key, name] of [["q", "text"], ["tone", "tone"], ["type", "type"], ["rule", "rule"]]) if (words.has(key)) filter[name] = words.get(key);
  if (Object.keys(filter).length) decisions.only(filter);
  if (words.has("op")) picture.goTo(Number(words.get("op")) - 1);
}

drawSummary();
decisions.draw();
picture.draw();
drawHazards();
drawTypes();
drawWeights();
drawCasts();
obey();
addEventListener("hashchange", obey);
addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, select, textarea")) return;
  event.preventDefault();
  document.querySelector("#graph-tools input[type=search]")?.focus();
});
addEventListener("beforeprint", () => picture.svg && picture.toPaper());
addEventListener("afterprint", () => picture.svg && picture.place());
root.dataset.ready = "1";
