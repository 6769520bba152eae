/** One entry of the header: a language range (RFC 4647 §2.1) in lower case, and its weight. */
type WeightedRange = readonly [range: string, weight: number];

const ENTRY = /^\s*(\*|[a-z]{1,8}(?:-[a-z0-9]{1,8})*)\s*(?:;\s*q\s*=\s*(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*)?$/i;

/**
 * The language of an answer by what the client prefers (RFC 9110 §12.5.4): the first of its ranges that an offered language
 * fits, the weightiest first, by Lookup (RFC 4647 §3.4): `de-CH` is content with `de`. A range that is shorter than what is
 * offered fits as well: `de` is content with `de-AT`.
 *
 * @param header `Accept-Language`; what is not readable in it is passed over
 * @param offered tags of languages (BCP 47), the preferred first
 * @returns one of `offered`, or `null` if none fits
 */
export function negotiateLanguage(header: string | null, offered: readonly string[]): string | null {
  const ranges = header === null ? [] : header.split(",").flatMap(readEntry);
  const refused = ranges.filter(([, weight]) => weight === 0).map(([range]) => range);
  const left = offered.filter((language) => !refused.some((range) => covers(range, language)));
  const wanted = ranges.filter(([, weight]) => weight > 0).sort(([, a], [, b]) => b - a);
  for (const [range] of wanted) {
    const found = range === "*" ? left[0] : lookup(range, left);
    if (found !== undefined) return found;
  }
  return null;
}

function readEntry(entry: string): WeightedRange[] {
  const [, range, weight = "1"] = ENTRY.exec(entry) ?? [];
  return range === undefined ? [] : [[range.toLowerCase(), Number(weight)]];
}

function lookup(range: string, offered: readonly string[]): string | undefined {
  for (let tag = range; tag !== ""; tag = shortened(tag)) {
    const found = offered.find((language) => language.toLowerCase() === tag);
    if (found !== undefined) return found;
  }
  return offered.find((language) => covers(range, language));
}

/** Without its last part, and without a single letter before that, which only introduces a part. */
function shortened(tag: string): string {
  return tag.replace(/(?:^|-)(?:[a-z0-9]-)?[^-]+$/, "");
}

/** Basic Filtering (RFC 4647 §3.3.1). `*` covers what no other range names, and refuses nothing here. */
function covers(range: string, language: string): boolean {
  const tag = language.toLowerCase();
  return tag === range || tag.startsWith(`${range}-`);
}
