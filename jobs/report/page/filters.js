// Which rows are shown: selects for what can be chosen from, and a search in keys.
const query = document.getElementById('query');
const choices = document.getElementById('choices');
const counted = document.getElementById('counted');
const SURE = [['below 50 %', 0, 0.5], ['50 to 80 %', 0.5, 0.8], ['80 to 95 %', 0.8, 0.95], ['95 % and above', 0.95, 2]];
const filters = []; // {select, holds(entry, value)}

const spoken = (text) => text.charAt(0).toUpperCase() + text.slice(1).replaceAll('_', ' ');
const number = (value) => value.toLocaleString('en-US');

function tally(list) {
  const found = new Map();
  for (const value of list) found.set(value, (found.get(value) || 0) + 1);
  return [...found].sort((one, other) => other[1] - one[1]);
}

// A select with a line for each value, kept out when there is nothing to choose.
function offer(name, counts, holds) {
  if (counts.length < 1) return;
  const select = document.createElement('select');
  select.setAttribute('aria-label', `Filter by ${name.toLowerCase()}`);
  select.append(new Option(`${name}: any`, ''));
  for (const [value, count, label] of counts.slice(0, 200)) {
    select.append(new Option(`${label || spoken(value)} (${number(count)})`, `=${value}`));
  }
  select.addEventListener('change', () => {
    select.classList.toggle('set', select.value !== '');
    refilter();
  });
  filters.push({ select, holds });
  choices.append(select);
}

// Once all rows are read.
function makeFilters() {
  const states = tally(rows.map(({ row }) => row.status));
  if (states.length > 1) {
    const named = states.map(([value, count]) => [value, count, value === 'ok' ? 'Answered' : 'Error']);
    offer('Outcome', named, (entry, value) => entry.row.status === value);
  }
  facts.facets.forEach((path, at) => {
    const same = facts.facets.filter((other) => other.at(-1) === path.at(-1));
    const name = spoken(same.length > 1 ? path.join(' ') : path.at(-1));
    offer(name, tally(rows.flatMap((entry) => entry.values[at])), (entry, value) => entry.values[at].includes(value));
  });
  const codes = tally(rows.filter(({ row }) => row.error).map(({ row }) => row.error.code));
  offer('Error', codes.map(([code, count]) => [code, count, code]), (entry, value) => entry.row.error?.code === value);
  const within = (entry, at) => entry.sure !== null && entry.sure >= SURE[at][1] && entry.sure < SURE[at][2];
  const sure = SURE.map(([label], at) => [String(at), rows.filter((entry) => within(entry, at)).length, label]);
  offer('Confidence', sure.filter(([, count]) => count), (entry, value) => within(entry, Number(value)));
}

// The rows that all filters hold for.
function chosen() {
  const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
  const set = filters.filter(({ select }) => select.value !== '');
  return rows.filter(
    (entry) =>
      words.every((word) => entry.text.includes(word)) &&
      set.every(({ select, holds }) => holds(entry, select.value.slice(1))),
  );
}

function sayCount(shown, reading) {
  const all = facts.rows - facts.left_out;
  counted.setAttribute('aria-busy', String(reading)); // not said aloud block by block
  if (reading) counted.textContent = `Reading ${number(rows.length)} of ${number(all)}`;
  else if (shown === rows.length) counted.textContent = `${number(shown)} ${shown === 1 ? 'row' : 'rows'}`;
  else counted.textContent = `${number(shown)} of ${number(rows.length)} rows`;
}
