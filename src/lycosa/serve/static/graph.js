// Draws a graph that the server laid out: zoom, pan, search, filter by kind, click and keys lead on.

const box = document.getElementById("graph");
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c8c8c", "#6a51a3"];

if (box) start(JSON.parse(document.getElementById("graph-data").content.textContent));

function start(data) {
  const { nodes, edges } = data.part;
  const canvas = box.querySelector("canvas");
  const said = box.querySelector("#said");
  const pen = canvas.getContext("2d");
  const kinds = [...box.querySelectorAll("input.kind")];
  const colours = new Map(kinds.map((input, at) => [input.value, COLOURS[at % COLOURS.length]]));
  const near = nodes.map(() => []);
  edges.forEach(([a, b]) => { near[a].push(b); near[b].push(a); });
  let view = { x: 0.5, y: 0.5, scale: 1 };
  let chosen = -1, found = new Set(), hidden = new Set(), drag = null, waits = false;

  box.hidden = false;
  kinds.forEach((input) => {
    const swatch = input.parentElement.querySelector(".swatch");
    swatch.style.setProperty("background", colours.get(input.value));
    input.addEventListener("change", () => {
      hidden = new Set(kinds.filter((each) => !each.checked).map((each) => each.value));
      draw();
    });
  });

  const isShown = (at) => !hidden.has(nodes[at].kind);
  const size = () => Math.min(canvas.clientWidth, canvas.clientHeight) * 0.94 * view.scale;
  const place = (node) => [
    (node.x - view.x) * size() + canvas.clientWidth / 2, (node.y - view.y) * size() + canvas.clientHeight / 2,
  ];
  const radius = (node) => (2 + Math.min(Math.sqrt(node.degree), 9)) * Math.min(1.6, Math.sqrt(view.scale));

  function draw() {
    if (waits) return;
    waits = true;
    requestAnimationFrame(() => { waits = false; paint(); });
  }

  function paint() {
    const ratio = devicePixelRatio || 1;
    canvas.width = canvas.clientWidth * ratio;
    canvas.height = canvas.clientHeight * ratio;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    const style = getComputedStyle(document.documentElement);
    const ink = style.getPropertyValue("--ink").trim(), line = style.getPropertyValue("--soft").trim();
    const at = nodes.map(place);
    pen.lineWidth = 1;
    pen.strokeStyle = line;
    pen.globalAlpha = edges.length > 3000 ? 0.15 : 0.45;
    pen.beginPath();
    for (const [a, b] of edges) if (isShown(a) && isShown(b)) { pen.moveTo(...at[a]); pen.lineTo(...at[b]); }
    pen.stroke();
    pen.globalAlpha = 1;
    if (chosen >= 0) {
      pen.strokeStyle = ink;
      pen.beginPath();
      for (const other of near[chosen]) if (isShown(other)) { pen.moveTo(...at[chosen]); pen.lineTo(...at[other]); }
      pen.stroke();
    }
    const beside = chosen >= 0 ? new Set(near[chosen]) : null;
    nodes.forEach((node, n) => {
      if (!isShown(n)) return;
      const faint = (found.size && !found.has(n)) || (beside && n !== chosen && !beside.has(n));
      pen.globalAlpha = faint ? 0.25 : 1;
      pen.fillStyle = colours.get(node.kind) ?? COLOURS[7];
      pen.beginPath();
      pen.arc(...at[n], radius(node), 0, 7);
      pen.fill();
      if (n === chosen || found.has(n)) { pen.strokeStyle = ink; pen.lineWidth = 2; pen.stroke(); }
    });
    pen.globalAlpha = 1;
    pen.fillStyle = ink;
    pen.font = "12px system-ui, sans-serif";
    const named = nodes.map((_, n) => n).filter((n) => isShown(n) && isInside(at[n]));
    named.sort((a, b) => weight(b) - weight(a));
    const taken = []; // the boxes of the labels so far, none of which covers another
    const ground = style.getPropertyValue("--card").trim();
    for (const n of named.slice(0, 300)) {
      if (taken.length > 60) break;
      const text = shorten(nodes[n].label), width = pen.measureText(text).width, gap = radius(nodes[n]) + 3;
      const [x, y] = at[n], before = x - gap - width;
      const left = x + gap + width <= canvas.clientWidth || before < 0 ? x + gap : before;
      if (left + width > canvas.clientWidth && n !== chosen) continue;
      if (taken.some(([u, v, w]) => u < left + width + 4 && left < u + w + 4 && Math.abs(v - y) < 15)) continue;
      taken.push([left, y, width]);
      pen.lineWidth = 3;
      pen.strokeStyle = ground;
      pen.strokeText(text, left, y + 4);
      pen.fillText(text, left, y + 4);
    }
  }

  // The end of an address tells more than its beginning.
  function shorten(label) {
    const letters = [...label.replace(/^https?:\/\//, "")];
    if (letters.length <= 28) return letters.join("");
    return /^https?:/.test(label) ? `…${letters.slice(-27).join("")}` : `${letters.slice(0, 27).join("")}…`;
  }

  const weight = (n) => nodes[n].degree + (n === chosen ? 1e9 : 0) + (found.has(n) ? 1e8 : 0);
  const isInside = ([x, y]) => x >= 0 && y >= 0 && x <= canvas.clientWidth && y <= canvas.clientHeight;

  function choose(n) {
    chosen = n;
    const node = nodes[n];
    said.textContent = node ? `${node.label} · ${node.kind} · ${node.degree} ${said.dataset.links} · ${node.key}` : "";
    if (node) {
      const [x, y] = place(node);
      if (!isInside([x, y])) { view.x = node.x; view.y = node.y; }
    }
    draw();
  }

  function zoom(factor, x = canvas.clientWidth / 2, y = canvas.clientHeight / 2) {
    const before = [(x - canvas.clientWidth / 2) / size(), (y - canvas.clientHeight / 2) / size()];
    view.scale = Math.min(Math.max(view.scale * factor, 0.5), 80);
    const after = [(x - canvas.clientWidth / 2) / size(), (y - canvas.clientHeight / 2) / size()];
    view.x += before[0] - after[0];
    view.y += before[1] - after[1];
    draw();
  }

  function nearest(x, y) {
    let best = -1, least = 18;
    nodes.forEach((node, n) => {
      if (!isShown(n)) return;
      const [u, v] = place(node);
      const distance = Math.hypot(u - x, v - y) - radius(node);
      if (distance < least) { best = n; least = distance; }
    });
    return best;
  }

  const open = (n) => { if (nodes[n]?.address) location.href = nodes[n].address; };

  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY);
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    drag = { x: event.offsetX, y: event.offsetY, moved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!drag) return;
    const [dx, dy] = [event.offsetX - drag.x, event.offsetY - drag.y];
    if (!drag.moved && Math.hypot(dx, dy) < 4) return;
    view.x -= dx / size();
    view.y -= dy / size();
    drag = { x: event.offsetX, y: event.offsetY, moved: true };
    draw();
  });
  canvas.addEventListener("pointerup", (event) => {
    if (drag && !drag.moved) {
      const n = nearest(event.offsetX, event.offsetY);
      if (n >= 0 && n === chosen) open(n); else choose(n);
    }
    drag = null;
  });
  canvas.addEventListener("dblclick", (event) => open(nearest(event.offsetX, event.offsetY)));

  // Arrow keys go to the neighbour in that direction, or to the nearest node where there is none.
  const WAYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  function go([dx, dy]) {
    if (chosen < 0) { choose(data.table.find(isShown) ?? -1); return; }
    const from = nodes[chosen];
    const among = near[chosen].some(isShown) ? [...new Set(near[chosen])] : nodes.map((_, n) => n);
    let best = -1, least = Infinity;
    for (const n of among) {
      const [x, y] = [nodes[n].x - from.x, nodes[n].y - from.y];
      const along = x * dx + y * dy;
      if (n === chosen || !isShown(n) || along <= 0) continue;
      const cost = Math.hypot(x, y) + 2 * Math.abs(x * dy - y * dx);
      if (cost < least) { best = n; least = cost; }
    }
    if (best >= 0) choose(best);
  }
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (WAYS[event.key]) go(WAYS[event.key]);
    else if (event.key === "+" || event.key === "=") zoom(1.4);
    else if (event.key === "-") zoom(1 / 1.4);
    else if (event.key === "0") reset();
    else if (event.key === "Escape") choose(-1);
    else if (event.key === "Enter") open(chosen);
    else return;
    event.preventDefault();
  });

  function reset() { view = { x: 0.5, y: 0.5, scale: 1 }; draw(); }
  box.querySelector("#closer").addEventListener("click", () => zoom(1.4));
  box.querySelector("#farther").addEventListener("click", () => zoom(1 / 1.4));
  box.querySelector("#whole").addEventListener("click", reset);
  box.querySelector("#find").addEventListener("input", (event) => {
    const words = event.target.value.toLowerCase().trim();
    found = new Set();
    if (words) nodes.forEach((node, n) => { if (`${node.label} ${node.key}`.toLowerCase().includes(words)) found.add(n); });
    if (found.size) choose([...found][0]); else draw();
  });
  document.addEventListener("themechange", draw);
  new ResizeObserver(draw).observe(canvas);
  canvas.dataset.ready = nodes.length;
  draw();
}
