import type { SessionStore } from "../../src/public/session.ts";

type StoredSession = Parameters<SessionStore["create"]>[1];

/** A session store as an application could write it, in the process's memory. */
export class MemorySessions implements SessionStore {
  readonly maxBytes = 10_000;
  /** The stored sessions, by key. */
  readonly sessions: Map<string, StoredSession> = new Map();
  isClosed = false;

  read(key: string): StoredSession | null {
    return this.sessions.get(key) ?? null;
  }

  create(key: string, session: StoredSession): void {
    this.sessions.set(key, session);
  }

  update(key: string, session: StoredSession): boolean {
    if (!this.sessions.has(key)) return false;
    this.sessions.set(key, session);
    return true;
  }

  destroy(key: string): void {
    this.sessions.delete(key);
  }

  prune(usedBefore: number, createdBefore: number): number {
    const ended = [...this.sessions].filter(([, { createdAt, usedAt }]) => {
      return usedAt <= usedBefore || createdAt <= createdBefore;
    });
    for (const [key] of ended) this.sessions.delete(key);
    return ended.length;
  }

  close(): void {
    this.isClosed = true;
  }
}
