import type { Application } from "../boot/index.ts";
import type { HttpContext } from "../http/index.ts";
import type { MessageKey } from "../messages/index.ts";
import type { MaybePromise, RegisteredUser } from "../support/index.ts";

/** A kind of authenticator, such as passkeys or authenticator apps, as its feature declares it. */
export interface AuthenticatorKind {
  /** The key of its name for users: `passkeys.title`. Without it, lists of a user's authenticators leave the kind out. */
  readonly label?: MessageKey;
  /** The name of the page where users manage theirs, as for `auth.route`; `account.security` links to it. */
  readonly page?: string;
  /** Whether authenticators of this kind end with access to the account, as trusted devices do; default: `false`. */
  readonly endsWithAccess?: boolean;
  /** Makes the second factor, if authenticators of this kind can be one. Called once, on first use. */
  readonly factor?: (application: Application) => SecondFactor;
  /**
   * Stores authenticators of this kind from another system, for the command `authenticators:import`. Called once, on first
   * use.
   */
  readonly import?: (application: Application) => AuthenticatorImport;
}

/**
 * Stores an authenticator of another system for a user, in a transaction that the caller opens.
 *
 * @param row a line of the file, parsed; its members besides `kind` and `user` depend on the kind
 */
export type AuthenticatorImport = (
  user: RegisteredUser,
  row: Readonly<Record<string, unknown>>,
) => MaybePromise<ImportedAuthenticator>;

/** What became of a line. */
export interface ImportedAuthenticator {
  /** `present`: it was stored before, and nothing changed. `refused`: nothing is stored, and `note` says why. */
  readonly status: "stored" | "present" | "refused";
  /** What to print about it. Never a secret. */
  readonly note?: string;
}

/** A way to pass the second step of a login: a code from an app, a recovery code, a passkey. */
export interface SecondFactor<User extends object = RegisteredUser> {
  /** The factors it satisfies, as values of RFC 8176: `["otp"]`, `["hwk"]`. */
  readonly amr: readonly string[];
  /** The name of the field of a request's body that carries its proof: `code`, `recovery_code`, `assertion`. */
  readonly field: string;
  /**
   * Whether a login has to be passed by a second factor because its user has this one; otherwise it only counts as one
   * for users who have another: a recovery code. Default: `false`.
   */
  readonly isRequired?: boolean;
  /**
   * Whether a proof could be guessed by trying, such as six digits. Attempts at such proofs have one limit for each account,
   * from all addresses; others are only limited for each address, so that no one can keep the owner from using them. Default:
   * `true`.
   */
  readonly isGuessable?: boolean;
  /**
   * Returns further members of its flow, for API clients: `{ options: "/login/passkey/options" }`, where they get a challenge.
   * Default: none.
   */
  flow?(context: HttpContext): Readonly<Record<string, unknown>>;
  /** Reports whether a user has it. */
  has(user: User): MaybePromise<boolean>;
  /**
   * Reports whether a proof holds, and takes it: of two requests with the same proof, one wins. Attempts are limited by the
   * caller.
   *
   * @param proof the value of `field`; an object is its JSON text
   */
  accept(user: User, proof: string, context: HttpContext): MaybePromise<boolean>;
}

declare module "../boot/application/feature.ts" {
  interface FrameworkFeatureParts {
    /** The kinds of authenticators that it adds, by name: `{ passkey: { label: "passkeys.title" } }`. */
    readonly authenticators?: Readonly<Record<string, AuthenticatorKind>>;
  }
}
