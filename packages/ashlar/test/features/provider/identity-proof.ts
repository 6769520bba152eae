import type { Authenticatable, FeatureProof } from "ashlar/auth";
import type { Identities } from "./identities.ts";

/** An account at the other site, which logins can begin with. */
export function identityProof(identities: () => Identities): FeatureProof<Authenticatable> {
  return {
    amr: [],
    startsLogins: true,
    page: "example-site.confirm",
    label: "exampleSite.confirm",
    has: async (user) => (await identities().count(user)) > 0,
    data: {
      export: (subject) => identities().export(subject, ["subject", "email"]),
      erase: (subject) => identities().erase(subject),
    },
  };
}
