// On a narrow screen the filters begin closed, so that the list comes first.

if (matchMedia("(max-width: 60rem)").matches) {
  for (const facet of document.querySelectorAll(".facets details")) {
    if (!facet.querySelector("[aria-current]")) facet.open = false;
  }
}
