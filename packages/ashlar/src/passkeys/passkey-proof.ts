import type { Authenticatable, FeatureProof } from "../auth/index.ts";
import type { SecondFactor } from "../authenticators/index.ts";
import type { Application } from "../boot/index.ts";
import { claimedPasskey, verifyPasskey } from "./requests/verified-passkey.ts";
import { PASSKEY } from "./stored/passkey-store.ts";

/** A passkey, which logins can begin with. */
export function passkeyProof({ container }: Application): FeatureProof<Authenticatable> {
  const table = (user: Authenticatable) => container.make("authenticators").tableOf(PASSKEY, user);
  return {
    amr: ["hwk"],
    startsLogins: true,
    page: "passkeys.confirm",
    label: "passkeys.confirm",
    has: async (user) => (await container.make("passkeys").store.count(user)) > 0,
    flows: (_user, { auth }) => {
      if (!auth.hasRoute("passkeys.confirm.store")) return [];
      const [url, options] = [auth.route("passkeys.confirm.store"), auth.route("passkeys.confirm.options")];
      return [{ id: PASSKEY, field: "assertion", url, options }];
    },
    data: {
      export: (subject) => table(subject.user).export(subject, ["name", "created_at", "last_used_at"]),
      erase: (subject) => table(subject.user).erase(subject),
    },
  };
}

/**
 * A passkey as a second factor after a password, for users who need one. Its authenticator doesn't have to verify its user,
 * because the password was the other factor.
 */
export function passkeyFactor({ container }: Application): SecondFactor<Authenticatable> {
  return {
    // Possession of a key, in hardware or not.
    amr: ["pop"],
    field: "assertion",
    flow: ({ auth, visitor }) => {
      const page = visitor === null ? "api.passkey.options" : "passkeys.login.options";
      return auth.hasRoute(page) ? { options: auth.route(page) } : {};
    },
    has: async (user) => (await container.make("passkeys").store.count(user)) > 0,
    async accept(user, proof, context) {
      const service = container.make("passkeys");
      const guard = context.auth.guardName;
      const wanted = { guard, purpose: "login", subject: null, user, requiresUserVerification: false } as const;
      const claimed = await claimedPasskey(service.store, guard, proof);
      return (await verifyPasskey(context, claimed, wanted, service)).user !== null;
    },
  };
}
