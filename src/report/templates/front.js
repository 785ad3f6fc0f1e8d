"use strict";
// The page of report.front_page. A measurement is its number: that of its row in the table, its place in every list.
const controls = document.getElementById("controls");
const body = document.querySelector("#measurements tbody");
const rows = [...body.rows];
const headers = [...document.querySelectorAll("#measurements thead th")];
const FASTEST = "source words/s"; // the column that the table is sorted by at first
const numbers = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
let data = null; // of front_page.data, once it is inflated
let picked = null; // the measurement that is fixed
let views = []; // of Vega
let width = 0; // of the page when it was drawn
let updates = 0; // an older one ends when a newer one begins

// An element; text is never read as HTML.
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

const wide = () => innerWidth > 700; // no phone

// Text that report.front_page compressed.
async function inflated(id) {
  const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), letter => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}

// Which points [x, y] no point dominates, as in findings.comparison; more is better. Equal points are on the front together.
function pareto(points) {
  const order = points.map((_, number) => number);
  order.sort((a, b) => points[b][0] - points[a][0] || points[b][1] - points[a][1]);
  const onFront = points.map(() => false);
  let last = null, best = -Infinity;
  for (const number of order) {
    const [x, y] = points[number];
    if (y > best || (last && x === last[0] && y === last[1])) {
      onFront[number] = true;
      [last, best] = [points[number], y];
    }
  }
  return onFront;
}

// What the controls ask for.
function choice() {
  const form = new FormData(controls);
  return {
    across: form.get("across"), up: form.get("up"), key: form.get("key"), bars: form.has("bars"),
    one: form.get("panels") === "one",
    facets: Object.keys(data.facets).map(name => [name, new Set(form.getAll(name))]),
    least: 1e6 * (form.get("least") || 0), most: 1e6 * (form.get("most") || Infinity),
  };
}

// The measurements that pass all filters.
function passing({ facets, least, most }) {
  const all = data.records.map((_, number) => number);
  const column = data.fields.findIndex(({ name }) => name === "parameters");
  return all.filter(number => {
    const parameters = data.records[number][column];
    const { words } = data.about[number];
    return least <= parameters && parameters <= most && facets.every(([name, values]) => values.has(words[name]));
  });
}

// The points of a panel, the best on the first axis first, with their rank on the front.
function panelPoints(measurements, { across, up, key }) {
  const sign = data.axes[across].more ? 1 : -1;
  const made = measurements.map(number => {
    const [x, low = x, high = x] = data.places[across][number];
    const about = data.about[number], value = about.words[key];
    return { number, x, low, high, y: data.places[up][number][0], key: value, title: about.title, greedy: about.greedy };
  });
  const flags = pareto(made.map(({ x, y }) => [sign * x, y]));
  const front = made.filter((_, number) => flags[number]).sort((a, b) => sign * (b.x - a.x));
  let rank = 0;
  front.forEach((point, number) => {
    const before = front[number - 1];
    point.rank = before && before.x === point.x && before.y === point.y ? rank : ++rank;
  });
  return { all: made, front };
}

// The corners of the staircase: from the floor at its best end to the edge where more no longer helps.
function staircase(front, { across }, { x, y }) {
  if (!front.length) return [];
  const corners = [[front[0].x, y[0]]];
  for (const point of front) corners.push([point.x, corners.at(-1)[1]], [point.x, point.y]);
  corners.push([data.axes[across].more ? x[0] : x[1], front.at(-1).y]);
  return corners.map(([left, height], step) => ({ x: left, y: height, step }));
}

// The limits of both axes, with some room around all points; the first is logarithmic.
function limits(made) {
  const xs = made.flatMap(({ low, high }) => [low, high]), ys = made.map(({ y }) => y);
  const wide = (Math.max(...xs) / Math.min(...xs)) ** 0.06 * 1.02;
  const tall = 0.08 * (Math.max(...ys) - Math.min(...ys)) + 0.1;
  return { x: [Math.min(...xs) / wide, Math.max(...xs) * wide], y: [Math.min(...ys) - tall, Math.max(...ys) + tall] };
}

// All panels share the first axis, those of one test set the second, too: scores of two test sets are not comparable.
function domain(made, panels) {
  const testSet = ({ all }) => data.about[all[0].number].words["test set"];
  const alike = panels.filter(([, other]) => testSet(other) === testSet(made));
  const [every, own] = [panels, alike].map(some => limits(some.flatMap(([, { all }]) => all)));
  return { x: every.x, y: own.y };
}

function specification({ all, front }, chosen, domain, width) {
  const values = [...new Set(all.map(({ key }) => key))];
  const look = part => ({ domain: values, range: values.map(value => data.styles[chosen.key][value][part]) });
  const legend = { orient: "bottom", columns: Math.max(1, Math.floor(width / 150)), symbolSize: 90, labelLimit: 300 };
  const x = { field: "x", type: "quantitative", title: `${data.axes[chosen.across].label}, logarithmic`,
    scale: { type: "log", domain: domain.x, nice: false }, axis: { format: ",.3~r", labelOverlap: true, labelSeparation: 6, tickCount: 6 } };
  const y = { field: "y", type: "quantitative", title: data.axes[chosen.up].label,
    scale: { domain: domain.y, zero: false, nice: false } };
  const color = { field: "key", type: "nominal", title: chosen.key, scale: look(0), legend };
  const shape = { field: "key", type: "nominal", title: chosen.key, scale: look(1), legend };
  const mark = { type: "point", size: 90, strokeWidth: 1.6, opacity: 1 };
  const points = greedy => ({ transform: [{ filter: `datum.greedy === ${greedy}` }],
    mark: greedy ? { ...mark, filled: true } : { ...mark, fill: "white" },
    encoding: { x, y, color, shape, tooltip: { field: "title" } } });
  const ring = { type: "point", shape: "circle", size: 420, color: "#222222", strokeWidth: 2, opacity: 1 };
  return {
    $schema: "https://vega.github.io/schema/vega-lite/v5.json",
    width, height: Math.min(440, Math.max(260, 0.7 * width)), background: "white", data: { values: all },
    autosize: { type: "fit-x", contains: "padding" },
    config: { aria: false, font: "system-ui, sans-serif", view: { stroke: null }, axis: { gridColor: "#e6e6e6",
      labelFontSize: 12, titleFontSize: 12 }, legend: { labelFontSize: 12, titleFontSize: 12 } },
    layer: [
      { data: { values: staircase(front, chosen, domain) }, mark: { type: "line", color: "#777777", strokeWidth: 1.5 },
        encoding: { x, y, order: { field: "step" } } },
      ...(chosen.bars ? [{ mark: "rule", encoding: { x: { ...x, field: "low" }, x2: { field: "high" }, y, color } }] : []),
      points(false), points(true),
      { transform: [{ filter: "isValid(datum.rank)" }], encoding: { x, y, text: { field: "rank" } },
        mark: { type: "text", dx: 10, dy: -9, fontSize: 12, fontWeight: "bold", color: "#222222" } },
      { transform: [{ filter: `datum.number === ${picked}` }], mark: ring, encoding: { x, y } },
    ],
  };
}

// An empty panel, for screen readers with the words of its picture.
function panel([title, made], chosen) {
  const label = spoken(title, made, chosen);
  const holder = element("div", { class: "picture", role: "img", "aria-label": label }, element("div"));
  const save = element("button", { type: "button", "aria-label": `Save the picture (SVG) of ${title}` }, "Save the picture (SVG)");
  return element("figure", {}, element("figcaption", {}, title), holder, save);
}

async function draw(figure, made, chosen, domain) {
  const [, holder, save] = figure.children;
  const compiled = vegaLite.compile(specification(made, chosen, domain, holder.firstChild.clientWidth)).spec;
  const view = new vega.View(vega.parse(compiled), { renderer: "svg", container: holder.firstChild });
  views.push(view);
  view.addEventListener("click", async (_, item) => {
    if (!item || !item.datum || !("number" in item.datum)) return;
    await pick(item.datum.number);
    document.getElementById("record").scrollIntoView({ block: "nearest" });
  });
  save.addEventListener("click", async () => {
    const blob = new Blob([await view.toSVG()], { type: "image/svg+xml" });
    element("a", { href: URL.createObjectURL(blob), download: "front.svg" }).click();
  });
  await view.runAsync();
}

// What a screen reader reads out instead of a picture.
function spoken(title, { all, front }, { across, up }) {
  const names = front.map(({ rank, title, x, y }) => `${rank}: ${title}, ${numbers.format(x)}, ${numbers.format(y)}`);
  return `${title}. ${data.axes[up].label} against ${data.axes[across].label}, ${all.length} points; the table below has `
    + `them. On the front: ${names.join("; ")}.`;
}

// Draw everything anew for what the controls ask for.
async function update() {
  const turn = ++updates;
  width = document.body.clientWidth;
  const chosen = choice();
  const kept = passing(chosen);
  const drawn = kept.filter(number => data.places[chosen.across][number] && data.places[chosen.up][number]);
  const groups = new Map();
  for (const number of drawn) {
    const name = chosen.one ? "All measurements" : data.about[number].panel;
    groups.set(name, [...(groups.get(name) || []), number]);
  }
  const panels = [...groups].map(([name, measurements]) => [name, panelPoints(measurements, chosen)]);
  for (const view of views) view.finalize();
  views = [];
  document.getElementById("panels").replaceChildren();
  const mixed = new Set(drawn.map(number => data.about[number].panel)).size > 1;
  if (chosen.one && mixed) {
    document.getElementById("panels").append(element("p", { class: "warning" },
      "These points are of several studies, test sets or CPUs: BLEU of one and speeds of another cannot be compared."));
  }
  list(kept, panels.flatMap(([, { front }]) => front));
  const onFront = panels.reduce((sum, [, { front }]) => sum + front.length, 0);
  const missing = kept.length - drawn.length;
  document.getElementById("count").textContent = `${kept.length} of ${rows.length} measurements, ${onFront} on the front`
    + (missing ? `; ${missing} without a value on both axes are in the table only.` : ".");
  const figures = panels.map(named => panel(named, chosen));
  document.getElementById("panels").append(...figures); // all of them first: they share the width
  for (const [number, [, made]] of panels.entries()) {
    if (turn === updates) await draw(figures[number], made, chosen, domain(made, panels));
  }
}

// Show these measurements in the table, with their rank on the front.
function list(measurements, front) {
  const shown = new Set(measurements), ranks = new Map(front.map(({ number, rank }) => [number, rank]));
  rows.forEach((row, number) => {
    row.hidden = !shown.has(number);
    row.cells[0].textContent = ranks.get(number) ?? "";
  });
  const order = headers[0].getAttribute("aria-sort");
  if (order) sort(0, order === "ascending"); // by ranks, which are others now
}

// Sort by a column: numbers before words, empty cells last.
function sort(column, ascending = headers[column].getAttribute("aria-sort") !== "ascending") {
  for (const header of headers) header.removeAttribute("aria-sort");
  headers[column].setAttribute("aria-sort", ascending ? "ascending" : "descending");
  const value = row => row.cells[column].textContent;
  const number = row => parseFloat(value(row).replaceAll(",", ""));
  const known = row => !["", "–"].includes(value(row));
  const compared = (a, b) => number(a) - number(b) || value(a).localeCompare(value(b));
  body.append(...[...rows].sort((a, b) => known(b) - known(a) || (ascending ? compared(a, b) : compared(b, a))));
}

// Fix a measurement and show all about it.
async function pick(number) {
  picked = number;
  rows.forEach((row, other) => {
    row.classList.toggle("picked", other === number);
    row.querySelector("th button").setAttribute("aria-pressed", other === number);
  });
  const { title, panel: where, command, translations } = data.about[number];
  const known = data.fields.flatMap(({ name, text, unit }, column) => {
    const value = data.records[number][column];
    if (value === null) return [];
    const shown = typeof value === "object" ? JSON.stringify(value) : String(value);
    return [element("div", { title: text }, element("dt", {}, name), element("dd", {}, `${shown} ${unit || ""}`))];
  });
  document.getElementById("record").replaceChildren(
    element("h2", {}, title), element("p", {}, where),
    ...(command ? [element("p", {}, "Decodes in the same way:"), element("pre", {}, element("code", {}, command))] : []),
    ...sentences(number, translations),
    element("details", wide() ? { open: "" } : {}, element("summary", {}, "Record"), element("dl", { class: "fields" }, ...known)));
  await update();
}

// The sentences that a measurement's system translated; its own translations if they were there, else the samples'.
function sentences(number, translations) {
  const { words } = data.about[number];
  const samples = data.samples[words.study];
  if (!samples.sentences.length) return [];
  if (samples.test_set !== words["test set"]) return [element("p", {}, `Sentences were kept of ${samples.test_set} only.`)];
  const own = samples.sentences.map((sample, line) => translations ? translations[line] : sample.outputs[words.system]);
  if (own.includes(undefined)) return [];
  const line = (name, text, style) =>
    element("tr", {}, element("th", { scope: "row" }, name), element("td", { class: style }, text));
  const heading = translations ? "Sentences" : `Sentences of ${words.system}, decoded as for the study's samples`;
  return [element("h3", {}, heading), element("table", { class: "samples" },
    ...samples.sentences.map((sample, place) => element("tbody", {}, line("source", sample.source, "source"),
      line("reference", sample.reference, "reference"), line("translation", own[place], ""))))];
}

async function start() {
  data = JSON.parse(await inflated("data"));
  const script = element("script");
  script.textContent = await inflated("vega");
  document.head.append(script);
  document.getElementById("filters").open = wide();
  controls.addEventListener("change", update);
  controls.addEventListener("submit", event => event.preventDefault());
  controls.addEventListener("reset", () => setTimeout(update));
  headers.forEach((header, column) => header.firstChild.addEventListener("click", () => sort(column)));
  rows.forEach((row, number) => row.querySelector("th button").addEventListener("click", async () => {
    await pick(number);
    document.getElementById("record").focus();
  }));
  document.getElementById("licences").addEventListener("toggle", async event => {
    event.target.querySelector("pre").textContent = await inflated("licence-texts");
  });
  new ResizeObserver(() => Math.abs(document.body.clientWidth - width) > 1 && update()).observe(document.body);
  sort(headers.findIndex(header => header.textContent === FASTEST), false);
  await update();
}

start().catch(error => {
  document.getElementById("count").textContent = `This browser cannot draw the front (${error.message}); the table has all.`;
});
