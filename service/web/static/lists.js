// The lists of jobs and of datasets: loading page by page, filtering, choosing two jobs, deleting.
import { json, request } from './api.js';
import { add } from './plots/elements.js';
import { inWords } from './clock.js';

const by = (id) => document.getElementById(id);
const PAGE = 25, MOST_PAGES = 10;

// ---- jobs

/** Show the list, and keep to its filters. Faults go to `explain`. */
export async function listJobs(signal, explain) {
  const body = by('jobs').querySelector('tbody');
  let cursor = null, asked = 0, waiting;
  const files = namesOfFiles(signal);
  // Whoever leaves before the first jobs have come awaits the names no more.
  files.catch(() => {});
  const load = async (anew) => {
    const mine = ++asked, part = by('filter-name').value.trim().toLowerCase(), found = [];
    let next = anew ? null : cursor;
    // The service finds whole names only; of parts, the page looks through what it is sent.
    for (let page = 0; page < (part ? MOST_PAGES : 1) && found.length < PAGE && (page === 0 || next); page++) {
      const query = new URLSearchParams({ limit: String(part ? 200 : PAGE) });
      for (const name of ['state', 'kind']) if (by(`filter-${name}`).value) query.set(name, by(`filter-${name}`).value);
      if (next) query.set('cursor', next);
      const answer = await json(`/v1/jobs?${query}`, { signal });
      const named = await files;
      found.push(...answer.items.map((record) => [record, nameOf(record, named)]).filter(([record, name]) => !part || `${name} ${record.id}`.toLowerCase().includes(part)));
      next = answer.next_cursor;
    }
    if (mine !== asked) return;
    if (anew) body.replaceChildren();
    for (const [record, name] of found) body.append(rowOf(record, name));
    cursor = next;
    by('more').hidden = !next;
    const shown = body.rows.length;
    by('jobs-status').textContent = shown ? `${shown} ${shown === 1 ? 'job' : 'jobs'}${next ? ' shown; there are older ones' : ''}` : `No matching jobs${next ? ' among the newest' : ''}.`;
    chosen();
  };
  const safely = (anew) => load(anew).catch((error) => { if (error.name !== 'AbortError') explain(error); });
  by('filters').onsubmit = (event) => event.preventDefault();
  // Boxes that were checked meanwhile would be lost if the same list came twice.
  by('filters').onchange = () => { clearTimeout(waiting); safely(true); };
  by('filter-name').oninput = () => { clearTimeout(waiting); waiting = setTimeout(() => safely(true), 250); };
  by('more').onclick = () => safely(false);
  by('compare').onclick = () => { location.hash = `#/compare/${marked().join('/')}`; };
  await load(true);
}

/** Names of the files that were uploaded, by dataset: jobs that were sent without a name have theirs. */
async function namesOfFiles(signal) {
  const names = new Map();
  let cursor = null;
  for (let page = 0; page < MOST_PAGES; page++) {
    const { items, next_cursor: next } = await json(`/v1/datasets?limit=200${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''}`, { signal });
    for (const { id, label } of items) if (label) names.set(id, label);
    cursor = next;
    if (!cursor) break;
  }
  return names;
}

function nameOf(record, files) { return record.labels.name ?? files.get(record.dataset) ?? record.id; }

/** Of many windows or parameter sets there is no one table of coefficients, and no one curve to compare. */
export function ofOneModel({ kind }) { return kind === 'identification' || kind === 'generator'; }

function rowOf(record, name) {
  const row = document.createElement('tr'), box = document.createElement('input');
  box.type = 'checkbox';
  box.value = record.id;
  box.disabled = record.state !== 'succeeded' || !ofOneModel(record);
  box.setAttribute('aria-label', `Compare ${name}, ${record.id}`);
  box.addEventListener('change', chosen);
  const took = record.started_at && record.finished_at ? inWords((new Date(record.finished_at) - new Date(record.started_at)) / 1000) : '';
  add(row, 'td').append(box);
  add(add(row, 'td'), 'a', '', name).href = `#/jobs/${record.id}`;
  add(row, 'td', '', record.kind);
  add(add(row, 'td'), 'span', `state ${record.state}`, record.state);
  time(add(row, 'td'), record.created_at);
  add(row, 'td', '', took);
  return row;
}

/** Write when something was, in the reader's own words. */
export function time(cell, at) {
  add(cell, 'time', '', new Date(at).toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' })).dateTime = at;
}

function marked() { return [...by('jobs').querySelectorAll('input:checked')].map((box) => box.value); }
function chosen() { by('compare').disabled = marked().length !== 2; }

// ---- datasets

/** Show what was uploaded, to start a job from it or to delete it. */
export async function listDatasets(signal, explain) {
  const body = by('datasets').querySelector('tbody');
  let cursor = null;
  const load = async () => {
    const { items, next_cursor: next } = await json(`/v1/datasets?limit=${PAGE}${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''}`, { signal });
    for (const dataset of items) body.append(datasetRow(dataset, explain));
    cursor = next;
    by('more-datasets').hidden = !next;
    counted(body, next);
    ready();
  };
  const marked = () => [...body.querySelectorAll('input:checked')].map((box) => box.value);
  const ready = () => { by('analyse-together').disabled = marked().length < 2; };
  body.onchange = ready;
  // Rows are newest first; groups and batches begin with what was uploaded first.
  by('analyse-together').onclick = () => { location.hash = `#/together/${marked().reverse().join('/')}`; };
  by('more-datasets').onclick = () => load().catch((error) => { if (error.name !== 'AbortError') explain(error); });
  body.replaceChildren();
  await load();
}

function counted(body, next) {
  const shown = body.rows.length;
  by('datasets-status').textContent = shown ? `${shown} ${shown === 1 ? 'dataset' : 'datasets'}${next ? ' shown; there are older ones' : ''}` : 'No datasets. Upload a file on the page New.';
}

function datasetRow(dataset, explain) {
  const row = document.createElement('tr'), { report } = dataset, name = dataset.label ?? dataset.id;
  const box = document.createElement('input');
  box.type = 'checkbox';
  box.value = dataset.id;
  box.setAttribute('aria-label', `Choose ${name}, ${dataset.id}`);
  add(row, 'td').append(box);
  add(add(row, 'td'), 'a', '', name).href = `#/datasets/${dataset.id}`;
  add(row, 'td', '', report.variables.map((variable) => variable.symbol).join(', '));
  add(row, 'td', '', `${report.n_samples}${report.n_trajectories > 1 ? ` in ${report.n_trajectories} trajectories` : ''}`);
  add(row, 'td', '', sizeInWords(dataset.bytes));
  time(add(row, 'td'), dataset.created_at);
  const remove = add(add(row, 'td'), 'button', '', 'Delete');
  remove.type = 'button';
  remove.setAttribute('aria-label', `Delete ${name}, ${dataset.id}`);
  remove.addEventListener('click', async () => {
    if (!confirm(`Delete ${name}? Results computed from it stay; jobs that have not started will fail.`)) return;
    try {
      await request(`/v1/datasets/${dataset.id}`, { method: 'DELETE' });
    } catch (error) {
      explain(error);
      return;
    }
    const body = row.parentElement;
    row.remove();
    counted(body, !by('more-datasets').hidden);
  });
  return row;
}

function sizeInWords(bytes) {
  return bytes < 1e3 ? `${bytes} bytes` : bytes < 1e6 ? `${Math.round(bytes / 1e3)} kB` : bytes < 1e9 ? `${Number((bytes / 1e6).toPrecision(3))} MB` : `${Number((bytes / 1e9).toPrecision(3))} GB`;
}
