/** How many single-character edits turn `a` into `b`. */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const substitution = previous[column - 1]! + (a[row - 1] === b[column - 1] ? 0 : 1);
      current.push(Math.min(previous[column]! + 1, current[column - 1]! + 1, substitution));
    }
    previous = current;
  }
  return previous[b.length]!;
}

/**
 * The known names that come nearest to one that is not known, for error messages.
 *
 * @param name what was asked for
 * @param known the names that exist
 * @returns at most three of them, the nearest first; none where nothing is near
 */
export function nearest(name: string, known: Iterable<string>): string[] {
  const reach = Math.max(2, Math.floor(name.length / 3));
  return [...known]
    .map((candidate) => ({ candidate, distance: editDistance(name.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ distance }) => distance <= reach)
    .sort((a, b) => a.distance - b.distance)
    .slice(0, 3)
    .map(({ candidate }) => candidate);
}

/** `Did you mean "a" or "b"?`, or the whole list where nothing is near; empty where nothing is known. */
export function suggestion(name: string, known: Iterable<string>): string {
  const names = [...known];
  const near = nearest(name, names);
  const quoted = (list: readonly string[]) => list.map((one) => `"${one}"`);
  if (near.length > 0) return `Did you mean ${quoted(near).join(" or ")}?`;
  return names.length > 0 ? `Known are ${quoted(names.toSorted()).join(", ")}.` : "";
}
