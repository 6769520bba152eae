import { digest } from "../../security/index.ts";
import { AshlarError, isThenable, type MaybePromise } from "../../support/index.ts";
import type { SessionKeeper, SessionRecord } from "../stores/session-keeper.ts";
import type { SessionStore, StoredSession } from "../stores/session-store.ts";
import type { CompleteSessionSettings } from "../stores/settings.ts";
import { endOf } from "./session-manager.ts";
import "../errors.ts";

const ID = /^[\w-]{43}$/;

/**
 * Keeps sessions in a store, under the digest of the id in the cookie, so that a leaked store gives access to no
 * session.
 *
 * A request that changes nothing writes nothing. If two concurrent requests both change the session, the last one to
 * finish wins. A session that has ended in the meantime is not restored.
 */
export class StoredSessions implements SessionKeeper {
  readonly isRemote = true;
  readonly maxBytes: number;
  readonly remedy = "Keep large values in a separate table, and only their ids in the session.";
  readonly #store: SessionStore;
  readonly #settings: CompleteSessionSettings;

  constructor(store: SessionStore, settings: CompleteSessionSettings) {
    this.#store = store;
    this.#settings = settings;
    this.maxBytes = store.maxBytes;
  }

  get isLocal(): boolean {
    return this.#store.isLocal === true;
  }

  find(cookie: string): MaybePromise<SessionRecord | null> {
    if (!ID.test(cookie)) return null;
    const found = this.#store.read(digest(cookie));
    return isThenable(found) ? Promise.resolve(found).then((stored) => record(cookie, stored)) : record(cookie, found);
  }

  cookieFor({ id }: SessionRecord): string {
    return id;
  }

  async save(record: SessionRecord, previous: SessionRecord | null): Promise<boolean> {
    const { id, createdAt, usedAt, contents } = record;
    const session = { createdAt, usedAt, contents };
    const expiresAt = endOf(record, this.#settings);
    if (previous?.id === id) {
      // Only updates, because creating it would restore a session that a concurrent request has ended.
      const isKept: unknown = await this.#store.update(digest(id), session, expiresAt);
      if (typeof isKept === "boolean") return isKept;
      throw new AshlarError("E_SESSION", "The session store's update() must return whether the session existed.");
    }
    if (previous !== null && this.#store.replace !== undefined) {
      await this.#store.replace(digest(previous.id), digest(id), session, expiresAt);
      return true;
    }
    await this.#store.create(digest(id), session, expiresAt);
    if (previous !== null) await this.remove(previous);
    return true;
  }

  async remove({ id }: SessionRecord): Promise<void> {
    await this.#store.destroy(digest(id));
  }

  /** Where sessions are kept. */
  get store(): SessionStore {
    return this.#store;
  }

  connect(): Promise<void> | undefined {
    return this.#store.connect?.();
  }

  check(): Promise<void> | undefined {
    return this.#store.check?.();
  }

  prune(usedBefore: number, createdBefore: number): MaybePromise<number> {
    return this.#store.prune?.(usedBefore, createdBefore) ?? 0;
  }

  close(): MaybePromise<void> {
    return this.#store.close();
  }
}

function record(id: string, stored: StoredSession | null): SessionRecord | null {
  if (stored === null) return null;
  const { createdAt, usedAt, contents } = Object(stored) as StoredSession;
  // A session with invalid times would never expire.
  if (Number.isFinite(createdAt) && Number.isFinite(usedAt) && typeof contents === "string")
    return { id, createdAt, usedAt, contents };
  const remedy = "It must return null, or { createdAt, usedAt, contents }: two numbers and a string.";
  throw new AshlarError("E_SESSION", `The session store's read() returned something that is not a session. ${remedy}`);
}
