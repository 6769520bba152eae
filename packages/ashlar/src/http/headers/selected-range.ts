/** A file, or other content whose bytes are known to be unchanged. */
export interface Representation {
  /** A strong validator, in quotes (RFC 9110 §8.8.3). */
  readonly etag: string;
  readonly modifiedMs: number;
  readonly length: number;
}

/** The content that a request selects: everything, one range (`end` is its last byte), or no content. */
export type Selection =
  | { readonly status: 200 | 304 | 412 | 416 }
  | { readonly status: 206; readonly start: number; readonly end: number };

type ReadHeader = (name: string) => string | null;

/**
 * Evaluates the preconditions of a request, in the order of RFC 9110 §13.2.2, and then its `Range`. Only single ranges are
 * supported; a request for several gets the complete content (§14.2 allows that).
 *
 * @param method only GET and HEAD have conditions that end in 304, and only GET has ranges
 * @param header the value of a header; `null` if it is missing
 */
export function selectedRange(method: string, header: ReadHeader, file: Representation): Selection {
  if (method !== "GET" && method !== "HEAD") return { status: 200 };
  const match = header("if-match");
  if (match !== null ? !lists(match, file.etag) : isSince(file, header("if-unmodified-since"))) return { status: 412 };
  const noneMatch = header("if-none-match");
  if (noneMatch !== null ? lists(noneMatch, file.etag, true) : isBy(file, header("if-modified-since"))) {
    return { status: 304 };
  }
  const range = method === "GET" ? header("range") : null;
  return range === null || !mayBeRange(file, header("if-range")) ? { status: 200 } : parse(range, file.length);
}

/** Whether a list of tags contains a tag, by strong comparison unless specified otherwise (RFC 9110 §8.8.3.2). */
function lists(value: string, etag: string, weakly = false): boolean {
  if (value.trim() === "*") return true;
  const tags = value.match(/(?:W\/)?"[^"]*"/g) ?? [];
  return tags.some((tag) => tag === etag || (weakly && tag === `W/${etag}`));
}

/** HTTP dates have a resolution of one second. */
function secondsOf(ms: number): number {
  return Math.floor(ms / 1000);
}

function isBy({ modifiedMs }: Representation, date: string | null): boolean {
  return date !== null && secondsOf(modifiedMs) <= secondsOf(Date.parse(date));
}

function isSince({ modifiedMs }: Representation, date: string | null): boolean {
  return date !== null && secondsOf(modifiedMs) > secondsOf(Date.parse(date));
}

/** Whether a range may be sent. It is useful only if the client has the rest of the same content (RFC 9110 §13.1.5). */
function mayBeRange({ etag, modifiedMs }: Representation, condition: string | null): boolean {
  if (condition === null || condition.includes('"')) return condition === null || condition.trim() === etag;
  return secondsOf(modifiedMs) === secondsOf(Date.parse(condition));
}

function parse(range: string, length: number): Selection {
  const [whole, first = "", last = ""] = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i.exec(range) ?? [];
  if (whole === undefined || (first === "" && last === "")) return { status: 200 };
  // "-5" means the last five bytes.
  const start = first === "" ? Math.max(0, length - Number(last)) : Number(first);
  const end = first === "" || last === "" ? length - 1 : Math.min(Number(last), length - 1);
  if (last !== "" && Number(last) < Number(first)) return { status: 200 };
  return start >= length ? { status: 416 } : { status: 206, start, end };
}
