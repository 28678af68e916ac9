// Elements of the page, made and put where they belong.

/** A new last child. */
export function add(parent, tag, className = '', text = '') {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text) made.textContent = text;
  parent.append(made);
  return made;
}
