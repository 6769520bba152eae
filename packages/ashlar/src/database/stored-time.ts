/**
 * Returns the milliseconds since 1970 of a time as rows hold it as text: `2026-01-31T12:00:00.000Z`, which the
 * framework writes, or `2026-01-31 12:00:00`, as SQLite's CURRENT_TIMESTAMP writes it, which is in UTC. Anything else
 * is parsed by `Date`; `NaN` if it is not a time.
 *
 * Every row has times, and `Date` takes several times as long for the same text.
 */
export function parseTime(text: string): number {
  return parseUsual(text) ?? Date.parse(withZone(text));
}

/** Returns the time of a text that has one of the two forms exactly; `null` for any other. */
function parseUsual(text: string): number | null {
  const isIso = text.length === 24 && text[10] === "T" && text[19] === "." && text[23] === "Z";
  if (!isIso && !(text.length === 19 && text[10] === " ")) return null;
  if (text[4] !== "-" || text[7] !== "-" || text[13] !== ":" || text[16] !== ":") return null;
  const year = digits(text, 0, 4);
  const month = digits(text, 5, 7);
  const day = digits(text, 8, 10);
  const hour = digits(text, 11, 13);
  const minute = digits(text, 14, 16);
  const second = digits(text, 17, 19);
  const millisecond = isIso ? digits(text, 20, 23) : 0;
  // Date.UTC normalizes numbers that are out of range, and takes years before 100 as the 20th century.
  const isDate = year >= 100 && month >= 1 && month <= 12 && day >= 1 && day <= 31;
  const isTime = hour <= 23 && minute <= 59 && second <= 59 && millisecond <= 999;
  return isDate && isTime ? Date.UTC(year, month - 1, day, hour, minute, second, millisecond) : null;
}

/** Parses part of a text as a number; `NaN` if it isn't all digits. */
function digits(text: string, start: number, end: number): number {
  let value = 0;
  for (let at = start; at < end; at++) {
    const digit = text.charCodeAt(at) - 48;
    if (digit < 0 || digit > 9) return Number.NaN;
    value = value * 10 + digit;
  }
  return value;
}

function withZone(text: string): string {
  return /^\d{4}-\d\d-\d\d[ T][\d:.]+$/.test(text) ? `${text.replace(" ", "T")}Z` : text;
}
