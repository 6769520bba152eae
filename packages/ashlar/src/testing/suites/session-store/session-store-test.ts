import { createHash } from "node:crypto";
import { randomToken } from "../../../security/index.ts";
import type { SessionStore, StoredSession } from "../../../session/index.ts";

export const HOUR_MS = 3_600_000;
export const START: number = Date.UTC(2030, 0, 1);
/** A time after the end of any test, so that a store that expires entries by itself keeps them during a test. */
export const EXPIRES_AT: number = Date.UTC(2100, 0, 1);

/** A key as the framework creates it. */
export function key(): string {
  return createHash("sha256").update(randomToken()).digest("base64url");
}

export function session(own: Partial<StoredSession> = {}): StoredSession {
  return { createdAt: START, usedAt: START + 1234, contents: '{"d":{"a":1}}', ...own };
}

/** Reads a stored session, without members that aren't part of the contract. */
export async function read(store: SessionStore, one: string): Promise<StoredSession | null> {
  const found = await store.read(one);
  if (found === null) return null;
  const { createdAt, usedAt, contents } = found;
  return { createdAt, usedAt, contents };
}
