// A crawl as it runs: the server sends the parts of the page that changed; a page that nobody sees asks for nothing.

const live = document.getElementById("live");
const lost = document.getElementById("lost");
let source = null;

function replacePart({ part, html }) {
  const place = document.querySelector(`[data-part="${CSS.escape(part)}"]`);
  if (!place) return;
  if (part === "problem") {
    const note = document.createElement("p");
    note.className = "note bad";
    note.textContent = html;
    place.replaceChildren(...(html ? [note] : []));
    return;
  }
  const active = document.activeElement;
  if (place.contains(active) && active.matches("input, button") && place.querySelector("form")
      && place.dataset.seen === undefined) {
    place.dataset.seen = "";  // the first news repeat what the page shows: leave what one is typing
    return;
  }
  place.dataset.seen = "";
  const scrolled = [...place.querySelectorAll("pre")].map((pre) => pre.scrollTop + pre.clientHeight >= pre.scrollHeight - 4 || pre.scrollTop);
  const made = new DOMParser().parseFromString(html, "text/html");
  place.replaceChildren(...made.body.childNodes);
  place.querySelectorAll("pre").forEach((pre, nth) => {
    pre.scrollTop = scrolled[nth] === true || scrolled[nth] === undefined ? pre.scrollHeight : scrolled[nth];
  });
}

function open() {
  if (source) return;
  source = new EventSource(live.dataset.events);
  source.addEventListener("part", (event) => {
    lost.hidden = true;
    replacePart(JSON.parse(event.data));
  });
  source.onopen = () => { lost.hidden = true; };
  source.onerror = () => {
    lost.hidden = false;
    if (source?.readyState !== EventSource.CLOSED) return;
    close();  // it was refused, after which a browser does not ask again
    setTimeout(() => { if (!document.hidden) open(); }, 30_000);
  };
}

function close() {
  source?.close();
  source = null;
}

document.querySelectorAll("pre.log").forEach((pre) => { pre.scrollTop = pre.scrollHeight; });
document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
addEventListener("pagehide", close);
if (!document.hidden) open();
