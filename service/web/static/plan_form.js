/** The form that plans the next measurement from the model of a job. */
import { json, post, Problem } from './api.js';
import { clearFaults, FieldFault, showFaults } from './form.js';

const QUANTITIES = { relaxation_time: 'relaxation time', passage: 'escape time between two wells', variance: 'stationary variance' };

/**
 * Offer to plan from a job's model, where there are plans: for one variable of first order.
 *
 * details  element with the form
 * job      identifier of the job
 * explain  shows a problem
 */
export async function offerPlan(details, job, { signal, explain }) {
  const form = details.querySelector('form'), [quantity, precision, noise] = form.elements;
  const { model } = await json(`/v1/jobs/${encodeURIComponent(job)}/result`, { signal });
  const components = [...Object.entries(model.drift), ...Object.entries(model.diffusion)];
  if (Object.keys(model.drift).length > 1 || model.order === 2) return;
  const known = components.flatMap(([component, { terms }]) => terms.filter(({ value }) => value).map(({ term }) => ({ quantity: 'coefficient', component, term })));
  const targets = [...Object.keys(QUANTITIES).map((name) => ({ quantity: name })), ...known];
  quantity.replaceChildren(...targets.map((target, k) => new Option(QUANTITIES[target.quantity] ?? `coefficient of ${target.term} in the ${target.component.includes(',') ? 'diffusion' : 'drift'}`, k)));
  details.hidden = false;
  form.onsubmit = async (event) => {
    event.preventDefault();
    clearFaults(form);
    try {
      const percent = numberOf(precision), strength = noise.value.trim() ? numberOf(noise) : undefined;
      if (!(percent > 0 && percent < 100)) throw new FieldFault(precision, 'Enter a number above 0 and below 100, e.g. 5.');
      if (strength < 0) throw new FieldFault(noise, 'Enter 0 or a positive number.');
      const target = { ...targets[Number(quantity.value)], precision: percent / 100 };
      location.hash = `#/jobs/${(await post('/v1/jobs', { kind: 'plan', model: { job }, target, noise: strength })).id}`;
    } catch (error) {
      if (!(error instanceof Problem) && !(error instanceof FieldFault)) throw error;
      if (!showFaults(form, error)) explain(error);
    }
  };
}

function numberOf(input) {
  const value = Number(input.value.trim().replace(',', '.'));
  if (!input.value.trim() || !Number.isFinite(value)) throw new FieldFault(input, 'Enter a number, e.g. 5.');
  return value;
}
