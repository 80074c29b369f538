// What hands do to a map: dragging, wheel, two fingers, keys and clicks become calls of `map`, in pixels of its surface.
export function turn(x) { return ((x + 540) % 360 + 360) % 360 - 180; } // the same meridian, from -180 to 180
export function followHands(surface, focused, map) {
  const pointers = new Map();
  let moved = 0, spread = 0;
  const box = () => surface.getBoundingClientRect();
  const place = (event) => [event.clientX - box().left, event.clientY - box().top];
  const middle = () => [box().width / 2, box().height / 2];
  surface.addEventListener("pointerdown", (event) => { surface.setPointerCapture(event.pointerId); pointers.set(event.pointerId, place(event)); moved = 0; spread = 0; });
  surface.addEventListener("pointermove", (event) => {
    const last = pointers.get(event.pointerId), now = place(event);
    if (!last) { map.point?.(now); return; }
    pointers.set(event.pointerId, now);
    if (pointers.size === 2) {
      const [a, b] = [...pointers.values()], apart = Math.hypot(a[0] - b[0], a[1] - b[1]);
      if (spread) map.zoom(apart / spread, [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2]);
      spread = apart; moved = 99; return;
    }
    moved += Math.hypot(now[0] - last[0], now[1] - last[1]);
    if (moved > 4) map.move(now[0] - last[0], now[1] - last[1]);
  });
  surface.addEventListener("pointerup", (event) => { const alone = pointers.size === 1; pointers.delete(event.pointerId); spread = 0; if (alone && moved <= 4) map.pick(place(event)); });
  surface.addEventListener("pointercancel", (event) => { pointers.delete(event.pointerId); spread = 0; });
  surface.addEventListener("wheel", (event) => { event.preventDefault(); map.zoom(Math.exp(-Math.sign(event.deltaY) * Math.min(0.5, Math.abs(event.deltaY) / 300)), place(event)); }, { passive: false });
  focused.addEventListener("keydown", (event) => {
    if (event.target !== focused) return;
    const step = map.step(), move = { ArrowLeft: [step, 0], ArrowRight: [-step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] }[event.key];
    if (move) map.move(...move);
    else if (event.key === "+" || event.key === "=") map.zoom(1 / 0.6, middle());
    else if (event.key === "-") map.zoom(0.6, middle());
    else if (event.key === "0" || event.key === "Home") map.world();
    else if (event.key === "Enter") map.pick(middle());
    else if (event.key === "Escape" && map.forget) map.forget();
    else return;
    event.preventDefault();
  });
}
