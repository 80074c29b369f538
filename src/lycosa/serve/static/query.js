// The editor of queries: Ctrl+Enter asks, names of tables and columns are completed, what was asked here is kept.

const text = document.getElementById("text");
const names = JSON.parse(document.getElementById("names").content.textContent);
const offered = document.getElementById("offered");
const past = document.getElementById("past");
const key = `queries ${location.pathname}`;
const words = [...new Set([...Object.keys(names), ...Object.values(names).flat()])].sort();

function wordBefore() {
  return /[A-Za-z_]*$/.exec(text.value.slice(0, text.selectionStart))[0];
}

function take(name) {
  const at = text.selectionStart, begin = at - wordBefore().length;
  text.setRangeText(name, begin, at, "end");
  text.focus();
  offer();
}

function offer() {
  const word = wordBefore().toLowerCase();
  const fit = word.length < 2 ? [] : words.filter((name) => name.startsWith(word) && name !== word).slice(0, 8);
  offered.replaceChildren(...fit.map((name) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "small";
    button.textContent = name;
    button.addEventListener("click", () => take(name));
    return button;
  }));
}

function readPast() {
  try { return JSON.parse(localStorage.getItem(key)) ?? []; } catch { return []; }
}

text.addEventListener("input", offer);
text.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) text.form.requestSubmit();
  else if (event.key === "Escape") offered.replaceChildren();
  else if (event.key === "Tab" && !event.shiftKey && offered.firstChild) {
    event.preventDefault();
    take(offered.firstChild.textContent);
  }
});

if (text.value.trim()) {
  const kept = [text.value, ...readPast().filter((one) => one !== text.value)].slice(0, 20);
  try { localStorage.setItem(key, JSON.stringify(kept)); } catch { /* it is not kept */ }
}
for (const one of readPast()) past.append(new Option(one.replace(/\s+/g, " ").slice(0, 100), one));
past.closest(".field").hidden = past.length < 2;
past.addEventListener("change", () => { if (past.value) text.value = past.value; });
