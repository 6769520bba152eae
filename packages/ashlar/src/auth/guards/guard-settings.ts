import type { PasswordHasher } from "../../security/index.ts";
import type { LoginStep } from "../proofs/login-step.ts";
import type { AuthenticatableClass } from "../users/authenticatable.ts";

/** One guard of `GUARDS`. */
export interface GuardEntry {
  readonly driver: string;
  /** `null` if the driver brings the model. */
  readonly model: AuthenticatableClass | null;
  /** The prefix of the route names of the guard's pages, such as `admin.`; `null` if it is not set. */
  readonly routes: string | null;
  /** The further steps of its logins: first those of all guards, then its own. */
  readonly steps: readonly LoginStep[];
  /** The entry's remaining options. */
  readonly options: Readonly<Record<string, unknown>>;
}

/** The guards of an application from `config/auth.ts`, and the settings that they share. */
export interface ConfiguredGuards {
  /** The name of the guard that a request begins with; `null` for the only guard. */
  readonly defaultGuard: string | null;
  readonly guards: ReadonlyMap<string, GuardEntry>;
  /** The further steps of logins with every guard. */
  readonly steps: readonly LoginStep[];
  /** Hashes the users' passwords. */
  readonly hasher: PasswordHasher;
}

/** The options that guards of every driver have. */
export const GUARD_SETTINGS: readonly string[] = ["driver", "model", "routes", "steps"];
