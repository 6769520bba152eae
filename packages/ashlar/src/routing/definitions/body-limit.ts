import { AshlarError } from "../../support/index.ts";
import "../errors.ts";

/** The largest body that a route accepts: in bytes, or with a unit, such as `"10mb"`. A kilobyte has 1024 bytes. */
export type BodyLimit = number | `${number}kb` | `${number}mb` | `${number}gb`;

const UNITS: Readonly<Record<string, number>> = { kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3 };
/** The maximum for any body that is not streamed, because only a form's files are kept out of memory. */
const MOST = 2 * 1024 ** 3;

/**
 * Returns a limit in bytes.
 *
 * @param isStreamed whether the handler streams the body, which may then have any size
 * @throws `E_INVALID_ROUTE` unless the limit is from 1 byte to 2 GiB
 */
export function bodyLimitBytes(limit: unknown, isStreamed = false): number {
  const [, digits, unit] = typeof limit === "string" ? (/^(\d+(?:\.\d+)?)(kb|mb|gb)$/.exec(limit) ?? []) : [];
  const bytes = digits === undefined ? limit : Math.floor(Number(digits) * UNITS[unit!]!);
  if (isStreamed && limit === Number.POSITIVE_INFINITY) return limit;
  const most = isStreamed ? Number.MAX_SAFE_INTEGER : MOST;
  if (Number.isSafeInteger(bytes) && (bytes as number) >= 1 && (bytes as number) <= most) return bytes as number;
  const given = typeof limit === "string" ? `"${limit}"` : String(limit);
  const remedy = isStreamed ? "or Infinity" : "up to 2gb; more needs streamsFiles() or streamsBody()";
  throw new AshlarError(
    "E_INVALID_ROUTE",
    `bodyLimit(${given}): write "512kb", "10mb", or a number of bytes, ${remedy}.`,
  );
}
