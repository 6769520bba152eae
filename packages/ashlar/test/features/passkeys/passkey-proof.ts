import type { Authenticatable, FeatureProof } from "ashlar/auth";
import type { Passkeys } from "./passkeys.ts";

/** A passkey, which logins can begin with. */
export function passkeyProof(passkeys: () => Passkeys): FeatureProof<Authenticatable> {
  return {
    amr: ["hwk"],
    startsLogins: true,
    page: "passkeys.confirm",
    label: "passkeys.confirm",
    has: async (user) => (await passkeys().count(user)) > 0,
    data: {
      export: async ({ user }) => {
        const all = await passkeys().list(user);
        return all.map(({ name, created_at, last_used_at }) => ({ name, created_at, last_used_at }));
      },
      erase: async ({ id }) => void (await passkeys().deleteAll(id)),
    },
  };
}
