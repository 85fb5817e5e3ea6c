// Read the rows, show the first ones at once, and offer the filters when all are there.
function refilter() {
  const list = chosen();
  sayCount(list.length, false);
  fill(list);
}

let typing = 0;
query.addEventListener('input', () => {
  clearTimeout(typing);
  typing = setTimeout(refilter, 120);
});

document.getElementById('tools').hidden = false;
readRows((done) => {
  if (done) {
    makeFilters();
    refilter();
    return;
  }
  sayCount(0, true);
  if (!shown.length) fill(rows.slice());
});
