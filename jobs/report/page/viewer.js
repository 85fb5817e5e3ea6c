// One row large: picture with boxes, zoom, and everything the row says.
const viewer = document.getElementById('viewer');
const stage = document.getElementById('stage');
const side = document.getElementById('side');
const ZOOMS = [1, 1.5, 2, 3, 4, 6, 8];
const LETTERS_PX = 13; // of the boxes' names, at every zoom
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
  document.getElementById('boxes').hidden = !entry.boxes?.length;
  side.replaceChildren(...said(entry));
  side.scrollTop = 0;
  if (!viewer.open) viewer.showModal();
  zoomTo(0);
}

// What lies at `point`, from the stage's corner, stays there; its middle without one.
function zoomTo(step, point = [stage.clientWidth / 2, stage.clientHeight / 2]) {
  zoom = Math.max(0, Math.min(ZOOMS.length - 1, step));
  const held = [stage.scrollLeft + point[0], stage.scrollTop + point[1]];
  const before = [stage.scrollWidth, stage.scrollHeight];
  for (const each of stage.children) {
    each.style.minWidth = `${ZOOMS[zoom] * 100}%`;
    each.style.minHeight = `${ZOOMS[zoom] * 100}%`;
  }
  stage.scrollLeft = (held[0] * stage.scrollWidth) / before[0] - point[0];
  stage.scrollTop = (held[1] * stage.scrollHeight) / before[1] - point[1];
  stage.classList.toggle('zoomed', zoom > 0);
  document.getElementById('zoom').textContent = `${Math.round(ZOOMS[zoom] * 100)} %`;
  fitLetters();
  document.getElementById('zoom-out').disabled = zoom === 0;
  document.getElementById('zoom-in').disabled = zoom === ZOOMS.length - 1;
}

// The boxes' names are as large as the page's text, whatever the picture's size and zoom.
function fitLetters() {
  for (const svg of stage.querySelectorAll('.boxes')) {
    const { width, height } = svg.viewBox.baseVal;
    const scale = Math.min(svg.clientWidth / width, svg.clientHeight / height);
    svg.style.fontSize = `${LETTERS_PX / scale}px`;
  }
}
new ResizeObserver(fitLetters).observe(stage);

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
  if (row.image) add('Original', `${row.image.width} × ${row.image.height} ${row.image.format.toUpperCase()}`);
  if (row.image) add('Seen by the model', `${row.image.model_width} × ${row.image.model_height}`);
  if (entry.picture) add('Kept here', '');
  sayKept(list.lastChild);
  if (row.usage) add('Tokens', `${number(row.usage.prompt_tokens)} read, ${number(row.usage.output_tokens)} written`);
  if (row.cost_usd) add('Cost', `${row.cost_usd} USD`);
  if (row.warnings) add('Warnings', row.warnings.join(', '));
  const plain = element('pre', { textContent: pretty(row) });
  return [...made, list, element('h3', { textContent: 'Row, without what is empty' }), plain];
}

// The size of the small picture itself, once it is there.
function sayKept(place) {
  const image = stage.querySelector('img');
  if (!image) return;
  const say = () => { place.textContent = `${image.naturalWidth} × ${image.naturalHeight}`; };
  if (image.complete && image.naturalWidth) say();
  else image.addEventListener('load', say, { once: true });
}

function toggleBoxes() {
  const hidden = stage.classList.toggle('bare');
  document.getElementById('boxes').setAttribute('aria-pressed', String(!hidden));
}

const buttons = {
  boxes: toggleBoxes,
  fit: () => zoomTo(0),
  'zoom-in': () => zoomTo(zoom + 1),
  'zoom-out': () => zoomTo(zoom - 1),
  previous: () => view(viewed - 1),
  next: () => view(viewed + 1),
  close: () => viewer.close(),
};
for (const [id, act] of Object.entries(buttons)) document.getElementById(id).addEventListener('click', act);

const keys = { ArrowLeft: 'previous', ArrowRight: 'next', '+': 'zoom-in', '=': 'zoom-in', '-': 'zoom-out', 0: 'fit', b: 'boxes' };
viewer.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const moves = zoom > 0 && event.target === stage && event.key.startsWith('Arrow'); // scrolls it
  if (!Object.hasOwn(keys, event.key) || moves) return;
  event.preventDefault();
  const { disabled, hidden } = document.getElementById(keys[event.key]);
  if (!disabled && !hidden) buttons[keys[event.key]]();
});

// By mouse: the wheel with Ctrl and a double click zoom where they are, dragging moves.
const pointOf = (event) => {
  const bounds = stage.getBoundingClientRect();
  return [event.clientX - bounds.left, event.clientY - bounds.top];
};
stage.addEventListener('dblclick', (event) => zoomTo(zoom ? 0 : 3, pointOf(event)));
stage.addEventListener('wheel', (event) => {
  if (!event.ctrlKey) return;
  event.preventDefault();
  zoomTo(zoom - Math.sign(event.deltaY), pointOf(event));
}, { passive: false });
stage.addEventListener('pointerdown', (event) => {
  if (event.pointerType !== 'mouse' || event.button || !zoom) return;
  stage.setPointerCapture(event.pointerId);
});
stage.addEventListener('pointermove', (event) => {
  if (stage.hasPointerCapture(event.pointerId)) stage.scrollBy(-event.movementX, -event.movementY);
});
viewer.addEventListener('click', (event) => {
  if (event.target === viewer) viewer.close();
});
viewer.addEventListener('close', () => goTo(viewed));
