// The gallery: only the cards in view exist, at places computed from a fixed card height.
const gallery = document.getElementById('gallery');
const GAP = 18;
const LEAST_WIDTH = 150;
const USUAL_WIDTH = 176;
const ROWS_BEYOND = 2;
const SETTLE_MS = 50;
const cards = new Map(); // place in `shown` -> element
let shown = [];
let active = 0; // the card that the keyboard is at
let grid = { columns: 1, width: 200, height: 200 };

function measure() {
  const whole = gallery.clientWidth;
  const least = whole < 600 ? LEAST_WIDTH : USUAL_WIDTH;
  const columns = Math.max(1, Math.floor((whole + GAP) / (least + GAP)));
  const width = (whole - GAP * (columns - 1)) / columns;
  grid = { columns, width, height: Math.round(width * 0.75) + 53 };
  gallery.style.height = `${Math.max(1, Math.ceil(shown.length / columns)) * (grid.height + GAP)}px`;
}

// Show these rows; a card stays when its row is where it was.
function fill(list) {
  for (const [at, made] of cards) {
    if (list[at] === shown[at]) {
      made.setAttribute('aria-setsize', list.length);
    } else {
      made.remove();
      cards.delete(at);
    }
  }
  shown = list;
  active = Math.min(active, Math.max(0, shown.length - 1));
  gallery.querySelector('.empty')?.remove();
  measure();
  if (!shown.length) gallery.append(element('p', { className: 'empty', textContent: 'No row fits these filters.' }));
  place();
}

// Make what has come into view, take away what has left it.
function place() {
  const top = -gallery.getBoundingClientRect().top;
  const step = grid.height + GAP;
  const first = Math.max(0, (Math.floor(top / step) - ROWS_BEYOND) * grid.columns);
  // The first rows are there before they are in view: for whoever comes by keyboard, or by ear.
  const below = Math.max(0, Math.ceil((top + innerHeight) / step)) + ROWS_BEYOND;
  const last = Math.min(shown.length, below * grid.columns);
  for (const [at, made] of cards) {
    if ((at < first || at >= last) && !made.contains(document.activeElement)) {
      made.remove();
      cards.delete(at);
    }
  }
  let after = null; // from the last to the first, so that each knows what it stands before
  for (let at = last - 1; at >= first; at -= 1) {
    if (!cards.has(at)) add(at, after);
    after = cards.get(at);
  }
  if (!cards.has(active) && cards.size) active = Math.min(...cards.keys());
  for (const [at, made] of cards) made.firstChild.tabIndex = at === active ? 0 : -1;
}

function add(at, after) {
  const made = element('div', {}, card(shown[at], at));
  made.setAttribute('role', 'listitem');
  made.setAttribute('aria-setsize', shown.length);
  made.setAttribute('aria-posinset', at + 1);
  stand(made, at);
  cards.set(at, made);
  gallery.insertBefore(made, after);
}

function stand(made, at) {
  const x = (at % grid.columns) * (grid.width + GAP);
  const y = Math.floor(at / grid.columns) * (grid.height + GAP);
  made.style.width = `${grid.width}px`;
  made.style.height = `${grid.height}px`;
  made.style.transform = `translate(${x}px, ${y}px)`;
}

function card(entry, at) {
  const said = element('b', { textContent: outcome(entry), className: entry.row.error ? 'bad' : '' });
  const sure = entry.sure === null ? '' : ` · ${Math.round(entry.sure * 100)} %`;
  const name = element('span', { textContent: nameOf(entry) + sure });
  const button = element('button', { className: 'card', type: 'button' }, mat(entry), element('span', { className: 'caption' }, said, name));
  button.setAttribute('aria-label', `${nameOf(entry)}: ${outcome(entry)}`);
  button.addEventListener('click', () => {
    active = at;
    view(at);
  });
  return button;
}

// Move the keyboard to a card, and the page with it.
function goTo(at) {
  active = Math.max(0, Math.min(shown.length - 1, at));
  const y = Math.floor(active / grid.columns) * (grid.height + GAP);
  const bounds = gallery.getBoundingClientRect();
  const head = document.getElementById('tools').getBoundingClientRect().height + 12;
  if (bounds.top + y < head) scrollBy(0, bounds.top + y - head);
  if (bounds.top + y + grid.height > innerHeight) scrollBy(0, bounds.top + y + grid.height - innerHeight + 12);
  place();
  cards.get(active)?.firstChild.focus({ preventScroll: true });
}

gallery.addEventListener('keydown', (event) => {
  const page = grid.columns * Math.max(1, Math.floor(innerHeight / (grid.height + GAP)));
  const moves = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -grid.columns, ArrowDown: grid.columns, PageUp: -page, PageDown: page, Home: -shown.length, End: shown.length };
  if (!Object.hasOwn(moves, event.key) || !shown.length) return;
  event.preventDefault();
  goTo(active + moves[event.key]);
});

let due = 0;
let before = scrollY;
function scrolled() {
  due = 0;
  const passed = Math.abs(scrollY - before);
  before = scrollY;
  // What flies past is not made at all: it would be gone before it was seen.
  if (passed > innerHeight) due = setTimeout(scrolled, SETTLE_MS);
  else place();
}
addEventListener('scroll', () => {
  if (!due) due = requestAnimationFrame(scrolled);
}, { passive: true });
new ResizeObserver(() => {
  measure();
  for (const [at, made] of cards) stand(made, at);
  place();
}).observe(gallery);
