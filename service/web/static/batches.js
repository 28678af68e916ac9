// Batches: the list, and one batch with its progress, its table and what can be done with it.
import { json, request } from './api.js';
import { add } from './plots/elements.js';
import { save } from './plots/saving.js';
import { time } from './lists.js';

const by = (id) => document.getElementById(id);
const PAGE = 25, ROWS = 100, SECONDS = 10;
const STATES = ['queued', 'running', 'succeeded', 'failed', 'cancelled', 'gone'];

/** The jobs in each state, in words. */
export function countsInWords(counts) {
  return STATES.filter((state) => counts[state]).map((state) => `${counts[state]} ${state}`).join(', ');
}

/** A number for people: five digits, and nothing where there is none. */
export function shown(value) {
  return typeof value === 'number' ? String(Number(value.toPrecision(5))) : value ?? '';
}

/** Columns that are shown: formulas and time scales. Coefficients with their errors are in the CSV. */
export function columnsOf(rows) {
  const all = [...new Set(rows.flatMap((row) => Object.keys(row.values)))];
  const short = all.filter((name) => /^(drift|diffusion)\.[^:]*$/.test(name) || name === 'relaxation_time' || /^passage\.\d+\.mean_time$/.test(name));
  return [...short, ...(all.includes('warnings') ? ['warnings'] : [])];
}

/** Show the list, newest first. */
export async function listBatches(signal, explain) {
  const body = by('batches').querySelector('tbody');
  let cursor = null;
  const load = async () => {
    const { items, next_cursor: next } = await json(`/v1/batches?limit=${PAGE}${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''}`, { signal });
    for (const batch of items) body.append(rowOfBatch(batch));
    cursor = next;
    by('more-batches').hidden = !next;
    const count = body.rows.length;
    by('batches-status').textContent = count ? `${count} ${count === 1 ? 'batch' : 'batches'}${next ? ' shown; there are older ones' : ''}` : 'No batches. Start one from a dataset of several trajectories.';
  };
  by('more-batches').onclick = () => load().catch((error) => { if (error.name !== 'AbortError') explain(error); });
  body.replaceChildren();
  await load();
}

function rowOfBatch(batch) {
  const row = document.createElement('tr');
  add(add(row, 'td'), 'a', '', batch.label ?? batch.id).href = `#/batches/${batch.id}`;
  add(row, 'td', '', batch.kind);
  add(row, 'td', '', String(batch.n_records));
  add(row, 'td', '', countsInWords(batch.counts));
  time(add(row, 'td'), batch.created_at);
  return row;
}

/** Show a batch, and follow it until all its jobs have ended. `reveal` is called once there is something to see. */
export async function followBatch(id, signal, reveal, explain) {
  const address = `/v1/batches/${encodeURIComponent(id)}`, body = by('batch-rows').querySelector('tbody');
  let limit = ROWS, batch = await first(address, limit, signal);
  const draw = () => {
    const { counts, n_records: records, rows } = batch, left = counts.queued + counts.running;
    by('batch-title').textContent = batch.label ?? batch.id;
    by('batch-id').textContent = batch.id;
    by('batch-progress').value = 1 - left / records;
    by('batch-progress').hidden = !left;
    by('batch-status').textContent = `${records} records: ${countsInWords(counts)}`;
    by('batch-retry').hidden = !counts.failed;
    by('batch-cancel').hidden = !counts.queued;
    by('batch-delete').hidden = left > 0;
    by('batch-more').hidden = !batch.next_cursor;
    const columns = columnsOf(rows), head = by('batch-rows').querySelector('thead tr');
    head.replaceChildren();
    for (const name of ['record', 'state', ...columns]) add(head, 'th', '', name.replaceAll('_', ' ')).scope = 'col';
    body.replaceChildren(...rows.map((row) => rowOfRecord(row, columns)));
  };
  const again = async () => { batch = await first(address, limit, signal); draw(); };
  const safely = (act) => () => act().catch((error) => { if (error.name !== 'AbortError') explain(error); });
  by('batch-more').onclick = safely(async () => { limit += ROWS; await again(); });
  by('batch-csv').onclick = safely(async () => save(`${(batch.label ?? id).replace(/[^\w.-]+/g, '_')}.csv`, await (await request(`${address}?format=csv`, { signal })).blob()));
  by('batch-retry').onclick = safely(async () => { await request(`${address}/retry`, { method: 'POST' }); await again(); follow().catch(() => {}); });
  by('batch-cancel').onclick = safely(async () => { await request(`${address}/cancel`, { method: 'POST' }); await again(); });
  by('batch-delete').onclick = safely(async () => {
    if (!confirm('Delete this batch with all its jobs and results?')) return;
    await request(address, { method: 'DELETE' });
    location.hash = '#/batches';
  });
  let following = false;
  const follow = async () => {
    if (following) return;
    following = true;
    try {
      // Looks at once a second at first, and at last as often as a table of many rows can be read.
      for (let pause = 1; batch.counts.queued + batch.counts.running; pause = Math.min(1.5 * pause, SECONDS)) {
        await waited(pause, signal);
        await again();
      }
    } finally {
      following = false;
    }
  };
  draw();
  reveal(batch.label ?? batch.id);
  await follow();
}

/** The batch with its first rows, from as many pages as necessary. */
async function first(address, limit, signal) {
  let rows = [], cursor = null, page;
  do {
    page = await json(`${address}?limit=${Math.min(200, limit - rows.length)}${cursor ? `&cursor=${cursor}` : ''}`, { signal });
    rows = [...rows, ...page.rows];
    cursor = page.next_cursor;
  } while (cursor && rows.length < limit);
  return { ...page, rows };
}

function rowOfRecord(row, columns) {
  const line = document.createElement('tr'), name = add(line, 'td');
  if (row.state) add(name, 'a', '', row.record).href = `#/jobs/${row.job}`;
  else name.textContent = row.record;
  const state = add(line, 'td');
  add(state, 'span', `state ${row.state ?? ''}`, row.state ?? 'no longer kept');
  if (row.error) {
    const why = add(line, 'td', 'note', row.error.detail);
    why.colSpan = Math.max(1, columns.length);
    return line;
  }
  for (const column of columns) add(line, 'td', '', shown(row.values[column]));
  return line;
}

function waited(seconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, 1000 * seconds);
    signal.addEventListener('abort', () => { clearTimeout(timer); reject(new DOMException('left', 'AbortError')); }, { once: true });
  });
}
