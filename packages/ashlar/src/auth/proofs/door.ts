import type { Application } from "../../boot/index.ts";

/** A request, or a call, by which someone can get into an account, as the feature that adds it declares it. */
export interface Door {
  /** A sentence about who uses it and where: `Someone who knows the password, on the login page.` */
  readonly about: string;
  /**
   * The result if every step lets the user pass: a `login`, an API `token`, a `confirmation` of a login, or a `change` of the
   * account by someone who isn't logged in, such as a new password. `request`: a single request, by someone whose login is
   * complete, such as one with its cookie; no step is asked.
   */
  readonly opens: "login" | "token" | "confirmation" | "change" | "request";
  /** The names of its routes, without the prefix of a guard or a driver; empty if applications call it. */
  readonly routes: readonly string[];
  /** Returns the name of the guard whose steps it asks for, if that isn't the active guard of its routes. */
  readonly guard?: (application: Application) => string;
}

declare module "../../boot/application/feature.ts" {
  interface FrameworkFeatureParts {
    /**
     * The ways into an account that it adds, by name: `{ passkey: { about: "…", opens: "login", routes: ["passkeys.login.store"] } }`.
     * `ashlar doctor --doors` lists them, and `doorSuite` goes through them.
     */
    readonly doors?: Readonly<Record<string, Door>>;
  }
}
