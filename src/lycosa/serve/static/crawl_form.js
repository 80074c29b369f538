// The form of a crawl: settings of a job that is not chosen are put away, files fill fields, an address is tried at once.

const form = document.getElementById("crawl-form");
const jobs = [...form.querySelectorAll("input[name=mission]")];

function showOwn() {
  for (const part of form.querySelectorAll("[data-own]")) {
    const job = jobs.find((one) => one.value === part.dataset.own);
    part.hidden = Boolean(job && !job.checked);
  }
}

jobs.forEach((job) => job.addEventListener("change", showOwn));
showOwn();

for (const input of form.querySelectorAll("input[type=file]")) {
  input.parentElement.hidden = false;
  input.addEventListener("change", async () => {
    const place = form.elements[input.dataset.into];
    if (input.files[0]) place.value = `${place.value}\n${await input.files[0].text()}`.trim();
  });
}

const tried = document.getElementById("tried");
const verdict = document.getElementById("verdict");
const start = form.querySelector("button.main");
let waits = 0;

async function tryAddress() {
  if (!tried.value) return verdict.replaceChildren();
  const body = new URLSearchParams(new FormData(form));
  body.set("do", "try");
  const answer = await fetch(form.action, { method: "POST", body });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const found = page.getElementById("verdict"), wrong = page.querySelector("#trial .complaint, .complaint");
  verdict.replaceChildren(...(found?.childNodes.length > 1 ? found.childNodes : wrong ? [wrong] : []));
}

form.addEventListener("input", () => {
  clearTimeout(waits);
  if (tried.value) waits = setTimeout(() => tryAddress().catch(() => {}), 600);
});
form.addEventListener("keydown", (event) => {  // Enter starts the crawl, or tries the address, whatever button is first
  if (event.key !== "Enter" || event.target.tagName !== "INPUT") return;
  event.preventDefault();
  if (event.target === tried) tryAddress().catch(() => {});
  else start.click();
});
