// The form of a job on data: it shows what belongs to its kind, tells how long the job takes, and starts it.
import { post, Problem } from './api.js';
import { inWords } from './clock.js';
import { clearFaults, FieldFault, showFaults } from './form.js';

/** `job` returns the job as JSON; `start` sends it and returns where to go; `explain` shows what fits no field. */
export async function bindJobForm(form, { signal, job, start, explain }) {
  const part = (name) => form.querySelector(`#${name}`);
  const kind = part('f-kind'), alone = part('f-analysis-model_only'), drawn = part('f-analysis-eigenfunctions'), estimated = part('estimate');
  const choose = () => {
    for (const fields of form.querySelectorAll('[data-for]')) fields.hidden = fields.dataset.for !== kind.value;
    const analysis = kind.selectedOptions[0].dataset.analysis === 'true';
    for (const field of form.querySelectorAll('[data-field^="analysis/"]')) field.toggleAttribute('hidden', !analysis);
    // The page asks for eigenfunctions to draw them; a fit alone has none.
    drawn.disabled = alone.checked;
  };
  for (const input of [kind, alone]) input.addEventListener('change', choose);
  choose();
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
    part('form-problem').replaceChildren();
    const button = form.querySelector('[type=submit]');
    button.disabled = true;
    try {
      location.hash = await start(job(), { 'Idempotency-Key': crypto.randomUUID?.() ?? String(Math.random()) });
    } catch (error) {
      if (!(error instanceof Problem) && !(error instanceof FieldFault)) throw error;
      if (!showFaults(form, error)) explain(error);
    } finally {
      button.disabled = false;
    }
  });
  await estimate();
}

/** Start the same job on each of many records; return where to go. */
export async function startBatch(records, { labels, ...job }, headers) {
  const label = labels?.name?.slice(0, 200);
  const batch = await post('/v1/batches', { ...records, job: { ...job, ...(labels ? { labels } : {}) }, ...(label ? { label } : {}) }, { headers });
  return `#/batches/${batch.id}`;
}
