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
 * `now` and `since` are in milliseconds, `estimate` in seconds or null where none is known.
 */
export function elapsedInWords({ state, fraction, since, now, estimate }) {
  const elapsed = Math.max(0, (now - since) / 1000), said = `${inWords(Math.floor(elapsed))} elapsed`;
  if (state !== 'running') return said;
  const left = fraction >= TELLING ? (elapsed * (1 - fraction)) / fraction : estimate === null ? null : estimate - elapsed;
  if (left === null) return said;
  return left < 1 ? `${said}, longer than estimated` : `${said}, about ${inWords(Math.ceil(left))} remaining`;
}
