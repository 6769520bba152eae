import type { UserDataSource } from "../auth/index.ts";
import type { Application } from "../boot/index.ts";

/** The data of kinds of authenticators about users: when each was stored and used, and its name. */
export function kindData(
  kinds: readonly string[],
): (application: Application) => Pick<UserDataSource, "export" | "erase"> {
  return ({ container }) => ({
    async export(subject) {
      const all = [];
      for (const kind of kinds) {
        const columns = ["kind", "name", "created_at", "last_used_at", "expires_at"];
        all.push(...(await container.make("authenticators").tableOf(kind, subject.user).export(subject, columns)));
      }
      return all;
    },
    async erase(subject) {
      for (const kind of kinds) await container.make("authenticators").tableOf(kind, subject.user).erase(subject);
    },
  });
}
