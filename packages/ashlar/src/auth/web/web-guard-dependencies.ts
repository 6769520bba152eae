import type { Logger } from "../../kernel/index.ts";
import type { AccessEnding } from "../access/end-access.ts";
import type { KnownDevices, RememberedAccount } from "../logins/known-devices.ts";
import type { LoginStore } from "../logins/login-store.ts";
import type { LoginSuccessors } from "../logins/login-successors.ts";
import type { LoginUses } from "../logins/login-uses.ts";
import type { Authenticatable } from "../users/authenticatable.ts";
import type { WebGuard } from "./web-guard.ts";
import type { CompleteWebGuardSettings } from "./web-guard-settings.ts";

/** The dependencies of a `WebGuard`, created once, at boot, for all requests. */
export interface WebGuardDependencies {
  readonly settings: CompleteWebGuardSettings;
  readonly store: LoginStore;
  readonly successors: LoginSuccessors;
  readonly uses: LoginUses;
  readonly devices: KnownDevices;
  /** Which requests from other sites carry the login's cookie. */
  readonly sameSite: "lax" | "none";
  /** A user's account, as devices remember it. */
  readonly rememberedOf: (user: Authenticatable) => RememberedAccount;
  readonly logger: Logger;
  /** Ends access to the account of a user, except the login of a request's guard if `what` is `others`. */
  readonly endAccess: (
    user: Authenticatable,
    ending: AccessEnding<Authenticatable> & {
      readonly keeper: WebGuard<object>;
      /** The client's address. */
      readonly address: string | null;
    },
  ) => Promise<Authenticatable | null>;
}
