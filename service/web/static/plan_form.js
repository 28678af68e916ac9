/** The form that plans the next measurement from the model of a job. */
import { post, Problem } from './api.js';
import { clearFaults, FieldFault, showFaults } from './form.js';

/** Let the form start a plan from the model of a job; `explain` shows what fits no field. */
export function bindPlan(form, job, explain) {
  const [quantity, precision, noise] = form.elements;
  form.onsubmit = async (event) => {
    event.preventDefault();
    clearFaults(form);
    try {
      const percent = numberOf(precision), strength = noise.value.trim() ? numberOf(noise) : undefined;
      if (!(percent > 0 && percent < 100)) throw new FieldFault(precision, 'Enter a number above 0 and below 100, e.g. 5.');
      if (strength < 0) throw new FieldFault(noise, 'Enter 0 or a positive number.');
      const target = { ...JSON.parse(quantity.value), precision: percent / 100 };
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
