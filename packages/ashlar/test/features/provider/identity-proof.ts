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
      export: async ({ user }) => (await identities().list(user)).map(({ subject, email }) => ({ subject, email })),
      erase: async ({ id }) => void (await identities().deleteAll(id)),
    },
  };
}
