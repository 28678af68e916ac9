// Where an axis has its ticks and how they are written. All numbers along axes and under the pointer are written here.

/** Ticks at 1, 2 or 5 times a power of ten. → {values, texts} */
export function linearTicks(low, high, most) {
  const span = high - low;
  if (!(span > 0)) return { values: [low], texts: [short(low)] };
  const rough = span / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((m) => m * power >= rough * (1 - 1e-9));
  const values = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * span; k++) values.push(k * step);
  const largest = Math.max(...values.map(Math.abs), step);
  const exponent = largest >= 1e5 || largest < 1e-3 ? Math.floor(Math.log10(largest)) : 0;
  const places = Math.min(12, Math.max(0, exponent - Math.floor(Math.log10(step) + 1e-9)));
  return { values, texts: values.map((v) => (Math.abs(v) < step / 2 ? '0' : signed((v / 10 ** exponent).toFixed(places)) + power10(exponent))) };
}

/** Ticks at powers of ten, and between them where there are few. → {values, texts} */
export function logTicks(low, high, most) {
  const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9);
  const every = Math.max(1, Math.ceil((last - first + 1) / most));
  const values = [], texts = [];
  const factors = last - first < 1 ? [1, 2, 5] : [1];
  // All alike along one axis: 10⁻³ beside 0.01 reads badly.
  const asPowers = first < -2 || last > 4;
  for (let k = first - 1; k <= last; k++) {
    for (const m of factors) {
      const v = m * 10 ** k;
      if (v < low * (1 - 1e-9) || v > high * (1 + 1e-9) || (m === 1 && (k - first) % every)) continue;
      values.push(v);
      texts.push(asPowers ? `${m === 1 ? '' : `${m} × `}10${superscript(k)}` : signed(String(Number(v.toPrecision(3)))));
    }
  }
  return { values, texts };
}

/** Names of the rows 0, 1, 2, … → {values, texts} */
export function namedTicks(names, low, high) {
  const values = [...names.keys()].filter((row) => low <= row && row <= high);
  return { values, texts: values.map((row) => names[row]) };
}

/** A number in a few digits, as under the pointer. */
export function short(v) {
  if (v === null || v === undefined || !Number.isFinite(v)) return '–';
  if (v === 0) return '0';
  const size = Math.abs(v);
  if (size >= 1e5 || size < 1e-3) {
    const exponent = Math.floor(Math.log10(size));
    return signed((v / 10 ** exponent).toFixed(2)) + power10(exponent);
  }
  return signed(String(Number(v.toPrecision(4))));
}

function signed(text) {
  return text.replace('-', '−');
}

function power10(exponent) {
  return exponent ? ` × 10${superscript(exponent)}` : '';
}

function superscript(exponent) {
  return String(exponent).replace(/./g, (c) => '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'['-0123456789'.indexOf(c)]);
}
