import { type Authenticatable, asAuthenticatable } from "../../auth/index.ts";
import type { HttpContext } from "../../http/index.ts";
import { digest } from "../../security/index.ts";
import { AshlarError, now, type RegisteredUser, ValidationError } from "../../support/index.ts";
import { CHALLENGE_LIMIT } from "../ceremony/challenges.ts";
import { message } from "../messages.ts";
import type { PasskeyService } from "../passkey-service.ts";
import {
  MAX_PASSKEYS,
  type Passkey,
  passkeyNameFrom,
  type StoredPasskey,
  userHandleOf,
} from "../stored/passkey-store.ts";
import { newPasskey } from "./new-passkey.ts";
import { type CreationOptions, creationOptions, namesOf } from "./passkey-options.ts";
import "../../http/index.ts";

/** The key in the session of the id of a credential that no account has, or no longer has, until the browser learns of it. */
export const UNKNOWN = "passkeys.unknown";
/** How soon after a login with a password a browser may make a passkey by itself. */
const AFTER_PASSWORD_MS = 2 * 60_000;

/** The passkeys of the user who is logged in. `RequestPasskeys` adds what guests do with passkeys. */
export abstract class OwnPasskeys {
  readonly #context: HttpContext;
  readonly #service: PasskeyService;

  constructor(context: HttpContext, service: PasskeyService) {
    this.#context = context;
    this.#service = service;
  }

  /** @internal Not a field, so that nothing that prints this object shows the request. */
  protected get context(): HttpContext {
    return this.#context;
  }

  /** @internal */
  protected get service(): PasskeyService {
    return this.#service;
  }

  /**
   * The current user's passkeys, newest first.
   *
   * @throws `E_UNAUTHENTICATED`
   */
  async list(): Promise<readonly Passkey[]> {
    return (await this.service.store.list(await this.user())).map(shown);
  }

  /**
   * Options with which a browser makes a passkey for the current user.
   *
   * @throws `E_UNAUTHENTICATED`; `E_INVALID_INPUT` if the user has too many
   */
  async creationOptions(): Promise<CreationOptions> {
    const user = await this.user();
    const own = await this.service.store.list(user);
    this.#requireRoom(own);
    return this.#creationOptions("create", user, own);
  }

  /**
   * Adds the passkey in the input `credential` to the current user's account. The owner is notified by mail.
   *
   * @param name as the user has chosen it; if it is blank, the name of the authenticator's model or the password manager
   * @throws `E_INVALID_INPUT` if it doesn't hold, the name can't be one, or the user has too many; `E_UNAUTHENTICATED`;
   * `E_STALE_PROOF` if access to the account has just ended
   */
  async add(name?: unknown): Promise<Passkey> {
    const user = await this.user();
    const { store, database } = this.service;
    this.#requireRoom(await store.list(user));
    const purposes = ["create", "conditional"] as const;
    const { made, facts } = await newPasskey(this.context, this.service, purposes, this.subjectOf(user), name);
    return database.transaction(async () => {
      const added = await store.add(user, made, facts);
      if (added === "known") throw new ValidationError({ credential: [message("passkeys.known")] });
      if (added === null) throw new AshlarError("E_STALE_PROOF");
      await this.#report("passkeys.added", user, { id: added.id, name: facts.name });
      return shown((await store.list(user)).find(({ id }) => id === added.id)!);
    });
  }

  /**
   * Renames one of the current user's passkeys.
   *
   * @param id as in {@link list}; it may come from an input, of any type
   * @returns whether it existed and belonged to the user
   * @throws `E_INVALID_INPUT` if the name can't be one; `E_UNAUTHENTICATED`
   */
  async rename(id: unknown, name: unknown): Promise<boolean> {
    const user = await this.user();
    const chosen = passkeyNameFrom(name);
    if (chosen === null) throw new ValidationError({ name: [message("passkeys.nameInvalid")] });
    const key = keyFrom(id);
    if (key === null || !(await this.service.store.rename(user, key, chosen))) return false;
    await this.#report("passkeys.renamed", user, { id: key, name: chosen });
    return true;
  }

  /**
   * Removes one of the current user's passkeys, unless it is the last way to log in. The owner is notified by mail.
   *
   * @param id as in {@link list}; it may come from an input, of any type
   * @returns whether it existed and belonged to the user
   * @throws `E_INVALID_INPUT` if it is the last way to log in; `E_UNAUTHENTICATED`
   */
  async remove(id: unknown): Promise<boolean> {
    const user = await this.user();
    const { store } = this.service;
    const passkey = (await store.list(user)).find((one) => one.id === keyFrom(id));
    if (passkey === undefined) return false;
    let isRemoved = false;
    const isAllowed = await this.context.accounts.removeMethod(user as object as RegisteredUser, async () => {
      isRemoved = await store.remove(user, passkey.id);
      if (isRemoved) await this.#report("passkeys.removed", user, passkey);
    });
    if (!isAllowed) throw new ValidationError({ passkey: [message("passkeys.last")] });
    if (isRemoved) this.context.session.put(UNKNOWN, passkey.credentialId);
    return isRemoved;
  }

  /**
   * What the browser's password manager should know about the current user's passkeys: it hides those that were removed, and
   * shows the current name.
   *
   * @returns `unknown` is the id of the passkey that was just removed, or `null`. `create` are options with which the browser
   * makes a passkey by itself, if `PASSKEYS.createsAfterPassword` is on and the user has just logged in with a password; once
   * for each login. Otherwise `null`
   * @throws `E_UNAUTHENTICATED`
   */
  async signals(): Promise<{
    /** For password managers (WebAuthn Level 3 §5.1.10): `users` has the user handles, each with the ids of its credentials. */
    readonly signals: {
      readonly rpId: string;
      readonly name: string;
      readonly displayName: string;
      readonly users: readonly { readonly userId: string; readonly allAcceptedCredentialIds: readonly string[] }[];
    };
    readonly unknown: string | null;
    readonly create: CreationOptions | null;
  }> {
    const user = await this.user();
    const own = await this.service.store.list(user);
    const handles = [...new Set(own.flatMap(({ userHandle }) => userHandle ?? []))];
    const users = handles.map((userId) => {
      const ids = own.filter(({ userHandle }) => userHandle === userId).map(({ credentialId }) => credentialId);
      return { userId, allAcceptedCredentialIds: ids };
    });
    const signals = { rpId: this.service.party.domain(this.context), ...namesOf(user), users };
    const mayCreate = own.length < MAX_PASSKEYS && (await this.#takesCreation(user));
    const create = mayCreate ? this.#creationOptions("conditional", user, own) : null;
    return { signals, unknown: this.takeUnknown(), create };
  }

  /** @internal The id of a credential that the browser need not offer anymore. */
  protected takeUnknown(): string | null {
    const id = this.context.visitor === null ? null : this.context.session.pull(UNKNOWN);
    return typeof id === "string" ? id : null;
  }

  /** @internal Names a user in a challenge. */
  protected subjectOf(user: Authenticatable): string {
    return digest(`${this.context.auth.webGuard.name} ${user.authId()}`);
  }

  /** @internal @throws `E_UNAUTHENTICATED` */
  protected async user(): Promise<Authenticatable> {
    const user = await this.context.auth.webGuard.user();
    if (user === null) throw new AshlarError("E_UNAUTHENTICATED");
    return asAuthenticatable(user);
  }

  /** Whether the user's browser may make a passkey by itself now. Of concurrent requests of a login, one may. */
  async #takesCreation(user: Authenticatable): Promise<boolean> {
    const { party, throttle } = this.service;
    if (!party.createsAfterPassword) return false;
    const methods = await this.context.auth.webGuard.methods();
    const password = methods.find(({ by }) => by === "password");
    if (password === undefined || now() - password.at.getTime() > AFTER_PASSWORD_MS) return false;
    const login = digest(`conditional ${this.subjectOf(user)} ${password.at.getTime()}`);
    return (await throttle.consume(CHALLENGE_LIMIT, { account: login })).allowed;
  }

  #creationOptions(
    purpose: "create" | "conditional",
    user: Authenticatable,
    own: readonly StoredPasskey[],
  ): CreationOptions {
    const facts = { purpose, subject: this.subjectOf(user), userHandle: userHandleOf(own) };
    return creationOptions(this.context, this.service, facts, own, namesOf(user));
  }

  #requireRoom(own: readonly unknown[]): void {
    if (own.length < MAX_PASSKEYS) return;
    throw new ValidationError({ credential: [message("passkeys.tooMany", { count: MAX_PASSKEYS })] });
  }

  #report(
    name: "passkeys.added" | "passkeys.renamed" | "passkeys.removed",
    user: Authenticatable,
    { id: passkeyId, name: own }: Pick<Passkey, "id" | "name">,
  ): Promise<void> {
    const guard = this.context.auth.webGuard.name;
    return this.service.notices.report(name, this.context, { guard, user, passkeyId, name: own });
  }
}

function shown({ id, name, createdAt, lastUsedAt, isSynced }: StoredPasskey): Passkey {
  return { id, name, createdAt, lastUsedAt, isSynced };
}

function keyFrom(id: unknown): string | null {
  if (typeof id === "number") return String(id);
  return typeof id === "string" ? id : null;
}
