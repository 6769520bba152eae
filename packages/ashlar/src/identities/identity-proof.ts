import type { Authenticatable, FeatureProof } from "../auth/index.ts";
import type { Application } from "../boot/index.ts";

/** The name of the proof. */
export const IDENTITY = "identity";

/** An account at another site, which logins can begin with. */
export function identityProof({ container }: Application): FeatureProof<Authenticatable> {
  const service = () => container.make("identities");
  return {
    // How the user has proved it there is not known here.
    amr: [],
    startsLogins: true,
    page: "identities.confirm",
    label: "identities.confirm",
    has: async (user) => (await service().store.count(user)) > 0,
    flows: async (user, { auth }) => {
      if (!auth.hasRoute("identities.confirm.store")) return [];
      const confirming = await service().confirmingOf(user);
      return confirming.map(({ name }) => {
        return { id: IDENTITY, provider: name, url: auth.route("identities.confirm.store", { provider: name }) };
      });
    },
    data: {
      export: (subject) => service().store.export(subject),
      erase: (subject) => service().store.erase(subject),
    },
  };
}
