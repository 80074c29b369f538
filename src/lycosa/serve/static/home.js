// What goes on in the background, read again while somebody looks: home, the work on a collection.

async function refresh() {
  const list = document.querySelector("[data-again]");
  if (!list || document.hidden || list.contains(document.activeElement) || !list.querySelector("[data-running]")) return;
  try {
    const answer = await fetch(location.href, { headers: { accept: "text/html" } });
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const found = page.querySelector("[data-again]");
    if (found && found.innerHTML !== list.innerHTML) list.replaceChildren(...found.childNodes);
  } catch { /* the server was ended; the next time it may be there again */ }
}

setInterval(refresh, 4000);
