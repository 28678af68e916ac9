// The page: which view is shown, and what its buttons do. Start reading at `show`.
import { changes, ended, html, isAway, json, now, post, Problem, request } from './api.js';
import { elapsedInWords, inWords } from './clock.js';
import { layoutOf, offerPeriods, showWords } from './columns.js';
import { followBatch, listBatches } from './batches.js';
import { clearFaults, FieldFault, fill, kept, read, showFaults, termsOf } from './form.js';
import { bindJobForm, startBatch } from './job_form.js';
import { listDatasets, listJobs, ofOneModel } from './lists.js';
import { onPage } from './words.js';
import { followLinks } from './plots/elements.js';
import { drawAll, redrawAll } from './plots/figures.js';
import { save } from './plots/saving.js';
import { zipOf } from './zip.js';

const by = (id) => document.getElementById(id);
const views = ['new', 'model', 'data', 'together', 'datasets', 'job', 'jobs', 'batches', 'batch', 'compare'];
let leaving = new AbortController(), started = false;

// ---- where we are

async function show() {
  leaving.abort();
  leaving = new AbortController();
  const signal = leaving.signal, [place, ...ids] = location.hash.replace(/^#\/?/, '').split('/').map(decodeURIComponent);
  clearProblem(by('message'));
  try {
    if (place === 'datasets' && ids[0]) await showData(ids[0], signal, { like: ids[1] });
    else if (place === 'together' && ids[1]) await showTogether(ids, signal);
    else if (place === 'datasets') await showDatasets(signal);
    else if (place === 'model') showModel();
    else if (place === 'jobs' && ids[0]) await showJob(ids[0], signal);
    else if (place === 'jobs') await showJobs(signal);
    else if (place === 'batches' && ids[0]) await followBatch(ids[0], signal, (title) => reveal('batch', title), explained);
    else if (place === 'batches') await showBatches(signal);
    else if (place === 'compare' && ids[1]) await showComparison(ids, signal);
    else reveal('new', 'New');
  } catch (error) {
    if (error.name === 'AbortError') return;
    explain(by('message'), error);
    if (!(error instanceof Problem)) throw error;
    // A service that is started again is found again.
    if (isAway(error)) {
      const again = setTimeout(show, 3000);
      signal.addEventListener('abort', () => clearTimeout(again), { once: true });
    }
  }
}

function reveal(view, title, inPlace = false) {
  for (const name of views) by(`view-${name}`).hidden = name !== view;
  // What is not seen is not kept: plots take memory, and their names must be unique.
  for (const [name, filled] of [['data', 'data'], ['together', 'together'], ['job', 'result'], ['compare', 'comparison']]) if (name !== view) by(filled).replaceChildren();
  document.title = `${title} – Itoscope`;
  for (const link of document.querySelectorAll('nav a')) {
    const here = link.getAttribute('href') === ({ new: '#/', model: '#/', data: '#/datasets', together: '#/datasets', datasets: '#/datasets' }[view] ?? '#/jobs');
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
  box.append(element('h2', '', error.title ?? 'An error occurred'), element('p', '', onPage(error.message || error.detail || '')));
  const more = (error.errors ?? []).filter((fault) => fault.detail && fault.detail !== error.message).map((fault) => (fault.pointer ? `${fault.pointer.replace(/^#\//, '').replaceAll('/', '.')}: ${fault.detail}` : fault.detail));
  for (const [heading, lines] of [['', more.map(onPage)], ['What to try', (error.hints ?? []).map(onPage).filter(Boolean)]]) {
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

async function sent(body, name) {
  // Without a type: what the system calls a file is often wrong, and its content says what it is.
  const form = new FormData();
  form.append('file', new Blob([body], { type: 'application/octet-stream' }), name);
  form.append('layout', JSON.stringify(read(by('layout'))));
  return json('/v1/datasets', { method: 'POST', body: form });
}

async function upload(body, name) {
  clearProblem(by('upload-problem'));
  by('upload-progress').textContent = `Reading ${name} …`;
  try {
    const dataset = await sent(body, name);
    location.hash = `#/datasets/${dataset.id}`;
  } catch (error) {
    if (!(error instanceof Problem) && !(error instanceof FieldFault)) throw error;
    if (showFaults(by('layout'), error) || error.status === 422) by('layout').open = true;
    explain(by('upload-problem'), error);
  } finally {
    by('upload-progress').textContent = '';
  }
}

/** One file is read at once; of several it is asked how they belong together. */
function take(files) {
  const chosen = [...files].sort((a, b) => a.name.localeCompare(b.name, undefined, { numeric: true }));
  clearProblem(by('upload-problem'));
  by('several').hidden = chosen.length < 2;
  if (chosen.length === 1) upload(chosen[0], chosen[0].name);
  if (chosen.length < 2) return;
  by('several-heading').textContent = `${chosen.length} files`;
  by('several-names').replaceChildren(...chosen.map(({ name }) => element('li', '', name)));
  by('several-heading').focus();
  by('several').onsubmit = (event) => {
    event.preventDefault();
    by('several').hidden = true;
    by('several').elements.together.value === 'one' ? uploadTogether(chosen) : uploadEach(chosen);
  };
}

by('several-cancel').addEventListener('click', () => { by('several').hidden = true; });

async function uploadTogether(files) {
  const name = `${files.length} files, ${files[0].name} to ${files.at(-1).name}`;
  upload(await zipOf(files), `${name}.zip`);
}

/** Each file by itself; what is refused is said, and hinders none of the others. */
async function uploadEach(files) {
  const refused = [];
  for (const [k, file] of files.entries()) {
    by('upload-progress').textContent = `Reading ${file.name} (${k + 1} of ${files.length}) …`;
    try {
      await sent(file, file.name);
    } catch (error) {
      if (!(error instanceof Problem) && !(error instanceof FieldFault)) throw error;
      refused.push({ detail: `${file.name}: ${error.message}` });
    }
  }
  by('upload-progress').textContent = '';
  if (!refused.length) location.hash = '#/datasets';
  else explain(by('upload-problem'), { title: `${refused.length} of ${files.length} files could not be read`, message: refused.length < files.length ? 'The others are listed under Datasets.' : '', errors: refused });
}

by('file').addEventListener('change', () => {
  take(by('file').files);
  by('file').value = '';
});
const drop = by('drop');
for (const name of ['dragenter', 'dragover']) drop.addEventListener(name, (event) => { event.preventDefault(); drop.classList.add('over'); });
for (const name of ['dragleave', 'drop']) drop.addEventListener(name, () => drop.classList.remove('over'));
for (const name of ['dragover', 'drop']) addEventListener(name, (event) => event.preventDefault());
addEventListener('drop', (event) => {
  if (!by('view-new').hidden) take(event.dataTransfer.files);
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
  const form = by('job-form'), kind = by('f-kind');
  // Only datasets of several trajectories have it.
  const each = by('f-each');
  // A job on some trajectories alone is changed as such.
  let chosen = {};
  const showChosen = (trajectories) => {
    chosen = { trajectories };
    each?.closest('label').remove();
    form.querySelector('.actions').before(element('p', 'note', `Only ${trajectories.length === 1 ? `trajectory ${trajectories[0] + 1}` : `${trajectories.length} trajectories`} of this dataset, as in the job before.`));
  };
  const job = () => ({ kind: kind.value, dataset: id, ...(by('f-name').value.trim() ? { labels: { name: by('f-name').value.trim() } } : {}), ...chosen, ...read(form) });
  restore?.(form);
  if (earlier) {
    if (earlier.request.trajectories) showChosen(earlier.request.trajectories);
    kind.value = earlier.kind;
    fill(form, earlier.request);
    by('f-name').value = earlier.labels.name ?? by('f-name').value;
  }
  offerPeriods(by('data'), form);
  showWords(by('layout-form'));
  by('layout-form').addEventListener('submit', (event) => {
    event.preventDefault();
    readAgain(id, by('layout-form'), form, signal);
  });
  await bindJobForm(form, {
    signal,
    job,
    start: async (made, headers) => {
      if (!each?.checked) return `#/jobs/${(await post('/v1/jobs', made, { headers })).id}`;
      const { dataset, ...template } = made;
      return startBatch({ dataset }, template, headers);
    },
    explain: (error) => explain(by('form-problem'), error),
  });
}

/** Several datasets, and the form of a job on all of them. */
async function showTogether(ids, signal) {
  by('together').innerHTML = await html(`/pages/datasets?${new URLSearchParams(ids.map((id) => ['id', id]))}`, { signal });
  reveal('together', `${ids.length} datasets`);
  const form = by('job-form'), name = by('f-name'), kind = () => by('f-kind').value, each = () => kind() === 'identification';
  const groups = () => {
    const made = {}, inputs = [...form.querySelectorAll('[data-dataset]')];
    for (const { value, dataset } of inputs) (made[value.trim()] ??= []).push(dataset.dataset);
    // Names that are numbers do not stay in their order.
    return { groups: made, reference: inputs[0].value.trim() };
  };
  const job = () => ({
    kind: kind(),
    ...(name.value.trim() ? { labels: { name: name.value.trim() } } : {}),
    ...(each() ? { dataset: ids[0] } : kind() === 'population' ? { datasets: ids } : groups()),
    ...read(form),
  });
  await bindJobForm(form, {
    signal,
    job,
    start: async ({ dataset, ...made }, headers) => (each() ? startBatch({ datasets: ids }, made, headers) : `#/jobs/${(await post('/v1/jobs', made, { headers })).id}`),
    explain: (error) => explain(by('form-problem'), error),
  });
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

// ---- a model that is given

function showModel() {
  reveal('model', 'Analyse a model');
  const form = by('model-form'), place = by('model-problem');
  form.onsubmit = async (event) => {
    event.preventDefault();
    clearProblem(place);
    try {
      const name = by('m-name').value.trim();
      const model = { drift: equationsOf(by('m-drift'), false), diffusion: equationsOf(by('m-diffusion'), true) };
      const record = await post('/v1/jobs', { kind: 'generator', model, ...(name ? { labels: { name } } : {}), ...read(form) });
      location.hash = `#/jobs/${record.id}`;
    } catch (error) {
      if (!(error instanceof Problem) && !(error instanceof FieldFault)) throw error;
      if (!showFaults(form, error)) explain(place, error);
    }
  };
}

/** `x: x - x^3`, an equation a line → coefficients by variable or, for pairs, by `x,x`. */
function equationsOf(input, pairs) {
  const lines = input.value.split('\n').map((line) => line.trim()).filter(Boolean);
  if (!lines.length) throw new FieldFault(input, 'Enter an equation for each variable, one per line.');
  return Object.fromEntries(lines.map((line) => {
    const [, left, right] = /^([^:=]+)[:=](.+)$/.exec(line) ?? [];
    if (!right) throw new FieldFault(input, `“${line}” is not understood: write the variable, a colon and the terms.`);
    const names = left.split(',').map((name) => name.trim()), key = pairs && names.length === 1 ? [names[0], names[0]] : names;
    return [key.join(','), termsOf(right)];
  }));
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
    told = null;
    tell(record);
    const stop = keepTime(record, signal);
    for await (const change of changes(job, signal)) tell(change);
    stop();
    record = await json(`/v1/jobs/${job}`, { signal });
  }
  if (record.state === 'succeeded') by('result').innerHTML = await html(`/pages/jobs/${job}`, { signal });
  else outcome(record);
  by('running').hidden = true;
  toolsOf(record);
  reveal('job', name);
  drawAll(by('result'));
  // It is no part of a first visit.
  if (by('plan')) (await import('./plan_form.js')).bindPlan(by('plan').querySelector('form'), record.id, explained);
}

let told = null;

function tell({ state, progress, lost }) {
  if (lost) {
    by('stage').textContent = 'The service cannot be reached. The job may go on; trying again …';
    return;
  }
  told = { state, fraction: progress.fraction, at: told?.fraction === progress.fraction ? told.at : now() };
  by('progress').value = progress.fraction;
  const said = state === 'queued' ? 'Waiting for a worker' : [progress.stage, progress.message].filter(Boolean).join(': ');
  if (by('stage').textContent !== said) by('stage').textContent = said;
}

/** Say every second how long the job has taken, and about how long it will take. */
function keepTime({ request: asked, started_at: started, created_at: created }, signal) {
  let since = Date.parse(started ?? created), state = told?.state, estimate = null;
  const say = () => {
    if (told.state !== state && told.state === 'running') since = now();
    state = told.state;
    by('elapsed').textContent = elapsedInWords({ ...told, since, now: now(), estimate });
  };
  const timer = setInterval(say, 1000), stop = () => clearInterval(timer);
  signal.addEventListener('abort', stop, { once: true });
  say();
  // Without an estimate the clock goes all the same.
  post('/v1/jobs/validate', asked, { signal }).then((checked) => { estimate = checked.estimated_seconds; say(); }, () => {});
  return stop;
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
    const form = button.dataset.save, lacks = (form === 'csv' && !ofOneModel(record)) || (form === 'draws' && !hasDraws(record));
    button.hidden = record.state !== 'succeeded' || lacks;
    button.onclick = () => download(record, form).catch((error) => explain(by('message'), error));
  }
  by('tools').querySelector('.label').hidden = record.state !== 'succeeded';
  by('again').hidden = !record.dataset;
  by('again').href = `#/datasets/${record.dataset}/${record.id}`;
  by('delete').onclick = async () => {
    if (!confirm('Delete this job and its result?')) return;
    await request(`/v1/jobs/${record.id}`, { method: 'DELETE' }).catch((error) => explain(by('message'), error));
    location.hash = '#/jobs';
  };
}

function hasDraws({ kind, request: job }) { return kind === 'identification' && job.parameters.estimator !== 'paper'; }

async function download(record, form) {
  const address = `/v1/jobs/${record.id}`, name = (record.labels.name ?? record.id).replace(/\.\w{1,5}$/, '').replace(/[^\w.-]+/g, '_');
  if (form === 'report') return save(`${name}.html`, await (await request(`${address}/report`)).blob());
  if (form === 'npz') return save(`${name}.npz`, await (await request(`${address}/result`, { headers: { Accept: 'application/x-npz' } })).blob());
  if (form === 'draws') return save(`${name}-draws.npz`, await (await request(`${address}/draws`, { headers: { Accept: 'application/x-npz' } })).blob());
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

// ---- the lists

const explained = (error) => explain(by('message'), error);

async function showJobs(signal) {
  reveal('jobs', 'Jobs');
  await listJobs(signal, explained);
}

async function showBatches(signal) {
  reveal('batches', 'Batches');
  await listBatches(signal, explained);
}

async function showDatasets(signal) {
  reveal('datasets', 'Datasets');
  await listDatasets(signal, explained);
}

// ---- two results

async function showComparison([first, second], signal) {
  by('comparison').innerHTML = await html(`/pages/comparison?${new URLSearchParams({ first, second })}`, { signal });
  reveal('compare', 'Comparison');
  drawAll(by('comparison'));
}

// ---- the rest

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

followLinks();
addEventListener('hashchange', show);
show();
document.documentElement.dataset.ready = '';
performance.mark('interactive');
