/** Returns the segments of a path or pattern: `a`, `b` for `/a/b` and `/a/b/`. */
function segmentsOf(path: string): string[] {
  const start = path.startsWith("/") ? 1 : 0;
  const end = path.length > start && path.endsWith("/") ? path.length - 1 : path.length;
  return path.slice(start, end).split("/");
}

/** Returns text decoded once, with accented letters in one form. Text that can't be decoded stays unchanged. */
function meant(text: string): string {
  try {
    return decodeURIComponent(text).normalize();
  } catch {
    return text;
  }
}

/**
 * Reports whether a segment matches a glob's segment, in which `*` stands for any text, even none. Never backtracks.
 */
function matchesSegment(given: string, wanted: string): boolean {
  const [first, ...others] = wanted.split("*").map(meant);
  const last = others.pop();
  if (last === undefined) return given === first;
  if (given.length < first!.length + last.length || !given.startsWith(first!) || !given.endsWith(last)) return false;
  const end = given.length - last.length;
  let at = first!.length;
  for (const part of others) {
    const found = given.indexOf(part, at);
    if (found === -1 || found + part.length > end) return false;
    at = found + part.length;
  }
  return true;
}

/**
 * Reports whether a path matches a glob, anchored at both ends.
 *
 * An inner `*` stands for exactly one segment, a trailing `*` for one or more, a lone `*` for everything. Next to other
 * characters, it stands for any text within the segment: `/user*` matches `/users`, but not `/users/7`. A leading slash
 * is optional, and a trailing one makes no difference. Each segment is checked once, so no pattern or path can make
 * this slow.
 *
 * Escapes are decoded in both path and glob: `/%61dmin` is `/admin`. An escaped slash is part of its segment, and `%2A`
 * in a glob is a literal asterisk.
 *
 * @param path the path of a URL, unchanged
 * @param glob such as `/orders/*`
 */
export function matchesGlob(path: string, glob: string): boolean {
  if (glob === "*") return true;
  const wanted = segmentsOf(glob);
  const given = segmentsOf(path);
  const open = wanted.at(-1) === "*";
  if (open ? given.length < wanted.length : given.length !== wanted.length) return false;
  return wanted.every((segment, index) =>
    segment === "*" ? given[index] !== "" : matchesSegment(meant(given[index]!), segment),
  );
}
