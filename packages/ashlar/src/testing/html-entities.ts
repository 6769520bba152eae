/** The named references that templates and people write; any other stays as it stands. */
const NAMED: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: "\u00a0",
  copy: "©",
  reg: "®",
  trade: "™",
  euro: "€",
  hellip: "…",
  mdash: "—",
  ndash: "–",
  lsquo: "‘",
  rsquo: "’",
  ldquo: "“",
  rdquo: "”",
  laquo: "«",
  raquo: "»",
  middot: "·",
  bull: "•",
  times: "×",
  larr: "←",
  rarr: "→",
};

const REFERENCE = /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{1,8}));/gi;

/** Text without the character references of HTML in it. */
export function decodeEntities(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(REFERENCE, (reference, decimal?: string, hexadecimal?: string, name?: string) => {
    if (name !== undefined) return Object.hasOwn(NAMED, name) ? NAMED[name]! : reference;
    const code = decimal === undefined ? Number.parseInt(hexadecimal!, 16) : Number(decimal);
    const isCharacter = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
    return isCharacter ? String.fromCodePoint(code) : "\ufffd";
  });
}
