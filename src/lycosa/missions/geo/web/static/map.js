// The map: moved and zoomed by dragging, wheel, two fingers and keys; a click tells what is there. The server draws it.
import { followHands, turn } from "./map_hands.js";
const box = document.getElementById("mapbox");
const svg = box?.querySelector("svg.map");
if (svg) {
  const view = Object.fromEntries(["x", "y", "width", "height"].map((side) => [side, svg.viewBox.baseVal[side]]));
  const mercator = svg.dataset.projection === "mercator";
  const edge = mercator ? 180 : 90;
  const names = [...document.querySelectorAll("#drawn > li")];
  const shapes = names.map((name) => name.dataset.box.split(",").map(Number));
  const latitude = (y) => (mercator ? (Math.atan(Math.sinh((-y * Math.PI) / 180)) * 180) / Math.PI : -y);

  // What the window shows: the view box in the middle, and more of the world where the window is wider or higher.
  function scale() {
    const { width, height } = svg.getBoundingClientRect();
    const perPixel = Math.max(view.width / width, view.height / height);
    return { perPixel, left: view.x - (width * perPixel - view.width) / 2, top: view.y - (height * perPixel - view.height) / 2, width: width * perPixel, height: height * perPixel };
  }
  function place([x, y]) {
    const shown = scale();
    return [shown.left + x * shown.perPixel, shown.top + y * shown.perPixel];
  }

  let waiting = 0;
  function apply() {
    view.width = Math.min(view.width, 360);
    view.y = Math.min(edge - view.height * 0.2, Math.max(-edge - view.height * 0.8, view.y));
    const centre = turn(view.x + view.width / 2);
    view.x = centre - view.width / 2;
    svg.setAttribute("viewBox", `${view.x} ${view.y} ${view.width} ${view.height}`);
    clearTimeout(waiting);
    waiting = setTimeout(settle, 250);
  }
  function settle() {
    const here = new URL(location.href);
    const sides = [view.x, latitude(view.y + view.height), view.x + view.width, latitude(view.y)];
    here.searchParams.set("box", sides.map((side) => side.toFixed(4)).join(","));
    history.replaceState(null, "", here);
    if (box.dataset.tiles) drawTiles(box.dataset.tiles);
  }
  function drawTiles(address) {
    const shown = scale();
    const depth = Math.max(0, Math.min(19, Math.round(Math.log2((360 * 4) / shown.width))));
    const count = 2 ** depth, side = 360 / count, group = document.getElementById("tiles");
    const kept = new Map([...group.children].map((image) => [image.getAttribute("href") + image.getAttribute("x"), image]));
    const fresh = [];
    for (let column = Math.floor((shown.left + 180) / side); column <= Math.floor((shown.left + shown.width + 180) / side); column++) {
      for (let row = Math.max(0, Math.floor((shown.top + 180) / side)); row <= Math.min(count - 1, Math.floor((shown.top + shown.height + 180) / side)); row++) {
        if (fresh.length > 100) break;
        const href = address.replace("{z}", depth).replace("{x}", ((column % count) + count) % count).replace("{y}", row);
        const x = String(column * side - 180);
        let image = kept.get(href + x);
        if (!image) {
          image = document.createElementNS("http://www.w3.org/2000/svg", "image");
          for (const [name, value] of Object.entries({ href, x, y: row * side - 180, width: side, height: side })) image.setAttribute(name, value);
        }
        fresh.push(image);
      }
    }
    group.replaceChildren(...fresh);
  }
  function zoom(factor, at = [view.x + view.width / 2, view.y + view.height / 2]) {
    if (!factor) Object.assign(view, { x: -180, y: -edge, width: 360, height: 2 * edge });
    else {
      factor = Math.max(factor, 0.02 / view.width);
      factor = Math.min(factor, 360 / view.width);
      view.x = at[0] - (at[0] - view.x) * factor; view.y = at[1] - (at[1] - view.y) * factor;
      view.width *= factor; view.height *= factor;
    }
    apply();
  }

  const picked = document.getElementById("picked");
  function pick([x, y]) {
    const lon = turn(x), lat = latitude(y), room = scale().perPixel * 6;
    const holds = ([west, south, east, north]) => lat >= south - room && lat <= north + room
      && (west <= east ? lon >= west - room && lon <= east + room : lon >= west - room || lon <= east + room);
    const found = names.filter((_, nth) => holds(shapes[nth]));
    const list = document.createElement("ul"), head = document.createElement("p");
    list.className = "links";
    list.append(...found.reverse().slice(0, 50).map((name) => name.cloneNode(true)));
    head.textContent = found.length ? picked.dataset.here : picked.dataset.none;
    picked.replaceChildren(head, list);
    picked.hidden = false;
  }

  followHands(svg, box, {
    step: () => view.width / 8 / scale().perPixel,
    move(x, y) { const { perPixel } = scale(); view.x -= x * perPixel; view.y -= y * perPixel; apply(); },
    zoom(factor, at) { zoom(1 / factor, place(at)); },
    world() { zoom(0); },
    pick(at) { pick(place(at)); },
  });
  for (const button of box.querySelectorAll("[data-zoom]")) {
    button.addEventListener("click", (event) => { event.preventDefault(); zoom(Number(button.dataset.zoom)); });
  }
  document.documentElement.dataset.map = "ready";
}
