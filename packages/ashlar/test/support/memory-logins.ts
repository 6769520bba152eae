import { randomUUID } from "node:crypto";
import type { LoginStore } from "../../src/public/auth.ts";

/** The arguments of a call to the store. */
type Given<Method extends keyof LoginStore> = Parameters<NonNullable<LoginStore[Method]>>;
type Owner = Given<"list">[0];
export type StoredLogin = Given<"start">[0] & { readonly id: string };

/** A custom store in the process's memory, with keys that aren't numbers. */
export class MemoryLogins implements LoginStore {
  readonly logins: Map<string, StoredLogin> = new Map();

  async find(guard: string, tokenHash: string): Promise<StoredLogin | null> {
    return this.#all().find((login) => login.guard === guard && login.tokenHash === tokenHash) ?? null;
  }

  async findToken(guard: string, tokenHashes: readonly string[]): Promise<string | null> {
    const found = this.#all().find((login) => login.guard === guard && tokenHashes.includes(login.tokenHash));
    return found?.tokenHash ?? null;
  }

  async start(...[login, proof]: Given<"start">): Promise<string | null> {
    const id = randomUUID();
    this.logins.set(id, { ...login, id });
    if (await proof.holds()) return id;
    this.logins.delete(id);
    return null;
  }

  async renew(...[owned, renewal, proof]: Given<"renew">): Promise<boolean> {
    const login = this.#of(owned).find(({ id }) => id === owned.id);
    if (login?.accessEpoch !== proof.accessEpoch || login.tokenHash !== owned.tokenHash) return false;
    const { id, tokenHash, authenticatedAt } = login;
    this.logins.set(id, { ...login, ...renewal });
    if (await proof.holds()) return true;
    const current = this.logins.get(id);
    // Only if it still has this token: the login may have ended, or have a newer token.
    if (current?.tokenHash === renewal.tokenHash) this.logins.set(id, { ...current, tokenHash, authenticatedAt });
    return false;
  }

  async touch(...[{ guard, id, ip, userAgent, lastUsedAt, expiresAt }]: Given<"touch">): Promise<void> {
    const login = this.#get(guard, id);
    if (login !== undefined) this.logins.set(id, { ...login, ip, userAgent, lastUsedAt, expiresAt });
  }

  async list(...[owner, range]: Given<"list">): Promise<readonly StoredLogin[]> {
    const { limit, olderThan, newerThan, accessEpoch } = range;
    const newestFirst = this.#of(owner).reverse();
    const indexOf = (key: string) => newestFirst.findIndex(({ id }) => id === key);
    const older = olderThan == null ? newestFirst : newestFirst.slice(indexOf(olderThan) + 1);
    const within = newerThan == null ? older : newestFirst.slice(0, Math.max(indexOf(newerThan), 0));
    const wanted = within.filter((login) => accessEpoch === undefined || login.accessEpoch === accessEpoch);
    return newerThan == null ? wanted.slice(0, limit) : wanted.slice(-limit);
  }

  async end(...[login]: Given<"end">): Promise<boolean> {
    const found =
      login.tokenHash === undefined
        ? this.#of(login).find(({ id }) => id === login.id)
        : await this.find(login.guard, login.tokenHash);
    return found != null && this.logins.delete(found.id);
  }

  async endAll(...[owner, kept = null]: Given<"endAll">): Promise<number> {
    const ended = this.#of(owner).filter(({ id }) => id !== kept?.id);
    for (const { id } of ended) this.logins.delete(id);
    const current = this.#of(owner)[0];
    if (current !== undefined && kept !== null)
      this.logins.set(current.id, { ...current, ...kept.renewal, accessEpoch: kept.accessEpoch });
    return ended.length;
  }

  async endOldest(owner: Owner, keep: number): Promise<number> {
    const active = this.#of(owner).filter(({ accessEpoch, expiresAt }) => {
      return accessEpoch !== "pending" && expiresAt.getTime() > Date.now();
    });
    const surplus = active.slice(0, -keep);
    for (const { id } of surplus) this.logins.delete(id);
    return surplus.length;
  }

  async prune(...[{ endedBefore, unusedSince, existingUsers }]: Given<"prune">): ReturnType<LoginStore["prune"]> {
    const pruned = { logins: 0, addresses: 0 };
    for (const login of this.#all()) {
      const existing = await existingUsers(login.guard, [login.userId]);
      if (login.expiresAt <= endedBefore || existing?.has(String(login.userId)) === false) {
        this.logins.delete(login.id);
        pruned.logins++;
      } else if (login.lastUsedAt <= unusedSince && (login.ip !== null || login.userAgent !== null)) {
        this.logins.set(login.id, { ...login, ip: null, userAgent: null });
        pruned.addresses++;
      }
    }
    return pruned;
  }

  #all(): StoredLogin[] {
    return [...this.logins.values()];
  }

  #get(guard: string, id: string): StoredLogin | undefined {
    const login = this.logins.get(id);
    return login?.guard === guard ? login : undefined;
  }

  #of({ guard, userId }: Owner): StoredLogin[] {
    return this.#all().filter((login) => login.guard === guard && String(login.userId) === String(userId));
  }
}
