// What every page has: the switch between light and dark, and questions before something is done.

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

for (const form of document.querySelectorAll("form[data-confirm]")) {
  form.addEventListener("submit", (event) => {
    if (!confirm(form.dataset.confirm)) event.preventDefault();
  });
}

// A table's rows are sorted by a click on a head that says so; lists of any size sort on the server instead.
for (const table of document.querySelectorAll("table[data-sortable]")) {
  table.querySelectorAll("thead th").forEach((head, column) => {
    if (!head.textContent.trim() || head.dataset.fixed !== undefined) return;
    const sorter = document.createElement("button");
    sorter.type = "button";
    sorter.append(...head.childNodes);
    head.append(sorter);
    sorter.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      table.querySelectorAll("thead th").forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const body = table.tBodies[0];
      const value = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent.trim();
      const rows = [...body.rows].sort((a, b) => {
        const [left, right] = [value(a), value(b)];
        const difference = left - right;
        return Number.isNaN(difference) ? left.localeCompare(right) : difference;
      });
      body.append(...(up ? rows : rows.reverse()));
    });
  });
}
