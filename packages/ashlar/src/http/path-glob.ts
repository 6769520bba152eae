/** Returns the segments of a path or pattern: `a`, `b` for `/a/b` and `/a/b/`. */
function segmentsOf(path: string): string[] {
  const start = path.startsWith("/") ? 1 : 0;
  const end = path.length > start && path.endsWith("/") ? path.length - 1 : path.length;
  return path.slice(start, end).split("/");
}

/**
 * Reports whether a path matches a glob, anchored at both ends.
 *
 * An inner `*` is exactly one segment, a trailing `*` one or more, a lone `*` everything. An asterisk next to other
 * characters stands for itself. A leading slash is optional and a trailing one makes no difference. Each segment is
 * checked once, so that no pattern and no path can make this slow.
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
  return wanted.every((segment, index) => (segment === "*" ? given[index] !== "" : given[index] === segment));
}
