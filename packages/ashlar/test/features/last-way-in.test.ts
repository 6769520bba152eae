import { afterAll, beforeAll, expect, test } from "vitest";
import { sql } from "../../src/public/database.ts";
import { declareFeature, type Feature, Provider } from "../../src/public/index.ts";
import { addPasskey, sendAnswer } from "../support/authenticator.ts";
import { ExampleSiteServer, visitSite } from "../support/example-site.ts";
import { FeatureShop } from "../support/feature-shop.ts";
import { postgres } from "../support/services.ts";

let site: ExampleSiteServer;
let shop: FeatureShop;

/** A proof that no one has, and that takes a while to find that out, so that other requests come in between. */
class Slow extends Provider {
  static override readonly feature: Feature = declareFeature({
    name: "slow",
    proofs: {
      slow: ({ container }) => ({
        amr: [],
        async has() {
          await sql`select pg_sleep(0.2)`.execute(container.make("database").kysely);
          return false;
        },
      }),
    },
  });
}

beforeAll(async () => {
  site = await ExampleSiteServer.start();
  const { environment } = site;
  shop = await FeatureShop.install(["passkeys", "provider"], { engine: postgres, environment, providers: [Slow] });
});
afterAll(async () => {
  await shop.end();
  await site.stop();
});

test("a user without a password keeps one way in if the last two, from two features, are removed at the same time", async () => {
  const ada = await shop.addAda();
  const first = await shop.loggedIn();
  const device = await addPasskey(first, "Phone");
  await visitSite(first, site, "/account/example/connect");
  const { kysely } = shop.application.container.make("database");
  await kysely.updateTable("users").set({ password: null }).execute();
  const client = shop.visitor().withCsrfToken();
  (await sendAnswer(client, "/login/passkey", device)).assertRedirect("/home");
  expect(await shop.waysIn(ada)).toEqual(["example-site", "passkey"]);
  const [passkey] = await shop.rows("passkeys");
  const paths = [`/account/passkeys/${passkey!.id}`, "/account/example"];
  const removed = await Promise.all(paths.map((path) => client.deleteJson(path)));
  expect(removed.map(({ status }) => status).sort()).toEqual([200, 422]);
  expect(await shop.waysIn(ada)).toHaveLength(1);
});
