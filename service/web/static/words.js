// Messages in the words of the page: see service/web/words.py.

let table = null;

/** A message of the service, with the labels of fields for its parameters. */
export function onPage(text) {
  table ??= JSON.parse(document.getElementById('words').dataset.table).map(({ pattern, said }) => [new RegExp(pattern, 'g'), said]);
  return table.reduce((made, [pattern, said]) => made.replace(pattern, said), text ?? '');
}
