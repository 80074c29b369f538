// What every page has: the switch between light and dark, forms that are sent once, filters and tabs on narrow screens.

const button = document.getElementById("theme");

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function nameTheme() {
  button.title = isDark() ? button.dataset.light : button.dataset.dark;
  button.querySelector(".unseen").textContent = button.title;
}

if (button) {
  button.hidden = false;
  nameTheme();
  button.addEventListener("click", () => {
    const theme = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    try { localStorage.setItem("theme", theme); } catch { /* it lasts as long as the page */ }
    nameTheme();
    document.dispatchEvent(new CustomEvent("themechange"));
  });
}

// A form that changes something is sent once, however often its button is pressed; a crawl may be stopped twice, at once.
const sent = new WeakMap();
addEventListener("submit", (event) => {
  const form = event.target, button = event.submitter ?? form;  // a field of the same name hides a property of the form
  if (form.getAttribute("method") !== "post" || form.getAttribute("action")?.endsWith("/crawl/stop")) return;
  if (event.timeStamp - (sent.get(button) ?? -Infinity) < 10_000) event.preventDefault();
  else sent.set(button, event.timeStamp);
});

// On a narrow screen the filters begin closed, so that the list comes first.
if (matchMedia("(max-width: 60rem)").matches) {
  for (const facet of document.querySelectorAll(".facets details")) {
    if (!facet.querySelector("[aria-current]")) facet.open = false;
  }
}

// Tabs that do not fit are scrolled so far that the current one is seen.
for (const tab of document.querySelectorAll(".tabs [aria-current]")) {
  const row = tab.closest(".tabs");
  row.scrollLeft = tab.offsetLeft - row.offsetLeft - (row.clientWidth - tab.offsetWidth) / 2;
}
