import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { createLogger } from "../../src/boot/index.ts";
import { isSecretName } from "../../src/support/index.ts";
import { type CapturedEvent, captureEvents, linksIn } from "../../src/testing/index.ts";
import { AccountShop, EMAIL, NEW_PASSWORD, PASSWORD } from "../support/account-shop.ts";
import { sqlite } from "../support/services.ts";

const NEW_ADDRESS = "ada@example.org";
const OTHER = "cleo@example.com";
const WRONG = "not the password at all";
const LAST_PASSWORD = "a third password of hers";

let shop: AccountShop;
beforeAll(async () => {
  const one = [{ by: ["account"], attempts: 1, windowSeconds: 60 }];
  shop = await AccountShop.open(sqlite, { limits: { "api.reauth": { buckets: one } } });
});
afterAll(() => shop.close());
beforeEach(() => shop.reset());

/** Does what events are about; returns the events, and the secrets that were sent, mailed and stored meanwhile. */
async function everything(): Promise<{
  readonly events: readonly CapturedEvent[];
  readonly secrets: readonly string[];
}> {
  const { application, mail } = shop;
  using events = captureEvents(application);
  const secrets = new Set([PASSWORD, NEW_PASSWORD, WRONG, LAST_PASSWORD]);
  const stored = async () => {
    const { kysely } = application.container.make("database");
    for (const table of ["users", "logins", "password_resets", "email_changes"]) {
      for (const row of await kysely.selectFrom(table).selectAll().execute()) {
        for (const [name, value] of Object.entries(row))
          if (isSecretName(name) && value !== null) secrets.add(String(value));
      }
    }
  };

  expect(await shop.logsIn(shop.visitor(), EMAIL, WRONG)).toBe(false);
  const ada = await shop.loggedIn();
  await (await shop.user())!.markEmailAsVerified();
  const api = shop.visitor();
  const token = async (path: string, fields: object) => {
    const { data } = (await api.postJson(path, fields)).json as { readonly data?: string };
    if (data !== undefined) secrets.add(data);
    return data ?? "";
  };
  const issued = await token("/api/auth", { username: EMAIL, password: PASSWORD });
  await stored();
  for (const presented of [issued, issued, "garbage.of.hers", "garbage.of.hers"]) {
    await token("/api/reauth", { token: presented });
  }
  await shop.register(OTHER, PASSWORD);
  await shop.verify(await shop.linkTo(OTHER));
  await shop.verify(await shop.changeLink(ada, NEW_ADDRESS), ada);
  await stored();
  await shop.undo(await shop.linkTo(EMAIL));
  await shop.resetsPassword(await shop.resetLink(EMAIL), NEW_PASSWORD);
  const again = await shop.loggedIn(EMAIL, NEW_PASSWORD);
  const fields = { current_password: NEW_PASSWORD, password: LAST_PASSWORD, password_confirmation: LAST_PASSWORD };
  await shop.send(again, "/account/password", fields);
  await stored();
  await shop.send(again, "/home", {}, '[action="/logout"]');
  for (const cookie of [...ada.cookies.all, ...again.cookies.all]) secrets.add(cookie.value);
  for (const one of await mail.all()) {
    for (const link of linksIn(one)) {
      const [token] = /(?<=token=|\/(?:verify|undo)\/)[^&]+/.exec(link) ?? [];
      if (token !== undefined) secrets.add(token);
    }
  }
  await application.container.make("events").settled();
  return { events: events.all, secrets: [...secrets] };
}

test("S60 no event has a field with the name of a secret, and none is logged with one", async () => {
  const { events, secrets } = await everything();
  // All of the framework but those of a login that waits for a step, and of a mail that could not be sent.
  expect([new Set(events.map(({ name }) => name)).size, secrets.length > 20]).toEqual([18, true]);
  const lines: string[] = [];
  const settings = { name: "Shop", environment: "test", log: { level: "info", requests: true } } as const;
  const logger = createLogger(settings, { write: (line) => void lines.push(line) });
  for (const { name, payload } of events) {
    if (payload === undefined) throw new Error(`${name} has no payload.`);
    expect(Object.keys(payload).filter(isSecretName), name).toEqual([]);
    logger.info(payload, name);
  }
  expect(secrets.filter((secret) => lines.join("").includes(secret))).toEqual([]);
});
