import type { Authenticatable, FeatureProof } from "ashlar/auth";
import type { Passkeys } from "./passkeys.ts";

/** A passkey, which logins can begin with. */
export function passkeyProof(passkeys: () => Passkeys): FeatureProof<Authenticatable> {
  return {
    amr: ["hwk"],
    startsLogins: true,
    page: "passkeys.confirm",
    flows: () => [{ id: "passkey", field: "assertion" }],
    label: "passkeys.confirm",
    has: async (user) => (await passkeys().count(user)) > 0,
    data: {
      export: (subject) => passkeys().export(subject, ["name", "created_at", "last_used_at"]),
      erase: (subject) => passkeys().erase(subject),
    },
  };
}
