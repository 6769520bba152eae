import { UniqueViolationError } from "../../database/index.ts";
import { normalizeEmail } from "../../security/index.ts";
import { isAddress, normalizeIdentifier } from "../passwords/verify-credentials.ts";
import type { AccountStore, AccountUser } from "../users/account-store.ts";
import { BATCH, type NormalForm, type OtherSpelling, type SpelledUsers, type StoredText } from "./spelled-users.ts";

/** A store that can list its accounts. */
type ListingStore = AccountStore & Required<Pick<AccountStore, "accountsAfter">>;

/** Reports whether a store can list its accounts. */
export function listsAccounts(store: AccountStore): store is ListingStore {
  return typeof store.accountsAfter === "function";
}

/** The users of an application's own store. */
export class StoreSpellings implements SpelledUsers {
  readonly columns: ReadonlyMap<string, NormalForm>;
  readonly #store: ListingStore;

  constructor(store: ListingStore) {
    this.#store = store;
    const name: NormalForm = (text) => (isAddress(store, text) ? null : normalizeIdentifier(store, text));
    this.columns = new Map<string, NormalForm>([
      [store.identifierColumn, name],
      ["email", normalizeEmail],
    ]);
  }

  get what(): string {
    return `the accounts of ${this.#store.name}`;
  }

  async visit(visit: (texts: readonly StoredText[]) => void, signal?: AbortSignal): Promise<void> {
    let last: AccountUser | undefined;
    while (signal?.aborted !== true) {
      const users = await this.#store.accountsAfter(last?.authId() ?? null, BATCH);
      visit(users.flatMap((user) => [...this.columns.keys()].flatMap((column) => textOf(user, column))));
      last = users.at(-1);
      if (last === undefined) break;
    }
  }

  async holders(column: string, normals: readonly string[]): Promise<readonly StoredText[]> {
    const found: StoredText[] = [];
    for (const normal of normals) {
      const user = await (column === "email" ? this.#store.findByEmail(normal) : this.#store.findByIdentifier(normal));
      if (user !== null) found.push(...textOf(user, column).filter(({ stored }) => stored === normal));
    }
    return found;
  }

  async mend(spellings: readonly OtherSpelling[]): Promise<readonly OtherSpelling[]> {
    const mended: OtherSpelling[] = [];
    for (const one of spellings) if (await this.#mend(one)) mended.push(one);
    return mended;
  }

  async #mend({ id, column, stored, normal }: OtherSpelling): Promise<boolean> {
    const store = this.#store;
    const user = await store.findByAuthId(id);
    if (user === null || textOf(user, column)[0]?.stored !== stored) return false;
    const isSet = column === "email" || store.attributeKind(column) !== null;
    if (!isSet) return false;
    const changes = column === "email" ? { email: normal } : { attributes: { [column]: normal } };
    try {
      const asRead = { ...(user.email !== null && { email: user.email }), accessEpoch: user.accessEpoch() };
      return (await store.update(user, changes, asRead)) !== null;
    } catch (error) {
      if (error instanceof UniqueViolationError) return false;
      throw error;
    }
  }
}

function textOf(user: AccountUser, column: string): StoredText[] {
  const stored = (user as unknown as Readonly<Record<string, unknown>>)[column];
  return typeof stored === "string" ? [{ id: user.authId(), column, stored }] : [];
}
