
"use strict";
// All texts come from services of strangers: they are set as text, never as markup, and only http addresses become links.
const $ = (id) => document.getElementById(id);
const data = JSON.parse($("data").textContent);
const COLOURS = { WMS: "#0072b2", WFS: "#d55e00", WCS: "#009e73", WMTS: "#56b4e9", WPS: "#cc79a7", CSW: "#8a7000", SOS: "#7a5195",
  ATOM: "#a6761d", OGCAPI: "#e7298a", STAC: "#1b9e77", ARCGIS: "#666666", TMS: "#2c7fb8" };
const colour = (kind) => COLOURS[kind] || "#777777";
const ROW = 44;

const services = data.services.map((s, n) => ({ n, kind: s[0], version: s[1], state: s[2], reason: s[3], title: s[4], provider: s[5],
  endpoint: s[6], layers: s[7], box: s[8] || null, abstract: s[9], licence: s[10], fetched: s[11], address: s[12], lang: s[13],
  crs: s[14], contact: s[15], check: s[16] }));
for (const s of services) { s.service = s; s.name = s.title || s.endpoint; s.sub = [s.kind, s.version, s.check || s.state, s.licence.slice(0, 40), s.provider].filter(Boolean).join(" · "); }
const layers = data.layers.map((l, n) => ({ n, service: services[l[0]], name: l[1] || l[2], code: l[2], box: l[3] || null, offers: l[4],
  type: l[5], abstract: l[6], lang: l[7], crs: l[8], licence: l[9] }));
for (const l of layers) { const s = l.service; l.kind = s.kind; l.state = s.state; l.provider = s.provider;
  l.sub = [s.kind, s.check || s.state, s.title || s.endpoint, s.provider].filter(Boolean).join(" · "); }
for (const one of [...services, ...layers]) {
  const s = one.service;
  one.words = plain([one.name, one.code, s.title, s.provider, s.endpoint, one.abstract].join("\n"));
  one.area = one.box ? width(one.box) * (one.box[3] - one.box[1]) : Infinity;
}
function plain(text) { return text.normalize("NFD").replace(/[\u0300-\u036f]/g, "").toLowerCase(); } // aragon finds Aragón
function width(b) { return b[0] <= b[2] ? b[2] - b[0] : 360 + b[2] - b[0]; }
function parts(b) { return b[0] <= b[2] ? [b] : [[b[0], b[1], 180, b[3]], [-180, b[1], b[2], b[3]]]; }

let shown = [], drawn = [], chosen = null, hovered = null, active = -1, here = null;

// ---- filters and list
function fill(select, values) {
  for (const [value, count] of values) { const o = document.createElement("option"); o.value = value; o.textContent = `${value} (${count})`; select.append(o); }
}
function counts(key) {
  const found = new Map();
  for (const s of services) if (s[key]) found.set(s[key], (found.get(s[key]) || 0) + 1);
  return [...found].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}
fill($("kind"), counts("kind")); fill($("provider"), counts("provider").slice(0, 2000)); fill($("state"), counts("state"));
for (const [kind] of counts("kind").slice(0, 12)) {
  const line = document.createElement("div"), mark = document.createElement("i");
  mark.style.background = colour(kind); line.append(mark, kind); $("key").append(line);
}
if (!layers.length) $("what").value = "services";

function apply() {
  const all = $("what").value === "layers" ? layers : services;
  const words = plain($("text").value).split(/\s+/).filter(Boolean);
  const kind = $("kind").value, provider = $("provider").value, state = $("state").value;
  shown = all.filter((one) => (!kind || one.kind === kind) && (!provider || one.provider === provider) && (!state || one.state === state) &&
    words.every((word) => one.words.includes(word)) && (!here || (one.box && holds(one.box, here))));
  if (here) shown.sort((a, b) => a.area - b.area);
  active = shown.indexOf(chosen);
  if (active < 0 && chosen) choose(null, { zoom: false });
  drawn = shown.filter((one) => one.box).sort((a, b) => b.area - a.area); // small ones on top
  $("sum").textContent = `${shown.length.toLocaleString("en")} of ${all.length.toLocaleString("en")} ${$("what").value}` +
    (here ? ` at ${degrees(here)}` : "") + (drawn.length < shown.length ? `, ${(shown.length - drawn.length).toLocaleString("en")} without a box` : "");
  $("anywhere").hidden = !here;
  $("list").scrollTop = 0;
  list(); paint();
}
function holds(box, [x, y]) { return parts(box).some((b) => b[0] <= x && x <= b[2] && b[1] <= y && y <= b[3]); }
function where(at) { return Math.abs(at[1]) <= 90 ? `${degrees(at)}. ` : ""; }
function degrees([x, y]) { return `${Math.abs(y).toFixed(1)}°${y < 0 ? "S" : "N"} ${Math.abs(x).toFixed(1)}°${x < 0 ? "W" : "E"}`; }

const spacer = document.createElement("div"); spacer.role = "presentation"; $("list").append(spacer);
function list() {
  const box = $("list"), first = Math.max(0, Math.floor(box.scrollTop / ROW) - 4), last = Math.min(shown.length, first + Math.ceil(box.clientHeight / ROW) + 8);
  spacer.style.height = `${shown.length * ROW}px`;
  for (const old of [...box.querySelectorAll(".item")]) old.remove();
  for (let at = first; at < last; at++) {
    const one = shown[at], row = document.createElement("div"), title = document.createElement("b"), sub = document.createElement("span");
    row.className = "item"; row.id = `item-${at}`; row.role = "option"; row.dataset.at = at;
    row.style.top = `${at * ROW}px`; row.style.borderLeftColor = colour(one.kind);
    row.setAttribute("aria-selected", String(at === active)); row.setAttribute("aria-posinset", at + 1); row.setAttribute("aria-setsize", shown.length);
    title.textContent = one.name; title.lang = one.lang; sub.textContent = one.sub; row.title = one.name; row.append(title, sub); box.append(row);
  }
  if (active >= first && active < last) box.setAttribute("aria-activedescendant", `item-${active}`); else box.removeAttribute("aria-activedescendant");
}
function reveal(at) {
  const box = $("list");
  if (at * ROW < box.scrollTop) box.scrollTop = at * ROW;
  else if ((at + 1) * ROW > box.scrollTop + box.clientHeight) box.scrollTop = (at + 1) * ROW - box.clientHeight;
}
function choose(one, { zoom }) {
  chosen = one; active = one ? shown.indexOf(one) : -1;
  if (active >= 0) reveal(active);
  list(); tell(one);
  if (zoom && one && one.box) show(one.box); else paint();
}
function tell(one) {
  const box = $("details"); box.replaceChildren();
  if (!one) return;
  const s = one.service, title = document.createElement("h2"), facts = document.createElement("dl");
  title.textContent = one.name; title.lang = one.lang; box.append(title, facts);
  const add = (name, value, link) => {
    if (value === "" || value === undefined || value === null) return;
    const dt = document.createElement("dt"), dd = document.createElement("dd"); dt.textContent = name;
    if (link && /^https?:\/\//i.test(value)) { const a = document.createElement("a"); a.href = value; a.textContent = value; a.rel = "noopener noreferrer"; a.target = "_blank"; dd.append(a); }
    else dd.textContent = value;
    facts.append(dt, dd);
  };
  if (one !== s) { add("Name", one.code); add("Type", one.type); add("Service", s.title); if (one.offers > 1) add("Offered by", `${one.offers} services`); }
  add("Kind", [s.kind, s.version].filter(Boolean).join(" ")); add("State", [s.state, s.reason].filter(Boolean).join(": "));
  add("Checked", s.check || "never"); add("Provider", s.provider); add("Contact", s.contact);
  add("Licence", one.licence || s.licence || "none stated"); add("CRS", one.crs || s.crs);
  if (one === s) add("Layers", s.layers);
  add("Endpoint", s.endpoint, true); add("Description", s.address, true); add("Seen", s.fetched);
  add("Box", one.box ? one.box.join(", ") : "none"); add("Abstract", one.abstract);
}
$("list").addEventListener("scroll", () => requestAnimationFrame(list));
$("list").addEventListener("click", (event) => { const row = event.target.closest(".item"); if (row) choose(shown[+row.dataset.at], { zoom: true }); });
$("list").addEventListener("mousemove", (event) => { const row = event.target.closest(".item"); hover(row ? shown[+row.dataset.at] : null); });
$("list").addEventListener("mouseleave", () => hover(null));
function hover(one) { if (one !== hovered) { hovered = one; paint({ overlay: true }); } }
$("list").addEventListener("keydown", (event) => {
  const page = Math.max(1, Math.floor($("list").clientHeight / ROW) - 1);
  const step = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page }[event.key];
  if (step) active = Math.min(shown.length - 1, Math.max(0, active + step));
  else if (event.key === "Home") active = 0;
  else if (event.key === "End") active = shown.length - 1;
  else if (event.key === "Enter" || event.key === " ") { if (shown[active]) choose(shown[active], { zoom: true }); event.preventDefault(); return; }
  else return;
  event.preventDefault();
  if (shown[active]) { reveal(active); choose(shown[active], { zoom: false }); }
});
let waiting = 0;
$("text").addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(apply, 80); });
for (const id of ["what", "kind", "provider", "state"]) $(id).addEventListener("change", apply);
$("anywhere").addEventListener("click", () => { here = null; apply(); $("list").focus(); });
$("theme").addEventListener("click", () => {
  const root = document.documentElement, dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark"; ink(); paint();
});

// ---- map: longitude and latitude as they are, pixels a degree = view.k
const canvas = $("map"), context = canvas.getContext("2d"), back = document.createElement("canvas"), behind = back.getContext("2d");
const WORLDS = [-360, 0, 360]; // the map goes round: what lies beyond the antimeridian is drawn where one looks for it
const view = { x: 0, y: 15, k: 3 };
let size = [1, 1], paper = {}, frame = 0, fresh = false;
function ink() { const style = getComputedStyle(document.documentElement); for (const name of ["sea", "land", "coast", "grid", "ink", "faint"]) paper[name] = style.getPropertyValue(`--${name}`).trim(); }
function fit() {
  const ratio = window.devicePixelRatio || 1, box = canvas.getBoundingClientRect();
  size = [box.width, box.height];
  for (const one of [canvas, back]) { one.width = Math.max(1, Math.round(box.width * ratio)); one.height = Math.max(1, Math.round(box.height * ratio)); }
  context.setTransform(ratio, 0, 0, ratio, 0, 0); behind.setTransform(ratio, 0, 0, ratio, 0, 0);
}
const least = () => Math.min(size[0] / 360, size[1] / 180);
const px = (x) => (x - view.x) * view.k + size[0] / 2, py = (y) => (view.y - y) * view.k + size[1] / 2;
const lon = (x) => (x - size[0] / 2) / view.k + view.x, lat = (y) => view.y - (y - size[1] / 2) / view.k;
function hold() {
  view.k = Math.min(20000, Math.max(least() * 0.9, view.k));
  view.x = turn(view.x); view.y = Math.min(90, Math.max(-90, view.y));
}
function world() { view.x = 0; view.y = 0; view.k = least(); paint(); }
function show(box, part = 0.7) {
  const w = Math.max(width(box), 0.02), h = Math.max(box[3] - box[1], 0.02);
  view.x = box[0] + w / 2;
  view.y = (box[1] + box[3]) / 2; view.k = Math.min(size[0] / w, size[1] / h) * part; hold(); paint();
}
// The smallest box around all that are smaller than the world, which may cross the antimeridian; null where none is.
function extent(ones) {
  const boxes = ones.map((one) => one.box).filter((b) => b && width(b) * (b[3] - b[1]) < 55000);
  if (!boxes.length) return null;
  const arcs = boxes.map((b) => [b[0], b[0] + width(b)]).sort((a, b) => a[0] - b[0]);
  let reached = arcs.reduce((most, arc) => Math.max(most, arc[1]), -Infinity) - 360, gap = 0, west = -180, east = 180;
  for (const arc of arcs) {
    if (arc[0] - reached > gap) { gap = arc[0] - reached; west = arc[0]; east = reached; }
    reached = Math.max(reached, arc[1]);
  }
  if (east < -180) east += 360;
  return [west, boxes.reduce((least, b) => Math.min(least, b[1]), 90), east, boxes.reduce((most, b) => Math.max(most, b[3]), -90)];
}
function begin() { const box = extent(drawn); if (box) show(box, 0.9); else world(); }
function zoom(factor, x = size[0] / 2, y = size[1] / 2) {
  const at = [lon(x), lat(y)]; view.k *= factor; hold();
  view.x = at[0] - (x - size[0] / 2) / view.k; view.y = at[1] + (y - size[1] / 2) / view.k; hold(); paint();
}
function paint({ overlay = false } = {}) { if (!overlay) fresh = false; if (!frame) frame = requestAnimationFrame(draw); }
function trace(g, ring, shift) {
  for (let at = 0; at < ring.length; at += 2) { const x = px(ring[at] + shift), y = py(ring[at + 1]); if (at) g.lineTo(x, y); else g.moveTo(x, y); }
  g.closePath();
}
function ground(g) {
  g.fillStyle = paper.sea; g.fillRect(0, 0, size[0], size[1]);
  g.save(); g.beginPath(); g.rect(0, py(90), size[0], 180 * view.k); g.clip();
  for (const [rings, fill] of [[data.land.land, paper.land], [data.land.water, paper.sea]]) {
    g.beginPath(); for (const ring of rings) for (const shift of WORLDS) trace(g, ring, shift);
    g.fillStyle = fill; g.fill(); g.strokeStyle = paper.coast; g.lineWidth = 0.8; g.stroke();
  }
  g.restore();
  const step = [30, 15, 10, 5, 2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01].find((d) => d * view.k < 160) || 0.01;
  g.beginPath(); g.lineWidth = 0.6; g.strokeStyle = paper.grid;
  const x0 = lon(0), x1 = lon(size[0]), y0 = Math.max(-90, lat(size[1])), y1 = Math.min(90, lat(0));
  for (let x = Math.ceil(x0 / step) * step; x <= x1; x += step) { g.moveTo(px(x), py(y0)); g.lineTo(px(x), py(y1)); }
  for (let y = Math.ceil(y0 / step) * step; y <= y1; y += step) { g.moveTo(px(x0), py(y)); g.lineTo(px(x1), py(y)); }
  g.stroke();
}
function rectangles(g, ones, { fill, line, thick }) {
  const [w, h] = size;
  for (const one of ones) {
    if (!one.box) continue;
    const b = one.box, y = py(b[3]), dx = width(b) * view.k, dy = (b[3] - b[1]) * view.k;
    for (const shift of WORLDS) {
      const x = px(b[0] + shift);
      if (x > w || y > h || x + dx < 0 || y + dy < 0) continue;
      const c = colour(one.kind);
      if (dx < 3 && dy < 3) { g.globalAlpha = line; g.fillStyle = c; g.fillRect(x - 1.5, y - 1.5, 3, 3); continue; }
      // What covers more than the window, or a tenth of the world, would only tint everything.
      if (fill && !(dx > 3 * w && dy > 3 * h) && (one.area < 6480 || one === chosen)) { g.globalAlpha = fill; g.fillStyle = c; g.fillRect(x, y, dx, dy); }
      g.globalAlpha = line; g.strokeStyle = c; g.lineWidth = thick; g.strokeRect(x, y, dx, dy);
    }
  }
  g.globalAlpha = 1;
}
function draw() {
  frame = 0;
  if (!fresh) {
    ground(behind);
    const many = drawn.length > 300;
    rectangles(behind, drawn, { fill: Math.max(0.01, Math.min(0.12, 12 / (drawn.length || 1))), line: many ? 0.35 : 0.8, thick: many ? 0.7 : 1.2 });
    fresh = true;
  }
  context.setTransform(1, 0, 0, 1, 0, 0); context.drawImage(back, 0, 0);
  const ratio = window.devicePixelRatio || 1; context.setTransform(ratio, 0, 0, ratio, 0, 0);
  rectangles(context, [hovered, chosen].filter(Boolean), { fill: 0.25, line: 1, thick: 3 });
  if (here) { context.strokeStyle = paper.ink; context.lineWidth = 2; context.beginPath(); context.arc(px(here[0]), py(here[1]), 6, 0, 7); context.stroke(); }
}
function pick(x, y) {
  const at = [turn(lon(x)), lat(y)];
  if (Math.abs(at[1]) > 90) return;
  here = at; apply(); if (shown.length) choose(shown[0], { zoom: false });
}
followHands(canvas, canvas, {
  step: () => 60,
  point(at) { $("place").textContent = `${where([turn(lon(at[0])), lat(at[1])])}Land: Natural Earth 1:110m.`; },
  move(x, y) { view.x -= x / view.k; view.y += y / view.k; hold(); paint(); },
  zoom(factor, at) { zoom(factor, ...at); },
  world,
  pick(at) { pick(...at); },
  forget() { here = null; apply(); },
});
$("in").addEventListener("click", () => zoom(1.6)); $("out").addEventListener("click", () => zoom(1 / 1.6)); $("home").addEventListener("click", world);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { ink(); paint(); });
new ResizeObserver(() => { fit(); hold(); paint(); list(); }).observe(canvas);
ink(); fit(); world(); apply(); begin();
document.documentElement.dataset.ready = "1";
