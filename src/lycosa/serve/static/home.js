// The list of collections, read again while one of them grows and somebody looks.

async function refresh() {
  const list = document.getElementById("collections");
  if (!list || document.hidden || list.contains(document.activeElement) || !list.querySelector("[data-running]")) return;
  try {
    const answer = await fetch(`/${location.search}`, { headers: { accept: "text/html" } });
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const found = page.getElementById("collections");
    if (found && found.innerHTML !== list.innerHTML) list.replaceChildren(...found.childNodes);
  } catch { /* the server was ended; the next time it may be there again */ }
}

setInterval(refresh, 4000);
