// The rows, from the data blocks in the page, one block at a time.
const facts = JSON.parse(document.getElementById('facts').textContent);
const rows = []; // {row, boxes, picture: [chunk, first, count] or 0, values}
const chunks = new Map(); // number -> base64 texts
const MOST_CHUNKS = 24;
const hues = new Map(); // a box's label -> number of its colour, by where it first comes
const HUES = 5;
const waiting = new Map(); // number -> functions to call when it is there

for (const [number, block] of document.querySelectorAll('[data-kind=pictures]').entries()) {
  chunks.set(number, JSON.parse(block.textContent));
}
const inline = chunks.size > 0;

// Read all blocks, with room for the browser between them; `each` is called after every one.
function readRows(each) {
  const blocks = [...document.querySelectorAll('[data-kind=rows]')];
  const next = () => {
    const block = blocks.shift();
    if (block) {
      const read = JSON.parse(block.textContent);
      block.remove();
      read.rows.forEach((entry, at) => rows.push({ ...entry, picture: read.pictures[at], ...judged(entry) }));
    }
    each(blocks.length === 0);
    if (blocks.length) setTimeout(next);
  };
  next();
}

// What is filtered by, once for each row.
function judged({ row, boxes = [] }) {
  for (const [, , , , label] of boxes) if (!hues.has(label)) hues.set(label, hues.size % HUES);
  const sure = Object.values(row.confidence || {});
  return {
    values: facts.facets.map((path) => [...new Set(valuesAt(row.output, path))]),
    sure: sure.length ? Math.min(...sure) : null,
    text: [row.key, row.group, ...(row.keys || [])].join(' ').toLowerCase(),
  };
}

// All values at a path of keys; lists are passed through.
function valuesAt(value, path) {
  if (Array.isArray(value)) return value.flatMap((inner) => valuesAt(inner, path));
  if (path.length === 0) return value === null || typeof value === 'object' ? [] : [String(value)];
  if (value === null || typeof value !== 'object' || !Object.hasOwn(value, path[0])) return [];
  return valuesAt(value[path[0]], path.slice(1));
}

// A chunk beside the page is a script that calls this.
window.zeroshiftThumbs = (number, texts) => {
  chunks.set(number, texts);
  for (const oldest of chunks.keys()) {
    if (chunks.size <= MOST_CHUNKS) break;
    chunks.delete(oldest);
  }
  for (const call of waiting.get(number) || []) call();
  waiting.delete(number);
};

// The picture `number` of a row as an address, given to `use` at once or when its chunk is there.
function picture(entry, number, use) {
  const [chunk, first] = entry.picture;
  const give = () => use(`data:image/webp;base64,${chunks.get(chunk)[first + number]}`);
  if (chunks.has(chunk)) {
    give();
    return;
  }
  if (inline) return;
  if (waiting.has(chunk)) {
    waiting.get(chunk).push(give);
    return;
  }
  waiting.set(chunk, [give]);
  const script = document.createElement('script');
  script.src = `report-thumbs-${String(chunk).padStart(5, '0')}.js`;
  script.onload = () => script.remove();
  script.onerror = () => {
    script.remove();
    waiting.delete(chunk);
  };
  document.head.append(script);
}
