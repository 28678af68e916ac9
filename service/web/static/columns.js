// The form by which a dataset is read again: roles of columns and the other fields, as a layout.
import { FieldFault, read } from './form.js';

/** The layout that the form says. What was inferred and is not changed stays to be inferred. Throws FieldFault. */
export function layoutOf(form) {
  const layout = read(form), shape = form.querySelector('#r-arrangement');
  if (shape && (shape.value !== shape.dataset.was || shape.value !== 'td')) layout.axes = shape.value;
  // Numbers of variables mean others in another arrangement.
  if (shape && shape.value !== shape.dataset.was) ['state_names', 'state_unit'].forEach((option) => { delete layout[option]; });
  if (shape?.value === 'nt') return layout;
  const rows = [...form.querySelectorAll('tr[data-key]')].map((row) => ({ ...row.dataset, given: 'given' in row.dataset, words: [...row.querySelectorAll('[data-word] input')], select: row.querySelector('select'), role: row.querySelector('select').value }));
  if (!rows.length) return layout;
  const as = (...roles) => rows.filter(({ role }) => roles.includes(role)), changed = rows.some(({ role, was }) => role !== was);
  const states = as('state'), times = as('time'), ids = as('identity');
  if (!states.length) throw new FieldFault(rows[0].select, 'At least one column must be a state.');
  const sameTimes = rows.every(({ role, was }) => (role === 'time') === (was === 'time'));
  if (times.length > 1 && !sameTimes) throw new FieldFault(times.find(({ was }) => was !== 'time')?.select ?? times[0].select, `Only one column can be the time: ${times.map(({ key }) => key).join(', ')}.`);
  const unit = form.querySelector('#r-time_unit');
  if (!sameTimes && unit && unit.value === unit.defaultValue) delete layout.time_unit;
  if (times.length && (!sameTimes || times[0].given)) layout.time_column = times[0].key;
  if (ids.length && (changed || ids[0].given)) layout.id_column = ids.map(({ key }) => key).join(',');
  // Variables keep their order; new ones come after them.
  if (changed || states[0].given) layout.state_columns = [...states].sort((a, b) => Number(a.place ?? 1e9) - Number(b.place ?? 1e9)).map(({ key }) => key);
  // Columns that are trajectories are one variable, which is called by the first of them.
  for (const { key, words } of shape?.value === 'tn' ? states.slice(0, 1) : states) {
    for (const { value, dataset: { place, default: inferred } } of words) {
      const text = value.trim();
      if (text && text !== inferred) (layout[place.split('/')[0]] ??= {})[key] = text;
    }
  }
  const groups = as('group'), inputs = as('input'), errors = as('error').filter(({ given, was }) => given || was !== 'error');
  if (groups.length > 1) throw new FieldFault(groups[1].select, `Only one column can be the group: ${groups.map(({ key }) => key).join(', ')}.`);
  if (groups.length) layout.group_column = groups[0].key;
  if (inputs.length) layout.input_columns = inputs.map(({ key }) => key);
  if (errors.length) layout.error_columns = errors.map(({ key }) => key);
  const out = as('ignored', 'error').filter((row) => !errors.includes(row)).filter(({ given, role, was }) => changed || (given && role === was));
  if (out.length) layout.ignored_columns = out.map(({ key }) => key);
  return layout;
}

/** Names and units stand at the columns that are states; of columns that are trajectories, at the first. */
export function showWords(form) {
  const shape = form.querySelector('#r-arrangement');
  const show = () => {
    let states = 0;
    for (const row of form.querySelectorAll('tr[data-key]')) {
      const isState = row.querySelector('select').value === 'state', shown = isState && shape?.value !== 'nt' && !(shape?.value === 'tn' && states);
      states += isState ? 1 : 0;
      for (const word of row.querySelectorAll('[data-word] > span')) word.hidden = !shown;
    }
  };
  form.addEventListener('change', show);
  show();
}

/** Offers of a period fill the job's form. */
export function offerPeriods(view, form) {
  for (const button of view.querySelectorAll('[data-period-of]')) {
    button.addEventListener('click', () => {
      const field = (path) => form.querySelector(`[data-path="${CSS.escape(path)}"]`);
      const period = field(`parameters/periodic/${button.dataset.periodOf}`), waves = field('parameters/library/fourier_harmonics');
      if (!period) return;
      period.value = button.dataset.period;
      // An angle's library without waves holds a constant alone.
      if (waves && !waves.value.trim()) waves.value = '2';
      period.dispatchEvent(new Event('input', { bubbles: true }));
      button.parentElement.querySelector('span').textContent = `The period of ${button.dataset.periodOf} is set below, with 2 harmonics.`;
      button.remove();
      period.focus();
    });
  }
}
