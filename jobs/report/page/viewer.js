// One row large: picture with boxes, zoom, and everything the row says.
const viewer = document.getElementById('viewer');
const stage = document.getElementById('stage');
const side = document.getElementById('side');
const ZOOMS = [1, 1.5, 2, 3, 4, 6, 8];
let viewed = 0;
let zoom = 0;

function view(at) {
  viewed = Math.max(0, Math.min(shown.length - 1, at));
  const entry = shown[viewed];
  document.getElementById('viewer-title').textContent = nameOf(entry);
  document.getElementById('viewer-place').textContent = `${number(viewed + 1)} of ${number(shown.length)}`;
  document.getElementById('previous').disabled = viewed === 0;
  document.getElementById('next').disabled = viewed === shown.length - 1;
  const count = entry.picture ? entry.picture[2] : 1;
  stage.replaceChildren(...Array.from({ length: count }, (_, each) => mat(entry, each, true)));
  zoomTo(0);
  side.replaceChildren(...said(entry));
  side.scrollTop = 0;
  if (!viewer.open) viewer.showModal();
}

function zoomTo(step) {
  zoom = Math.max(0, Math.min(ZOOMS.length - 1, step));
  const middle = [stage.scrollLeft + stage.clientWidth / 2, stage.scrollTop + stage.clientHeight / 2];
  const before = [stage.scrollWidth, stage.scrollHeight];
  for (const each of stage.children) {
    each.style.minWidth = `${ZOOMS[zoom] * 100}%`;
    each.style.minHeight = `${ZOOMS[zoom] * 100}%`;
  }
  stage.scrollLeft = (middle[0] * stage.scrollWidth) / before[0] - stage.clientWidth / 2;
  stage.scrollTop = (middle[1] * stage.scrollHeight) / before[1] - stage.clientHeight / 2;
  document.getElementById('zoom-out').disabled = zoom === 0;
  document.getElementById('zoom-in').disabled = zoom === ZOOMS.length - 1;
}

// Indented JSON, with lists of plain values on one line; no line end stands within a text.
function pretty(value) {
  const whole = JSON.stringify(value, null, 2);
  return whole.replace(/\[\n\s*([^[\]{}]*?)\n\s*\]/g, (_, inside) => `[${inside.replace(/\n\s*/g, ' ')}]`);
}

// The row in words, and as it stands in the results.
function said(entry) {
  const { row } = entry;
  const made = [element('p', { className: 'key-line' }, element('code', { textContent: row.key }))];
  if (row.error) made.push(element('p', { className: 'wrong', textContent: `${row.error.code}: ${row.error.message}` }));
  const list = element('dl');
  const add = (name, value) => list.append(element('dt', { textContent: name }), element('dd', { textContent: value }));
  facts.facets.forEach((path, at) => {
    if (entry.values[at].length) add(spoken(path.at(-1)), entry.values[at].map(spoken).join(', '));
  });
  if (entry.sure !== null) add('Confidence', `${(entry.sure * 100).toFixed(1)} %`);
  if (row.image) add('Original', `${row.image.width} × ${row.image.height} ${row.image.format}`);
  if (row.usage) add('Tokens', `${number(row.usage.prompt_tokens)} + ${number(row.usage.output_tokens)}`);
  if (row.cost_usd) add('Cost', `${row.cost_usd} USD`);
  if (row.warnings) add('Warnings', row.warnings.join(', '));
  const plain = element('pre', { textContent: pretty(row) });
  return [...made, list, element('h3', { textContent: 'Row, without what is empty' }), plain];
}

const buttons = {
  'zoom-in': () => zoomTo(zoom + 1),
  'zoom-out': () => zoomTo(zoom - 1),
  previous: () => view(viewed - 1),
  next: () => view(viewed + 1),
  close: () => viewer.close(),
};
for (const [id, act] of Object.entries(buttons)) document.getElementById(id).addEventListener('click', act);

const keys = { ArrowLeft: 'previous', ArrowRight: 'next', '+': 'zoom-in', '=': 'zoom-in', '-': 'zoom-out' };
viewer.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const moves = zoom > 0 && event.target === stage && event.key.startsWith('Arrow'); // scrolls it
  if (!Object.hasOwn(keys, event.key) || moves) return;
  event.preventDefault();
  if (!document.getElementById(keys[event.key]).disabled) buttons[keys[event.key]]();
});
viewer.addEventListener('click', (event) => {
  if (event.target === viewer) viewer.close();
});
viewer.addEventListener('close', () => goTo(viewed));
