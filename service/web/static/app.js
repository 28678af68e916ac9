// The page: which view is shown, and what its buttons do. Start reading at `show`.
import { changes, ended, html, json, post, Problem, request } from './api.js';
import { layoutOf, offerPeriods } from './columns.js';
import { clearFaults, FieldFault, fill, kept, read, showFaults } from './form.js';
import { drawAll, redrawAll } from './plots/figures.js';
import { save } from './plots/saving.js';

const by = (id) => document.getElementById(id);
const views = ['new', 'data', 'job', 'jobs', 'compare'];
let leaving = new AbortController(), started = false;

// ---- where we are

async function show() {
  leaving.abort();
  leaving = new AbortController();
  const signal = leaving.signal, [place, ...ids] = location.hash.replace(/^#\/?/, '').split('/').map(decodeURIComponent);
  clearProblem(by('message'));
  try {
    if (place === 'datasets' && ids[0]) await showData(ids[0], signal, { like: ids[1] });
    else if (place === 'jobs' && ids[0]) await showJob(ids[0], signal);
    else if (place === 'jobs') await showJobs(signal);
    else if (place === 'compare' && ids[1]) await showComparison(ids, signal);
    else reveal('new', 'New');
  } catch (error) {
    if (error.name === 'AbortError') return;
    explain(by('message'), error);
    if (!(error instanceof Problem)) throw error;
  }
}

function reveal(view, title, inPlace = false) {
  for (const name of views) by(`view-${name}`).hidden = name !== view;
  // What is not seen is not kept: plots take memory, and their names must be unique.
  for (const [name, filled] of [['data', 'data'], ['job', 'result'], ['compare', 'comparison']]) if (name !== view) by(filled).replaceChildren();
  document.title = `${title} – Itoscope`;
  for (const link of document.querySelectorAll('nav a')) {
    const here = link.getAttribute('href') === (view === 'new' || view === 'data' ? '#/' : '#/jobs');
    here ? link.setAttribute('aria-current', 'page') : link.removeAttribute('aria-current');
  }
  if (inPlace) return;
  const heading = by(`view-${view}`).querySelector('h1:not([hidden] *)');
  if (heading && started) {
    heading.tabIndex = -1;
    heading.focus({ preventScroll: true });
    scrollTo(0, 0);
  }
  started = true;
}

// ---- a problem, in words

function explain(place, error) {
  const box = element('div', 'problem');
  box.append(element('h2', '', error.title ?? 'An error occurred'), element('p', '', error.message || error.detail || ''));
  const more = (error.errors ?? []).map((fault) => fault.pointer ? `${fault.pointer.replace(/^#\//, '')}: ${fault.detail}` : fault.detail).filter((text) => text && text !== error.message);
  for (const [heading, lines] of [['', more], ['What to try', error.hints ?? []]]) {
    if (!lines.length) continue;
    if (heading) box.append(element('h3', '', heading));
    const list = element('ul');
    for (const line of lines) list.append(element('li', '', line));
    box.append(list);
  }
  place.replaceChildren(box);
}

function clearProblem(place) { place.replaceChildren(); }

// ---- a new dataset

async function upload(body, name) {
  clearProblem(by('upload-problem'));
  by('upload-progress').textContent = `Reading ${name} …`;
  try {
    // Without a type: what the system calls a file is often wrong, and its content says what it is.
    const form = new FormData();
    form.append('file', new Blob([body], { type: 'application/octet-stream' }), name);
    form.append('layout', JSON.stringify(read(by('layout'))));
    const dataset = await json('/v1/datasets', { method: 'POST', body: form });
    location.hash = `#/datasets/${dataset.id}`;
  } catch (error) {
    if (!(error instanceof Problem) && !(error instanceof FieldFault)) throw error;
    if (showFaults(by('layout'), error) || error.status === 422) by('layout').open = true;
    explain(by('upload-problem'), error);
  } finally {
    by('upload-progress').textContent = '';
  }
}

by('file').addEventListener('change', () => {
  const [file] = by('file').files;
  if (file) upload(file, file.name);
  by('file').value = '';
});
const drop = by('drop');
for (const name of ['dragenter', 'dragover']) drop.addEventListener(name, (event) => { event.preventDefault(); drop.classList.add('over'); });
for (const name of ['dragleave', 'drop']) drop.addEventListener(name, () => drop.classList.remove('over'));
for (const name of ['dragover', 'drop']) addEventListener(name, (event) => event.preventDefault());
addEventListener('drop', (event) => {
  const [file] = event.dataTransfer.files;
  if (file && !by('view-new').hidden) upload(file, file.name);
});
by('example')?.addEventListener('click', async () => {
  const example = await fetch(by('example').dataset.address);
  upload(await example.blob(), 'double_well.csv');
});
by('paste').addEventListener('click', () => {
  const open = by('pasting').hidden;
  by('pasting').hidden = !open;
  by('paste').setAttribute('aria-expanded', String(open));
  if (open) by('pasted').focus();
});
by('pasting').addEventListener('submit', (event) => {
  event.preventDefault();
  if (by('pasted').value.trim()) upload(by('pasted').value, 'pasted numbers');
});

// ---- what was read, and the form of the job

/** `like` is a job whose parameters the form takes over; `restore` puts back what was in the form, in place. */
async function showData(id, signal, { like, restore } = {}) {
  const piece = await html(`/pages/datasets/${encodeURIComponent(id)}`, { signal });
  const earlier = like && await json(`/v1/jobs/${encodeURIComponent(like)}`, { signal });
  by('data').innerHTML = piece;
  reveal('data', by('data').querySelector('h1').textContent, Boolean(restore));
  drawAll(by('data'));
  const form = by('job-form');
  restore?.(form);
  if (earlier) {
    fill(form, earlier.request);
    by('f-name').value = earlier.labels.name ?? by('f-name').value;
  }
  // The page asks for eigenfunctions to draw them; a fit alone has none.
  const alone = by('f-analysis-model_only'), drawn = by('f-analysis-eigenfunctions');
  const onlyFit = () => { drawn.disabled = alone.checked; };
  alone.addEventListener('change', onlyFit);
  onlyFit();
  offerPeriods(by('data'), form);
  by('layout-form').addEventListener('submit', (event) => {
    event.preventDefault();
    readAgain(id, by('layout-form'), form, signal);
  });
  const job = () => ({ kind: 'identification', dataset: id, ...(by('f-name').value.trim() ? { labels: { name: by('f-name').value.trim() } } : {}), ...read(form) });
  // Kept, not looked up later: whoever has left meanwhile has another view, in which there is none.
  const estimated = by('estimate');
  let waiting;
  const estimate = async () => {
    try {
      const { estimated_seconds: seconds } = await post('/v1/jobs/validate', job(), { signal });
      estimated.textContent = `Estimated time: ${inWords(seconds)}.`;
      clearFaults(form);
    } catch (error) {
      estimated.textContent = '';
      if (error.errors || error instanceof FieldFault) estimated.textContent = 'Some values need correction.';
    }
  };
  form.addEventListener('input', () => { clearTimeout(waiting); waiting = setTimeout(estimate, 400); });
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    clearTimeout(waiting);
    clearProblem(by('form-problem'));
    const button = form.querySelector('[type=submit]'), place = by('form-problem');
    button.disabled = true;
    try {
      const record = await post('/v1/jobs', job(), { headers: { 'Idempotency-Key': crypto.randomUUID?.() ?? String(Math.random()) } });
      location.hash = `#/jobs/${record.id}`;
    } catch (error) {
      if (!(error instanceof Problem) && !(error instanceof FieldFault)) throw error;
      if (!showFaults(form, error)) explain(place, error);
    } finally {
      button.disabled = false;
    }
  });
  await estimate();
}

/** The same file under the layout of the form: its preview takes the place of the one that is shown. */
async function readAgain(id, layout, form, signal) {
  const button = layout.querySelector('[type=submit]');
  clearProblem(by('read-problem'));
  clearFaults(layout);
  button.disabled = true;
  by('read-status').textContent = 'Reading …';
  try {
    const dataset = await post(`/v1/datasets/${encodeURIComponent(id)}/read`, layoutOf(layout), { signal });
    if (dataset.id === id) {
      by('read-status').textContent = 'This is how the file is read already.';
      return;
    }
    // No new view begins: place and focus stay, and Back leads to the earlier reading.
    history.pushState(null, '', `#/datasets/${dataset.id}`);
    await showData(dataset.id, signal, { restore: kept(form) });
    by('layout-form').querySelector('[type=submit]').focus({ preventScroll: true });
    by('read-status').textContent = `Read again: ${by('data').querySelector('.read li').textContent}`;
  } catch (error) {
    if (error.name === 'AbortError') return;
    by('read-status').textContent = '';
    if (!(error instanceof Problem) && !(error instanceof FieldFault)) throw error;
    if (!showFaults(layout, error) || !(error instanceof FieldFault)) explain(by('read-problem'), error);
  } finally {
    button.disabled = false;
  }
}

// ---- one job

async function showJob(id, signal) {
  const job = encodeURIComponent(id);
  let record = await json(`/v1/jobs/${job}`, { signal });
  const name = record.labels.name ?? record.id;
  by('outcome').replaceChildren();
  by('result').replaceChildren();
  by('tools').hidden = true;
  by('running').hidden = ended(record.state);
  if (!ended(record.state)) {
    by('running-title').textContent = name;
    by('running-id').textContent = record.id;
    by('cancel').onclick = () => request(`/v1/jobs/${job}/cancel`, { method: 'POST' }).catch((error) => explain(by('outcome'), error));
    reveal('job', name);
    tell(record);
    for await (const change of changes(job, signal)) tell(change);
    record = await json(`/v1/jobs/${job}`, { signal });
  }
  if (record.state === 'succeeded') by('result').innerHTML = await html(`/pages/jobs/${job}`, { signal });
  else outcome(record);
  by('running').hidden = true;
  toolsOf(record);
  reveal('job', name);
  drawAll(by('result'));
}

function tell({ state, progress }) {
  by('progress').value = progress.fraction;
  const said = state === 'queued' ? 'Waiting for a worker' : [progress.stage, progress.message].filter(Boolean).join(': ');
  if (by('stage').textContent !== said) by('stage').textContent = said;
}

function outcome(record) {
  const title = element('h1', '', record.labels.name ?? record.id);
  by('outcome').replaceChildren(title, element('p', 'subtitle', record.id));
  const place = element('div');
  by('outcome').append(place);
  if (record.state === 'cancelled') place.append(element('p', 'verdict', 'This job was cancelled and has no result.'));
  else explain(place, { ...record.error, message: record.error.detail });
}

function toolsOf(record) {
  by('tools').hidden = false;
  for (const button of by('tools').querySelectorAll('[data-save]')) {
    button.hidden = record.state !== 'succeeded' || (button.dataset.save === 'csv' && !ofOneModel(record));
    button.onclick = () => download(record, button.dataset.save).catch((error) => explain(by('message'), error));
  }
  by('tools').querySelector('.label').hidden = record.state !== 'succeeded';
  by('again').hidden = !record.dataset;
  by('again').href = `#/datasets/${record.dataset}/${record.kind === 'identification' ? record.id : ''}`;
  by('delete').onclick = async () => {
    if (!confirm('Delete this job and its result?')) return;
    await request(`/v1/jobs/${record.id}`, { method: 'DELETE' }).catch((error) => explain(by('message'), error));
    location.hash = '#/jobs';
  };
}

/** Of many windows or parameter sets there is no one table of coefficients, and no one curve to compare. */
function ofOneModel({ kind }) { return kind === 'identification' || kind === 'generator'; }

async function download(record, form) {
  const address = `/v1/jobs/${record.id}`, name = (record.labels.name ?? record.id).replace(/\.\w{1,5}$/, '').replace(/[^\w.-]+/g, '_');
  if (form === 'report') return save(`${name}.html`, await (await request(`${address}/report`)).blob());
  if (form === 'npz') return save(`${name}.npz`, await (await request(`${address}/result`, { headers: { Accept: 'application/x-npz' } })).blob());
  const result = await request(`${address}/result`);
  return form === 'json' ? save(`${name}.json`, await result.blob()) : save(`${name}.csv`, new Blob([coefficients(await result.json())], { type: 'text/csv' }));
}

function coefficients({ model }) {
  const rows = [['of', 'component', 'term', 'value', 'std_error', 'ci_low', 'ci_high', 'active']];
  for (const of of ['drift', 'diffusion']) {
    for (const [key, { terms }] of Object.entries(model[of])) {
      for (const t of terms) rows.push([of, `"${key}"`, `"${t.term}"`, t.value, t.std_error ?? '', t.ci?.[0] ?? '', t.ci?.[1] ?? '', t.active]);
    }
  }
  return rows.map((row) => row.join(',')).join('\n') + '\n';
}

// ---- the list

async function showJobs(signal) {
  reveal('jobs', 'Jobs');
  const body = by('jobs').querySelector('tbody');
  let cursor = null;
  const load = async (anew) => {
    const query = new URLSearchParams({ limit: '25' });
    if (by('filter-state').value) query.set('state', by('filter-state').value);
    if (by('filter-kind').value) query.set('kind', by('filter-kind').value);
    if (by('filter-name').value.trim()) query.set('label.name', by('filter-name').value.trim());
    if (!anew && cursor) query.set('cursor', cursor);
    const { items, next_cursor: next } = await json(`/v1/jobs?${query}`, { signal });
    if (anew) body.replaceChildren();
    for (const record of items) body.append(rowOf(record));
    cursor = next;
    by('more').hidden = !next;
    const shown = body.rows.length;
    by('jobs-status').textContent = shown ? `${shown} ${shown === 1 ? 'job' : 'jobs'}${next ? ' shown; there are older ones' : ''}` : 'No matching jobs.';
    chosen();
  };
  const safely = (anew) => load(anew).catch((error) => { if (error.name !== 'AbortError') explain(by('message'), error); });
  by('filters').onsubmit = (event) => event.preventDefault();
  by('filters').onchange = () => safely(true);
  by('more').onclick = () => safely(false);
  by('compare').onclick = () => { location.hash = `#/compare/${marked().join('/')}`; };
  await load(true);
}

function rowOf(record) {
  const row = element('tr'), name = record.labels.name ?? record.id;
  const box = element('input');
  box.type = 'checkbox';
  box.value = record.id;
  box.disabled = record.state !== 'succeeded' || !ofOneModel(record);
  box.setAttribute('aria-label', `Compare ${name}, ${record.id}`);
  box.addEventListener('change', chosen);
  const link = element('a', '', name);
  link.href = `#/jobs/${record.id}`;
  const time = element('time', '', new Date(record.created_at).toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' }));
  time.dateTime = record.created_at;
  const took = record.started_at && record.finished_at ? inWords((new Date(record.finished_at) - new Date(record.started_at)) / 1000) : '';
  const state = element('span', `state ${record.state}`, record.state);
  for (const content of [box, link, record.kind, state, time, took]) {
    const cell = element('td');
    cell.append(content);
    row.append(cell);
  }
  return row;
}

function marked() { return [...by('jobs').querySelectorAll('input:checked')].map((box) => box.value); }
function chosen() { by('compare').disabled = marked().length !== 2; }

// ---- two results

async function showComparison([first, second], signal) {
  by('comparison').innerHTML = await html(`/pages/comparison?${new URLSearchParams({ first, second })}`, { signal });
  reveal('compare', 'Comparison');
  drawAll(by('comparison'));
}

// ---- the rest

function inWords(seconds) {
  if (seconds < 9.5) return `${Number(seconds.toPrecision(2))} s`;
  if (seconds < 90) return `${Math.round(seconds)} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 360) / 10} h`;
}

function element(tag, className = '', text = '') {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text) made.textContent = text;
  return made;
}

const system = matchMedia('(prefers-color-scheme: dark)');
const dark = () => (document.documentElement.dataset.theme ?? (system.matches ? 'dark' : 'light')) === 'dark';
function themed() {
  by('theme').textContent = dark() ? 'Light' : 'Dark';
  redrawAll();
}
by('theme').addEventListener('click', () => {
  document.documentElement.dataset.theme = dark() ? 'light' : 'dark';
  try { localStorage.setItem('theme', document.documentElement.dataset.theme); } catch { /* for this view only, then */ }
  themed();
});
system.addEventListener('change', themed);
themed();

addEventListener('hashchange', show);
show();
document.documentElement.dataset.ready = '';
performance.mark('interactive');
