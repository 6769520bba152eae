import type { AccountUser, Authenticatable, FeatureProof } from "../auth/index.ts";
import { declareSecretNames } from "../support/index.ts";

/** The name of the proof. */
export const MAIL = "mail";

/** The input with a code. It isn't `code`, because a login step of the same request may ask for that. */
export const CODE_FIELD = "mailed_code";

declareSecretNames(CODE_FIELD);

/** A code or a link in a mail, which logins can begin with. */
export function loginLinkProof(): FeatureProof<Authenticatable> {
  return {
    amr: ["email"],
    startsLogins: true,
    page: "login_links.confirm",
    label: "login_links.confirm",
    has: hasMailbox,
    flows: (_user, { auth }) => {
      if (!auth.hasRoute("login_links.confirm.store")) return [];
      const [url, send] = [auth.route("login_links.confirm.store"), auth.route("login_links.confirm.send")];
      return [{ id: MAIL, field: CODE_FIELD, url, send }];
    },
  };
}

/** Reports whether a user can confirm by mail: with an address that is known to be theirs. */
export function hasMailbox(user: object): boolean {
  const { email, hasVerifiedEmail } = user as Partial<AccountUser>;
  return typeof email === "string" && email.trim() !== "" && hasVerifiedEmail?.call(user) !== false;
}
