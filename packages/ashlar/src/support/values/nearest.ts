/** The number of single-character edits that turn `a` into `b`. */
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
 * Reports whether two names differ only in capitals, hyphens, underscores and dots: `idle_minutes` and `idleMinutes`.
 */
export function isSpeltAlike(a: string, b: string): boolean {
  return bare(a) === bare(b);
}

function bare(name: string): string {
  return name.replaceAll(/[-_. ]/g, "").toLowerCase();
}

/** The words of a name, however they are joined: `idleMinutes`, `idle_minutes`, `idle.minutes`. */
function wordsOf(name: string): string[] {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== "");
}

/** Whether one name contains all words of the other: `lifetime` and `lifetimeMinutes`. */
function sharesWords(a: string, b: string): boolean {
  const [fewer, more] = [wordsOf(a), wordsOf(b)].toSorted((one, other) => one.length - other.length);
  return fewer!.length > 0 && fewer!.every((word) => more!.includes(word));
}

/**
 * Returns the known names closest to an unknown one, for error messages.
 *
 * @param name the unknown name
 * @param known the names that exist
 * @returns at most three of them, the closest first; none if nothing is close
 */
export function nearest(name: string, known: Iterable<string>): string[] {
  const candidates = [...known];
  const reach = Math.max(2, Math.floor(name.length / 3));
  const near = candidates
    .map((candidate) => ({ candidate, distance: distanceOf(name, candidate) }))
    .filter(({ distance }) => distance <= reach)
    .sort((a, b) => a.distance - b.distance)
    // A name that differs only in capitals and separators is probably the intended one.
    .filter(({ distance }, _, [closest]) => distance === 0 || closest!.distance > 0)
    .map(({ candidate }) => candidate);
  return (near.length > 0 ? near : candidates.filter((candidate) => sharesWords(name, candidate))).slice(0, 3);
}

function distanceOf(name: string, candidate: string): number {
  return isSpeltAlike(name, candidate) ? 0 : editDistance(name.toLowerCase(), candidate.toLowerCase());
}

/** `Did you mean "a" or "b"?`, or nothing if no name is close. */
export function didYouMean(name: string, known: Iterable<string>): string {
  const near = nearest(name, known).map((one) => `"${one}"`);
  return near.length === 0 ? "" : `Did you mean ${near.join(" or ")}?`;
}

/** `Did you mean "a" or "b"?`, or the complete list if nothing is close; empty if nothing is known. */
export function suggestion(name: string, known: Iterable<string>): string {
  const names = [...known];
  const near = didYouMean(name, names);
  if (near !== "" || names.length === 0) return near;
  const quoted = names.toSorted().map((one) => `"${one}"`);
  return `Known are ${quoted.join(", ")}.`;
}
