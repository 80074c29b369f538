// While one types an interest, what it would have found stands below it.

for (const block of document.querySelectorAll("[data-matches]")) {
  const place = block.querySelector("[data-found]");
  if (!place) continue;
  let waiting = 0, asked = 0;

  async function look() {
    const number = ++asked, query = new URLSearchParams();
    for (const input of block.querySelectorAll("input[name]")) {
      if (input.value.trim()) query.set(input.name.slice(block.dataset.prefix.length), input.value);
    }
    if (!query.size) return place.replaceChildren();
    const answer = await fetch(`${block.dataset.matches}?${query}`).catch(() => null);
    if (!answer?.ok || number !== asked) return;
    const made = new DOMParser().parseFromString(await answer.text(), "text/html");
    place.replaceChildren(...(made.getElementById("found")?.childNodes ?? []));
  }

  block.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(look, 250); });
  look();
}
