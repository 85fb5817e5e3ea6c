// One picture with its boxes, and what is said about it in words.
const SVG = 'http://www.w3.org/2000/svg';
const WAIT_MS = 100;

function element(name, properties = {}, ...inside) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...inside);
  return made;
}

function shape(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

const fileName = (key) => key.replace(/\/+$/, '').split('/').at(-1);

function nameOf({ row }) {
  const name = row.group || fileName(row.key);
  if (row.time_s !== undefined) return `${name} at ${row.time_s} s`;
  return row.frame ? `${name}, frame ${row.frame}` : name;
}

// The outcome in a few words: the answer's choices, or the error's code.
function outcome({ row, values }) {
  if (row.error) return row.error.code;
  const said = values.flat();
  if (said.length) return said.map(spoken).join(', ');
  return typeof row.output === 'string' ? row.output : JSON.stringify(row.output);
}

function factsOf({ row }, at) {
  return row.images?.[at] || (at === 0 ? row.image : undefined);
}

// A mat with picture and boxes; `labelled` writes the boxes' names beside them.
function mat(entry, at = 0, labelled = false) {
  const made = element('span', { className: 'mat' });
  if (!entry.picture) {
    made.append(element('span', { className: 'none', textContent: entry.row.error ? 'No picture' : 'No small picture was kept' }));
    return made;
  }
  const boxes = (entry.boxes || []).filter((box) => box[5] === at + 1);
  const image = element('img', { alt: `${nameOf(entry)}: ${outcome(entry)}`, decoding: 'async' });
  const want = () => picture(entry, at, (address) => { image.src = address; });
  // Of what only passes by while scrolling, no chunk is loaded.
  if (chunks.has(entry.picture[0])) want();
  else setTimeout(() => image.isConnected && want(), WAIT_MS);
  image.addEventListener('load', () => made.classList.add('there'), { once: true });
  made.append(image);
  const size = factsOf(entry, at);
  if (size && boxes.length) made.append(drawn(boxes, size, labelled));
  return made;
}

function drawn(boxes, { width, height }, labelled) {
  const svg = shape('svg', { viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true', class: 'boxes' });
  for (const [left, top, right, bottom, label] of boxes) {
    const hue = `hue-${hues.get(label)}`;
    const place = { x: left, y: top, width: Math.max(0, right - left), height: Math.max(0, bottom - top) };
    svg.append(shape('rect', { ...place, class: 'under' }), shape('rect', { ...place, class: hue }));
    if (!labelled) continue;
    const above = top > height / 25;
    const text = shape('text', { x: left, y: above ? top : bottom, dy: above ? '-.4em' : '1.1em', class: hue });
    text.textContent = label.length > 40 ? `${label.slice(0, 39)}…` : label;
    svg.append(text);
  }
  return svg;
}
