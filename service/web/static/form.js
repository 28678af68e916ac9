// A form whose fields name places in a JSON document: reading it, and showing faults where they are.

/** The document of what differs from the defaults. Throws FieldFault. */
export function read(form) {
  const made = {};
  for (const input of form.querySelectorAll('[data-path]')) {
    const value = input.disabled ? undefined : valueOf(input);
    if (value === undefined) continue;
    const steps = input.dataset.path.split('/');
    let place = made;
    for (const step of steps.slice(0, -1)) place = place[step] ??= {};
    place[steps.at(-1)] = value;
  }
  return made;
}

/** Fill in what a document says; what it leaves to the service stays empty. */
export function fill(form, document) {
  for (const input of form.querySelectorAll('[data-path]')) {
    const value = at(document, input.dataset.path) ?? at(document, input.dataset.alias);
    if (value === undefined || value === null) continue;
    const { kind, default: usual = '' } = input.dataset;
    if (kind === 'flag') input.checked = value;
    else if (kind === 'choice') input.value = String(value);
    else {
      const text = textOf(value, kind);
      input.value = same(text, usual) ? '' : text;
    }
    const folded = input.closest('details');
    if (folded && input.value && kind !== 'flag' && kind !== 'choice') folded.open = true;
  }
}

function at(document, path) { return path?.split('/').reduce((place, step) => place?.[step], document); }

function textOf(value, kind) {
  if (kind === 'pair') return value.map((end) => end ?? '').join(', ');
  if (kind === 'names') return value.join(', ');
  if (typeof value !== 'object') return String(value);
  return Object.keys(value).length ? JSON.stringify(value) : '';
}

function same(text, usual) {
  if (text === usual) return true;
  try {
    return JSON.stringify(JSON.parse(text)) === JSON.stringify(JSON.parse(usual));
  } catch {
    return false;
  }
}

/** The texts of a form, to be put back into another of the same fields. */
export function kept(form) {
  const texts = new Map([...form.querySelectorAll('input, select')].map((input) => [input.id, input.type === 'checkbox' ? input.checked : input.value]));
  const open = [...form.querySelectorAll('details')].map((details) => details.open);
  return (other) => {
    for (const input of other.querySelectorAll('input, select')) {
      if (texts.has(input.id)) input[input.type === 'checkbox' ? 'checked' : 'value'] = texts.get(input.id);
    }
    other.querySelectorAll('details').forEach((details, k) => { details.open = open[k] ?? details.open; });
  };
}

export class FieldFault extends Error {
  constructor(input, message) {
    super(message);
    this.input = input;
  }
}

/** A field's value as JSON; undefined where it is left to the service. */
function valueOf(input) {
  const { kind, default: usual } = input.dataset;
  if (kind === 'flag') return String(input.checked) === usual ? undefined : input.checked;
  const text = input.value.trim();
  if (text === '' || text === usual) return undefined;
  switch (kind) {
    case 'number': return Number.isFinite(Number(text)) ? Number(text) : text;
    case 'names': return text.split(',').map((name) => name.trim()).filter(Boolean);
    case 'pair': return pair(input, text);
    case 'json': return parsed(input, text);
    default: return text;
  }
}

/** `0, …` → [0, null]; `…` or nothing is an open end. */
function pair(input, text) {
  const ends = text.replace(/^\[|\]$/g, '').split(/[,;]|\bto\b/).map((end) => end.trim());
  if (ends.length !== 2) throw new FieldFault(input, 'Enter the lower and upper bound separated by a comma, e.g. 0, 1. Leave one blank if there is none, e.g. 0,');
  return ends.map((end) => {
    if (['', '…', '...', 'null', '-inf', 'inf'].includes(end)) return null;
    if (!Number.isFinite(Number(end))) throw new FieldFault(input, `${end} is not a number.`);
    return Number(end);
  });
}

function parsed(input, text) {
  if (/^[\w.]+$/.test(text) && !/^-?[\d.]+$/.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    throw new FieldFault(input, `Enter a JSON value, e.g. ${input.placeholder.replace('e.g. ', '')}`);
  }
}

/** Mark the fields that a problem names, open what hides them, and go to the first. */
export function showFaults(form, problem) {
  clearFaults(form);
  const faults = problem instanceof FieldFault
    ? [[problem.input, problem.message]]
    : (problem.errors ?? []).map((error) => [inputAt(form, error.pointer ?? ''), error.detail]).filter(([input]) => input);
  faults.forEach(([input, message], k) => {
    const fault = input.closest('.field').querySelector('.fault');
    fault.textContent = message[0].toUpperCase() + message.slice(1);
    fault.hidden = false;
    fault.id ||= `${input.id}-fault`;
    input.setAttribute('aria-invalid', 'true');
    input.setAttribute('aria-errormessage', fault.id);
    const folded = input.closest('details');
    if (folded) folded.open = true;
    if (k === 0) input.focus();
  });
  return faults.length > 0;
}

export function clearFaults(form) {
  for (const input of form.querySelectorAll('[aria-invalid]')) {
    input.removeAttribute('aria-invalid');
    input.removeAttribute('aria-errormessage');
    input.closest('.field').querySelector('.fault').hidden = true;
  }
}

/** The field at a JSON Pointer, or the one that holds that place. */
function inputAt(form, pointer) {
  let path = pointer.replace(/^#?\/(layout\/)?/, '');
  while (path) {
    const input = form.querySelector(`[data-path="${CSS.escape(path).replaceAll('\\/', '/')}"]`);
    if (input) return input;
    path = path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '';
  }
  return null;
}
