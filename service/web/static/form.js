// A form whose fields name places in a JSON document: reading it, and showing faults where they are.

/** The document of what differs from the defaults. What is hidden, of another kind of job, is left out. Throws FieldFault. */
export function read(form) {
  const made = {}, tried = [];
  for (const input of form.querySelectorAll('[data-path]')) {
    if (input.disabled || input.closest('[data-for][hidden], .field[hidden]')) continue;
    const value = valueOf(input);
    if (value === undefined) continue;
    if (input.dataset.kind === 'values') tried.push([input.dataset.path.replace(/^variants\//, ''), value]);
    else put(made, input.dataset.path, value);
  }
  const first = [...form.querySelectorAll('[data-kind=values]')].find((input) => !input.closest('[data-for][hidden]'));
  if (!first) return made;
  if (!tried.length) throw new FieldFault(first, `Enter the values to try, ${first.placeholder}.`);
  made.variants = tried.reduce((sets, [path, values]) => sets.flatMap((set) => values.map((value) => put(structuredClone(set), path, value))), [{}]);
  return made;
}

/** The document, with a value at a path. */
function put(document, path, value) {
  const steps = path.split('/'), last = steps.pop();
  let place = document;
  // A word, as of the noise, gives way to what is said in more detail.
  for (const step of steps) place = place[step] = typeof place[step] === 'object' ? place[step] : {};
  place[last] = value;
  return document;
}

/** Fill in what a document says; what it leaves to the service stays empty. */
export function fill(form, document) {
  for (const input of form.querySelectorAll('[data-path]')) {
    const { kind, path, alias, default: usual } = input.dataset;
    const value = kind === 'values' ? triedOf(document.variants, path) : at(document, path) ?? at(document, alias);
    if (value === undefined || value === null || (kind === 'choice' && typeof value === 'object')) continue;
    if (kind === 'flag') {
      input.checked = value;
      continue;
    }
    const text = textOf(value, input);
    input.value = kind !== 'choice' && text === usual ? '' : text;
    const folded = input.closest('details');
    if (folded && input.value !== (kind === 'choice' ? usual : '')) folded.open = true;
  }
}

/** The value at a path; a number stands for all that is below it, as of every variable. */
function at(document, path) { return path?.split('/').reduce((place, step) => typeof place === 'number' ? place : place?.[step], document); }

/** The values of one field among all parameter sets of a sweep. */
function triedOf(variants, path) {
  const tried = (variants ?? []).map((variant) => at(variant, path.replace(/^variants\//, ''))).filter((value) => value !== undefined && value !== null);
  return tried.length ? [...new Set(tried)] : undefined;
}

/** A value as it is typed; `valueOf` reads it. */
function textOf(value, { dataset: { kind, columns } }) {
  if (kind === 'json') return Object.keys(value).length ? JSON.stringify(value) : '';
  if (kind === 'region') return placeText(value);
  if (kind === 'sum') return Object.entries(value).map(([term, factor]) => `${factor}*${term}`).join(' + ').replaceAll('+ -', '- ');
  if (!Array.isArray(value)) return String(value);
  if (kind === 'pair') return value.map((end) => end ?? '').join('..');
  if (kind !== 'rows') return value.join(', ');
  return value.map((row) => {
    const places = columns.split(' ').map((column) => row[column]);
    return places.map(placeText).join(places.every(Number.isFinite) ? ', ' : ' to ');
  }).join('\n');
}

function placeText(place) {
  if (Array.isArray(place)) return `(${place.join(', ')})`;
  if (typeof place !== 'object') return String(place);
  const bounds = Object.entries(place).flatMap(([name, [low, high]]) => [[low, '>'], [high, '<']].filter(([end]) => end !== null).map(([end, sign]) => `${name} ${sign} ${end}`));
  return bounds.join(' and ');
}

/** The texts of a form, to be put back into another of the same fields. */
export function kept(form) {
  const fields = 'input, select, textarea', texts = new Map([...form.querySelectorAll(fields)].map((input) => [input.id, input.type === 'checkbox' ? input.checked : input.value]));
  const open = [...form.querySelectorAll('details')].map((details) => details.open);
  return (other) => {
    for (const input of other.querySelectorAll(fields)) {
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
    case 'number': return numberOrWord(input, text);
    case 'values': return text.split(/[,;\s]+/).filter(Boolean).map((value) => numberOrWord(input, value));
    case 'names': return text.split(',').map((name) => name.trim()).filter(Boolean);
    case 'pair': return wordsOf(input).includes(text) ? text : pair(input, text);
    case 'json': return jsonOf(input, text);
    case 'sum': return sumOf(input, text);
    case 'region': return boundsOf(input, text);
    case 'rows': return text.split('\n').map((row) => row.trim()).filter(Boolean).map((row) => rowOf(input, row));
    default: return text;
  }
}

/** What has no field of its own is written as in the API. */
function jsonOf(input, text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new FieldFault(input, `Write it as JSON, such as ${input.placeholder.replace(/^e\.g\. /, '') || '{"x": ["x"]}'}.`);
  }
}

/** `x - 0.5*x^3` → {x: 1, 'x^3': -0.5}. */
function sumOf(input, text) {
  const terms = termsOf(text);
  if (/[+*/^-]$/.test(text) || !Object.values(terms).every(Number.isFinite)) throw new FieldFault(input, `“${text}” is no sum of terms, ${input.placeholder}.`);
  return terms;
}

/** `x^3 < 0 and x > 1` → {'x^3': [null, 0], x: [1, null]}. */
function boundsOf(input, text) {
  const place = placeOf(text);
  if (place === undefined || typeof place !== 'object' || Array.isArray(place)) throw new FieldFault(input, `“${text}” is not understood: enter bounds, ${input.placeholder}.`);
  return place;
}

/** A number as people type it; NaN for anything else. */
function numberOf(text) {
  const plain = text.trim().replace(/[−–]/g, '-');
  return plain === '' ? NaN : Number(plain);
}

function wordsOf(input) { return (input.dataset.words ?? '').split(' ').filter(Boolean); }

function numberOrWord(input, text) {
  const words = wordsOf(input), number = numberOf(text), whole = input.dataset.whole !== undefined;
  if (words.includes(text)) return text;
  if (Number.isFinite(number) && !(whole && !Number.isInteger(number))) return number;
  // A field of words only has no number to give an example of.
  const isNamed = input.dataset.kind === 'values' && words.length > 1;
  const wanted = isNamed ? `Choose among ${words.join(', ')}` : `Enter ${whole ? 'a whole number' : 'a number'}${words.length ? ` or ${words.join(', ')}` : ''}`;
  throw new FieldFault(input, `${wanted}; “${text}” is ${isNamed ? 'none of them' : whole && Number.isFinite(number) ? 'not whole' : 'not a number'}.`);
}

/** `-1..1`, `-1, 1` or `-1 to 1` → [-1, 1]; `0..` → [0, null]: a bound that is left out is open. */
function pair(input, text) {
  const ends = text.replace(/^\[|\]$/g, '').replace(/…/g, '..').split(/\.{2,3}|[,;]|\bto\b/).map((end) => end.trim());
  if (ends.length !== 2 || !ends.join('')) throw new FieldFault(input, 'Enter the lower and the upper bound, e.g. -1..1. Leave one out if there is none, e.g. 0..');
  return ends.map((end) => {
    if (['', 'null', '-inf', 'inf'].includes(end)) return null;
    if (!Number.isFinite(numberOf(end))) throw new FieldFault(input, `“${end}” is not a number.`);
    return numberOf(end);
  });
}

/** `-1, 1` → {from: -1, to: 1}; the columns' names are the field's. */
function rowOf(input, row) {
  const columns = input.dataset.columns.split(' '), apart = row.split(/\s*(?:->|→|\bto\b)\s*/);
  const parts = apart.length > 1 ? apart : row.split(/[,;\s]+/).filter(Boolean);
  const places = parts.map(placeOf);
  if (parts.length !== columns.length || places.includes(undefined)) throw new FieldFault(input, `“${row}” is not understood: enter ${columns.length} values, ${input.placeholder}.`);
  return Object.fromEntries(columns.map((column, k) => [column, places[k]]));
}

/** A number, a point `(0.5, 0)`, or a region `x > 0.8 and y < 1`; undefined for anything else. */
function placeOf(text) {
  const number = numberOf(text), point = /^\((.*)\)$/.exec(text.trim());
  if (Number.isFinite(number)) return number;
  if (point) {
    const at = point[1].split(/[,;]/).map(numberOf);
    return at.every(Number.isFinite) ? at : undefined;
  }
  const region = {};
  for (const condition of text.split(/,|\band\b|&/)) {
    const found = /^\s*([^\s<>]+)\s*([<>])=?\s*(\S+)\s*$/.exec(condition), bound = found ? numberOf(found[3]) : NaN;
    if (!Number.isFinite(bound)) return undefined;
    const ends = region[found[1]] ??= [null, null];
    ends[found[2] === '>' ? 0 : 1] = bound;
  }
  return region;
}

/** `x - 0.5*x^3` → {x: 1, 'x^3': -0.5}: the terms of a sum and their coefficients. */
export function termsOf(sum) {
  const terms = {}, parts = [''];
  let depth = 0;
  for (const letter of sum.replace(/[−–]/g, '-').replace(/\s+/g, '')) {
    depth += letter === '(' ? 1 : letter === ')' ? -1 : 0;
    const before = parts.at(-1);
    // A sign after an operator, or in 1e-3, belongs to what it stands before.
    if ('+-'.includes(letter) && !depth && before && !/[*/^+-]$|\d[eE]$/.test(before)) parts.push(letter);
    else parts[parts.length - 1] += letter;
  }
  for (const part of parts.filter(Boolean)) {
    const [, sign, factor, rest] = /^([+-]?)((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?=$|\*))?\*?(.*)$/.exec(part);
    const term = rest || '1', value = Number(`${sign}${factor ?? 1}`);
    terms[term] = (terms[term] ?? 0) + value;
  }
  return terms;
}

/** Mark the fields that a problem names, open what hides them, and go to the first. */
export function showFaults(form, problem) {
  clearFaults(form);
  const faults = problem instanceof FieldFault
    ? [[problem.input, problem.message]]
    : (problem.errors ?? []).map((error) => [inputAt(form, error.pointer ?? ''), error.detail]).filter(([input]) => input);
  faults.forEach(([input, message], k) => {
    const fault = input.closest('.field').querySelector('.fault');
    fault.textContent = message[0].toUpperCase() + message.slice(1).replaceAll('`', '');
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
    const name = CSS.escape(path).replaceAll('\\/', '/');
    const input = form.querySelector(`[data-path="${name}"], [data-place="${name}"]`);
    if (input) return input;
    path = path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '';
  }
  return null;
}
