// Several files as one ZIP archive, stored without compression.

const TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let k = 0; k < 8; k++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n >>> 0;
});

/** The archive as a Blob; files of the same name are told apart by a number. */
export async function zipOf(files) {
  const parts = [], entries = [], names = new Set();
  let offset = 0;
  for (const file of files) {
    let name = file.name;
    for (let k = 2; names.has(name); k++) name = `${k}-${file.name}`;
    names.add(name);
    const bytes = new Uint8Array(await file.arrayBuffer()), title = new TextEncoder().encode(name);
    // Version 2.0, names in UTF-8, stored, 1 January 1980.
    const common = [[20, 2], [0x800, 2], [0, 2], [0, 2], [33, 2], [checksum(bytes), 4], [bytes.length, 4], [bytes.length, 4], [title.length, 2], [0, 2]];
    parts.push(packed([[0x04034b50, 4], ...common]), title, bytes);
    entries.push(packed([[0x02014b50, 4], [20, 2], ...common, [0, 2], [0, 2], [0, 2], [0, 4], [offset, 4]]), title);
    offset += 30 + title.length + bytes.length;
  }
  const size = entries.reduce((sum, part) => sum + part.length, 0);
  return new Blob([...parts, ...entries, packed([[0x06054b50, 4], [0, 2], [0, 2], [files.length, 2], [files.length, 2], [size, 4], [offset, 4], [0, 2]])]);
}

function packed(fields) {
  const bytes = new Uint8Array(fields.reduce((sum, [, width]) => sum + width, 0)), view = new DataView(bytes.buffer);
  let at = 0;
  for (const [value, width] of fields) {
    width === 2 ? view.setUint16(at, value, true) : view.setUint32(at, value, true);
    at += width;
  }
  return bytes;
}

function checksum(bytes) {
  let crc = ~0;
  for (const byte of bytes) crc = TABLE[(crc ^ byte) & 255] ^ (crc >>> 8);
  return ~crc >>> 0;
}
