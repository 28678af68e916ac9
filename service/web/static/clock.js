// How long a job has run, and about how long it will.

/** A duration in words. */
export function inWords(seconds) {
  if (seconds < 9.5) return `${Number(seconds.toPrecision(2))} s`;
  if (seconds < 90) return `${Math.round(seconds)} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 360) / 10} h`;
}

/** Share of the work from which on what was needed for it tells more than the estimate. */
const TELLING = 0.15;

/**
 * Elapsed and remaining time in words.
 * `since`, `at` when `fraction` was reached, and `now` are in milliseconds, `estimate` in seconds or null where none is known.
 */
export function elapsedInWords({ state, fraction, since, at, now, estimate }) {
  const elapsed = Math.max(0, (now - since) / 1000), said = `${inWords(Math.floor(elapsed))} elapsed`;
  if (state !== 'running') return said;
  // Progress stands still within a stage: what is left does not grow meanwhile.
  const needed = (at - since) / 1000 / fraction;
  const left = fraction >= TELLING && at > since ? needed - elapsed : estimate === null ? null : estimate - elapsed;
  if (left === null) return said;
  return left < 1 ? `${said}, longer than estimated` : `${said}, about ${inWords(Math.ceil(left))} remaining`;
}
