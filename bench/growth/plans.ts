// The statements that the measured requests send to the database, and how it runs them.
import { sha256 } from "../fixtures.ts";
import { growthApplication } from "../servers/growth-application.ts";
import { type Grown, opened } from "./engines.ts";
import type { Visitor } from "./rows.ts";

/** Sends one request of each kind, and queries the plan of each resulting statement from the database. */
export async function plansOf(
  grown: Grown,
  { email, loginToken, apiToken }: Visitor,
): Promise<readonly { readonly statement: string; readonly plan: string }[]> {
  const application = await growthApplication(grown.settings);
  // Each has one parameter: a key, a digest or an address. The plan for a missing value may be shorter.
  const statements = new Map<string, string>();
  let parameter = "";
  try {
    const end = application.container.make("database").onQuery(({ sql }) => void statements.set(sql, parameter));
    const origin = "http://127.0.0.1";
    const requests = [
      ["/home", { cookie: `token=${loginToken}` }, sha256(loginToken)],
      ["/account", { authorization: `Bearer ${apiToken}` }, "1"],
      [`/lookup?email=${email}`, {}, email],
    ] as const;
    for (const [path, sent, value] of requests) {
      parameter = value;
      await application.fetch(new Request(origin + path, { headers: sent }), { address: "127.0.0.1" });
    }
    end();
  } finally {
    await application.shutdown();
  }
  return await opened(grown, async (database) => {
    const plans: { statement: string; plan: string }[] = [];
    for (const [statement, value] of statements) {
      const plan = await grown.engine.plan(database, statement, value);
      plans.push({ statement, plan: plan.replaceAll(`'${value}'`, "?") });
    }
    return plans;
  });
}
