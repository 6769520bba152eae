import { type Authenticatable, asAuthenticatable, type LoginGuard, type LoginResult } from "../../auth/index.ts";
import type { Application } from "../../boot/index.ts";
import type { HttpContext } from "../../http/index.ts";
import { digest } from "../../security/index.ts";
import { AshlarError, now, type RegisteredUser, ValidationError } from "../../support/index.ts";
import { CHALLENGE_LIMIT, CHALLENGE_SECONDS } from "../ceremony/challenges.ts";
import { readCredential } from "../ceremony/credential-input.ts";
import { ALGORITHMS, verifyNewCredential } from "../ceremony/webauthn.ts";
import { PASSKEY_LIMIT } from "../limits.ts";
import { message } from "../messages.ts";
import type { PasskeyService } from "../passkey-service.ts";
import { authenticatorName } from "../stored/authenticator-names.ts";
import {
  MAX_PASSKEYS,
  newUserHandle,
  PASSKEY,
  type Passkey,
  passkeyNameFrom,
  type StoredPasskey,
} from "../stored/passkey-store.ts";
import { claimedPasskey, type ProvedPasskey, verifyPasskey, type WantedProof } from "./verified-passkey.ts";
import "../../http/index.ts";

declare module "../../http/exchange/context.ts" {
  interface FrameworkContext {
    /** Passkeys: logging in with one, confirming with one, and those of the user who is logged in. */
    readonly passkeys: RequestPasskeys;
  }
}

/** The key in the session of the id of a credential that no account has, or no longer has, until the browser learns of it. */
const UNKNOWN = "passkeys.unknown";
/** How soon after a login with a password a browser may make a passkey by itself. */
const AFTER_PASSWORD_MS = 2 * 60_000;

/** Options for `PublicKeyCredential.parseRequestOptionsFromJSON`, without members that are left to the browser. */
interface RequestOptions {
  readonly challenge: string;
  readonly rpId: string;
  readonly timeout: number;
  readonly userVerification: "required" | "preferred";
  /** The credentials that can be used; empty for any. */
  readonly allowCredentials: readonly CredentialDescriptor[];
}

/** Options for `PublicKeyCredential.parseCreationOptionsFromJSON`. */
interface CreationOptions {
  readonly challenge: string;
  readonly rp: { readonly id: string; readonly name: string };
  readonly user: { readonly id: string; readonly name: string; readonly displayName: string };
  readonly pubKeyCredParams: readonly { readonly type: "public-key"; readonly alg: number }[];
  readonly timeout: number;
  readonly excludeCredentials: readonly CredentialDescriptor[];
  readonly authenticatorSelection: {
    readonly residentKey: "required";
    readonly requireResidentKey: true;
    readonly userVerification: "required" | "preferred";
  };
  readonly attestation: "none";
}

interface CredentialDescriptor {
  readonly type: "public-key";
  readonly id: string;
  readonly transports: readonly string[];
}

/** The facts about a user's passkeys that password managers get (WebAuthn Level 3 §5.1.10). */
interface PasskeySignals {
  readonly rpId: string;
  readonly name: string;
  readonly displayName: string;
  /** The user handles, each with the ids of its credentials. */
  readonly users: readonly { readonly userId: string; readonly allAcceptedCredentialIds: readonly string[] }[];
}

/**
 * The passkeys of a request: `context.passkeys`. Its methods take inputs as they arrive, whatever their type. A passkey comes
 * as the JSON of `PublicKeyCredential.toJSON()`, in a form as text.
 */
export class RequestPasskeys {
  readonly #context: HttpContext;
  readonly #service: PasskeyService;

  constructor(context: HttpContext, application: Application) {
    this.#context = context;
    this.#service = application.container.make("passkeys");
  }

  /**
   * Options with which a browser asks for a passkey to log in with: any, or, while a login waits for a step, one of its
   * user's. Each can be used once, within five minutes.
   *
   * @returns `unknown` is the id of a credential that the visitor has just tried, but that no account has; otherwise `null`
   */
  async loginOptions(): Promise<{ readonly options: RequestOptions; readonly unknown: string | null }> {
    const pending = this.#context.visitor === null ? null : await this.#context.auth.pendingLogin();
    const own = pending === null ? [] : await this.#service.store.list(pending.user);
    const options = this.#requestOptions("login", null, own, pending === null ? "required" : "preferred");
    return { options, unknown: this.#takeUnknown() };
  }

  /**
   * Logs in the user of the passkey in the input `assertion`, within the limit `passkeys`, with the active guard or another
   * one. The authenticator must have verified its user.
   *
   * @throws `E_TOO_MANY_REQUESTS`
   */
  async logIn(options: { readonly remember?: boolean } = {}, guard?: LoginGuard): Promise<LoginResult> {
    const own = guard ?? this.#context.auth.webGuard;
    const wanted = { guard: own.name, purpose: "login", subject: null, user: null } as const;
    const proved = await this.#verify({ ...wanted, requiresUserVerification: true });
    const { user, amr, unknownId } = proved;
    if (user !== null) return own.enter(user as RegisteredUser, { ...options, by: PASSKEY, amr });
    if (unknownId !== null && this.#context.visitor !== null) this.#context.session.put(UNKNOWN, unknownId);
    return own.fail({ by: PASSKEY, user: proved.claimed as RegisteredUser | null });
  }

  /**
   * Options with which a browser asks the current user for a passkey, to confirm who they are.
   *
   * @throws `E_UNAUTHENTICATED`
   */
  async confirmationOptions(): Promise<RequestOptions> {
    const user = await this.#user();
    return this.#requestOptions("confirm", this.#subject(user), await this.#service.store.list(user), "required");
  }

  /**
   * Confirms who the current user is by the passkey in the input `assertion`, as `auth.webGuard.confirm` does.
   *
   * @returns whether it counts; otherwise `auth.pending` names the step that it waits for, if any
   * @throws `E_UNAUTHENTICATED`; `E_TOO_MANY_REQUESTS`
   */
  async confirm(): Promise<boolean> {
    const { webGuard } = this.#context.auth;
    const user = await this.#user();
    const wanted = { guard: webGuard.name, purpose: "confirm", subject: this.#subject(user), user } as const;
    const { user: proved, amr } = await this.#verify({ ...wanted, requiresUserVerification: true });
    if (proved !== null) return webGuard.confirm({ by: PASSKEY, amr });
    await webGuard.fail({ by: PASSKEY, user: user as object as RegisteredUser });
    return false;
  }

  /**
   * The current user's passkeys, newest first.
   *
   * @throws `E_UNAUTHENTICATED`
   */
  async list(): Promise<readonly Passkey[]> {
    return (await this.#service.store.list(await this.#user())).map(shown);
  }

  /**
   * Options with which a browser makes a passkey for the current user.
   *
   * @throws `E_UNAUTHENTICATED`; `E_INVALID_INPUT` if the user has too many
   */
  async creationOptions(): Promise<CreationOptions> {
    const user = await this.#user();
    const own = await this.#service.store.list(user);
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
    const user = await this.#user();
    const chosen = typeof name === "string" && name.trim() !== "" ? passkeyNameFrom(name) : undefined;
    if (chosen === null) throw new ValidationError({ name: [message("passkeys.nameInvalid")] });
    const { challenges, party, store, database } = this.#service;
    this.#requireRoom(await store.list(user));
    const refused = new ValidationError({ credential: [message("passkeys.refused")] });
    const credential = readCredential(this.#context.request.bodyInput("credential"));
    if (credential === null || credential.attestationObject === null) throw refused;
    const purposes = ["create", "conditional"] as const;
    const facts = await challenges.take(this.#context, credential.challenge, purposes, this.#subject(user));
    if (facts === null || facts.userHandle === null) throw refused;
    const expected = { domain: party.domain(this.#context), origins: party.origins(this.#context) };
    const made = await verifyNewCredential(credential, expected, facts.purpose === "conditional");
    if (made === null) throw refused;
    const { userHandle } = facts;
    const named = chosen ?? (await authenticatorName(made.aaguid)) ?? this.#context.t("passkeys.usual");
    return database.transaction(async () => {
      const added = await store.add(user, made, { name: named, userHandle, transports: credential.transports });
      if (added === "known") throw new ValidationError({ credential: [message("passkeys.known")] });
      if (added === null) throw new AshlarError("E_STALE_PROOF");
      const { isSynced } = made;
      await this.#report("passkeys.added", user, { id: added.id, name: named });
      const passkey = (await store.list(user)).find(({ id }) => id === added.id);
      return passkey === undefined
        ? { id: added.id, name: named, createdAt: new Date(now()), lastUsedAt: null, isSynced }
        : shown(passkey);
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
    const user = await this.#user();
    const chosen = passkeyNameFrom(name);
    if (chosen === null) throw new ValidationError({ name: [message("passkeys.nameInvalid")] });
    const key = keyFrom(id);
    if (key === null || !(await this.#service.store.rename(user, key, chosen))) return false;
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
    const user = await this.#user();
    const { store } = this.#service;
    const passkey = (await store.list(user)).find((one) => one.id === keyFrom(id));
    if (passkey === undefined) return false;
    let isRemoved = false;
    const isAllowed = await this.#context.accounts.removeMethod(user as object as RegisteredUser, async () => {
      isRemoved = await store.remove(user, passkey.id);
      if (isRemoved) await this.#report("passkeys.removed", user, passkey);
    });
    if (!isAllowed) throw new ValidationError({ passkey: [message("passkeys.last")] });
    if (isRemoved) this.#context.session.put(UNKNOWN, passkey.credentialId);
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
    readonly signals: PasskeySignals;
    readonly unknown: string | null;
    readonly create: CreationOptions | null;
  }> {
    const user = await this.#user();
    const own = await this.#service.store.list(user);
    const handles = [...new Set(own.map(({ userHandle }) => userHandle))];
    const users = handles.map((userId) => {
      const ids = own.filter(({ userHandle }) => userHandle === userId).map(({ credentialId }) => credentialId);
      return { userId, allAcceptedCredentialIds: ids };
    });
    const signals = { rpId: this.#service.party.domain(this.#context), ...namesOf(user), users };
    const mayCreate = own.length < MAX_PASSKEYS && (await this.#takesCreation(user));
    const create = mayCreate ? await this.#creationOptions("conditional", user, own) : null;
    return { signals, unknown: this.#takeUnknown(), create };
  }

  #takeUnknown(): string | null {
    const id = this.#context.visitor === null ? null : this.#context.session.pull(UNKNOWN);
    return typeof id === "string" ? id : null;
  }

  /** Verifies the input `assertion`, within the limit. */
  async #verify(wanted: WantedProof): Promise<ProvedPasskey & { readonly claimed: Authenticatable | null }> {
    const { store, throttle } = this.#service;
    const input = this.#context.request.bodyInput("assertion");
    const claimed = await claimedPasskey(store, wanted.guard, input);
    const claimant = claimed.owned?.owner ?? null;
    await throttle.hit(this.#context, PASSKEY_LIMIT, { guard: wanted.guard, user: claimant });
    const proved = await verifyPasskey(this.#context, claimed, wanted, this.#service);
    if (proved.user !== null) await throttle.giveBack(this.#context, PASSKEY_LIMIT);
    return { ...proved, claimed: claimant };
  }

  /** Whether the user's browser may make a passkey by itself now. Of concurrent requests of a login, one may. */
  async #takesCreation(user: Authenticatable): Promise<boolean> {
    const { party, throttle } = this.#service;
    if (!party.createsAfterPassword) return false;
    const methods = await this.#context.auth.webGuard.methods();
    const password = methods.find(({ by }) => by === "password");
    if (password === undefined || now() - password.at.getTime() > AFTER_PASSWORD_MS) return false;
    const login = digest(`conditional ${this.#subject(user)} ${password.at.getTime()}`);
    return (await throttle.consume(CHALLENGE_LIMIT, { account: login })).allowed;
  }

  #requestOptions(
    purpose: "login" | "confirm",
    subject: string | null,
    own: readonly StoredPasskey[],
    userVerification: RequestOptions["userVerification"],
  ): RequestOptions {
    const { challenges, party } = this.#service;
    return {
      challenge: challenges.make(this.#context, { purpose, subject, userHandle: null }),
      rpId: party.domain(this.#context),
      timeout: CHALLENGE_SECONDS * 1000,
      userVerification,
      allowCredentials: own.map(descriptor),
    };
  }

  async #creationOptions(
    purpose: "create" | "conditional",
    user: Authenticatable,
    own: readonly StoredPasskey[],
  ): Promise<CreationOptions> {
    const { challenges, party } = this.#service;
    const userHandle = own[0]?.userHandle ?? newUserHandle();
    const userVerification = purpose === "create" ? "required" : "preferred";
    return {
      challenge: challenges.make(this.#context, { purpose, subject: this.#subject(user), userHandle }),
      rp: { id: party.domain(this.#context), name: party.name },
      user: { id: userHandle, ...namesOf(user) },
      pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: "public-key", alg })),
      timeout: CHALLENGE_SECONDS * 1000,
      excludeCredentials: own.map(descriptor),
      authenticatorSelection: { residentKey: "required", requireResidentKey: true, userVerification },
      attestation: "none",
    };
  }

  /** Names a user in a challenge. */
  #subject(user: Authenticatable): string {
    return digest(`${this.#context.auth.webGuard.name} ${user.authId()}`);
  }

  #requireRoom(own: readonly unknown[]): void {
    if (own.length < MAX_PASSKEYS) return;
    throw new ValidationError({ credential: [message("passkeys.tooMany", { count: MAX_PASSKEYS })] });
  }

  async #user(): Promise<Authenticatable> {
    const user = await this.#context.auth.webGuard.user();
    if (user === null) throw new AshlarError("E_UNAUTHENTICATED");
    return asAuthenticatable(user);
  }

  #report(
    name: "passkeys.added" | "passkeys.renamed" | "passkeys.removed",
    user: Authenticatable,
    { id: passkeyId, name: own }: Pick<Passkey, "id" | "name">,
  ): Promise<void> {
    const guard = this.#context.auth.webGuard.name;
    return this.#service.notices.report(name, this.#context, { guard, user, passkeyId, name: own });
  }
}

function shown({ id, name, createdAt, lastUsedAt, isSynced }: StoredPasskey): Passkey {
  return { id, name, createdAt, lastUsedAt, isSynced };
}

function descriptor({ credentialId: id, transports }: StoredPasskey): CredentialDescriptor {
  return { type: "public-key", id, transports };
}

function keyFrom(id: unknown): string | null {
  if (typeof id === "number") return String(id);
  return typeof id === "string" ? id : null;
}

/** What a browser shows a user's passkeys by. */
function namesOf(user: object): { readonly name: string; readonly displayName: string } {
  const { email, name } = user as { readonly email?: unknown; readonly name?: unknown };
  const texts = [email, name].filter((one): one is string => typeof one === "string" && one !== "");
  return { name: texts[0] ?? "", displayName: texts.at(-1) ?? "" };
}
