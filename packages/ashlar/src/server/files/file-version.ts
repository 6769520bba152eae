import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";

const DIGEST_LENGTH = 10;

/** Returns a file's fingerprint: ten hexadecimal digits of its SHA-256; `null` if the file can't be read. */
export type FileVersions = (path: string) => string | null;

interface Known {
  readonly modifiedMs: number;
  readonly bytes: number;
  readonly version: string;
}

/**
 * Creates {@link FileVersions}, which read a file again when its size or modification time changes.
 *
 * @param maxBytes the size above which a file isn't read and has no fingerprint; default: unlimited
 */
export function fileVersions(maxBytes: number = Number.POSITIVE_INFINITY): FileVersions {
  const known = new Map<string, Known>();
  return (path) => {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat?.isFile() !== true || stat.size > maxBytes) return null;
    const { mtimeMs: modifiedMs, size: bytes } = stat;
    const before = known.get(path);
    if (before?.modifiedMs === modifiedMs && before.bytes === bytes) return before.version;
    try {
      const version = createHash("sha256").update(readFileSync(path)).digest("hex").slice(0, DIGEST_LENGTH);
      known.set(path, { modifiedMs, bytes, version });
      return version;
    } catch {
      return null;
    }
  };
}
