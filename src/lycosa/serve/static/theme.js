// The colours that the reader chose, set before the page is drawn; without a choice the system's count.
(() => {
  try {
    const chosen = localStorage.getItem("theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch { /* storage is switched off */ }
})();
