// Talking to the service: the key of this tab, problems as errors, a job's events with resume.

const KEY = 'itoscope-key';
let asked = null, ahead = 0;

/** Time of the service, to about a second [ms]: this computer's clock may be wrong. */
export function now() { return Date.now() + ahead; }

/** Whether a request failed because the service is away for a while, and not because of what it asks. */
export function isAway(error) { return error instanceof Problem && (error.status === 0 || error.status >= 502); }

/** A refusal, as the service explains it. */
export class Problem extends Error {
  constructor(status, body) {
    super(body.detail ?? body.title ?? `The service responded with status ${status}.`);
    this.status = status;
    this.code = body.code ?? '';
    this.title = body.title ?? 'An error occurred';
    this.errors = body.errors ?? [];
    this.hints = body.hints ?? [];
  }
}

/** Fetch with this tab's key; asks for one where it is needed. Throws Problem. */
export async function request(path, options = {}) {
  for (;;) {
    const headers = new Headers(options.headers), key = sessionStorage.getItem(KEY);
    if (key) headers.set('Authorization', `Bearer ${key}`);
    let response;
    try {
      response = await fetch(path, { ...options, headers });
    } catch (error) {
      if (error.name === 'AbortError') throw error;
      throw new Problem(0, { title: 'The service cannot be reached', detail: (options.method ?? 'GET') === 'GET' ? 'Connection lost. The page tries again by itself.' : 'Connection lost. Your request may or may not have been processed.', hints: ['Check that the service is running.'] });
    }
    if (response.headers.has('Date')) ahead = Date.parse(response.headers.get('Date')) - Date.now();
    if (response.status === 401 && options.ask !== false) {
      await askForKey(key ? 'This API key is not valid.' : '');
      continue;
    }
    if (!response.ok) throw new Problem(response.status, await response.json().catch(() => ({})));
    return response;
  }
}

export const json = async (path, options) => (await request(path, options)).json();
export const html = async (path, options) => (await request(path, options)).text();

/** Send JSON. */
export function post(path, body, options = {}) {
  return json(path, { ...options, method: 'POST', body: JSON.stringify(body), headers: { 'Content-Type': 'application/json', ...options.headers } });
}

/** One dialog for all requests that wait for a key. */
function askForKey(fault) {
  asked ??= new Promise((resolve) => {
    const dialog = document.getElementById('key-dialog'), form = document.getElementById('key-form'), input = document.getElementById('key');
    document.getElementById('key-fault').textContent = fault;
    input.value = '';
    if (!dialog.open) dialog.showModal();
    dialog.oncancel = (event) => event.preventDefault();
    form.onsubmit = (event) => {
      event.preventDefault();
      if (!input.value.trim()) return;
      sessionStorage.setItem(KEY, input.value.trim());
      dialog.close();
      asked = null;
      resolve();
    };
  });
  return asked;
}

/**
 * Every change of a job, until it has ended: by server-sent events, and where these do not get through, by asking.
 * While the service is away, `{lost: true}`; it is asked until it is back.
 */
export async function* changes(job, signal) {
  let last = null, failures = 0;
  for (;;) {
    try {
      if (failures < 3) {
        const headers = last === null ? {} : { 'Last-Event-ID': last };
        const response = await request(`/v1/jobs/${job}/events`, { headers, signal });
        if (response.status === 204) return;
        for await (const { id, data } of messages(response.body)) {
          last = id ?? last;
          failures = 0;
          yield JSON.parse(data);
        }
        // A stream ends with its job, or with the service; the next answer tells which.
      } else {
        const record = await json(`/v1/jobs/${job}`, { headers: { Prefer: 'wait=10' }, signal });
        yield record;
        if (ended(record.state)) return;
      }
    } catch (error) {
      if (error.name === 'AbortError' || (error instanceof Problem && !isAway(error))) throw error;
      if (failures >= 3) yield { lost: true };
      failures++;
    }
    await pause(failures < 3 ? 500 : 1000, signal);
  }
}

export const ended = (state) => ['succeeded', 'failed', 'cancelled'].includes(state);

/** Server-sent events of a body: {id, data}. */
async function* messages(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).replaceAll('\r\n', '\n').split('\n\n');
    rest = blocks.pop();
    for (const block of blocks) {
      const event = { id: null, data: '' };
      for (const line of block.split('\n')) {
        if (line.startsWith('id:')) event.id = line.slice(3).trim();
        if (line.startsWith('data:')) event.data += line.slice(5).trim();
      }
      if (event.data) yield event;
    }
  }
}

function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener('abort', () => { clearTimeout(timer); reject(new DOMException('left', 'AbortError')); }, { once: true });
  });
}
