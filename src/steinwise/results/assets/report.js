"use strict";
for (const section of document.querySelectorAll("section.searchable")) {
  const table = section.querySelector("table");
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const status = section.querySelector('[role="status"]');
  const search = section.querySelector('input[type="search"]');

  function filter() {
    const wanted = search.value.trim().toLowerCase();
    let shown = 0;
    for (const row of rows) {
      row.hidden = !row.textContent.toLowerCase().includes(wanted);
      if (!row.hidden) shown += 1;
    }
    status.textContent = shown + " of " + rows.length + " rows";
  }

  function sort(header, column) {
    const up = header.getAttribute("aria-sort") !== "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", up ? "ascending" : "descending");
    const key = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent;
    const compare = (a, b) => {
      const one = key(a), other = key(b);
      if (one === "" || other === "") return (one === "") - (other === ""); // not known
      const numbers = one !== "" && other !== "" && !isNaN(one) && !isNaN(other);
      return numbers ? one - other : one.localeCompare(other, undefined, { numeric: true });
    };
    rows.sort((a, b) => (up ? compare(a, b) : compare(b, a)));
    body.append(...rows);
  }

  Array.from(table.tHead.rows[0].cells).forEach((header, column) => {
    const button = header.querySelector("button");
    if (button) button.addEventListener("click", () => sort(header, column));
  });
  search.addEventListener("input", filter);
  filter();
}
