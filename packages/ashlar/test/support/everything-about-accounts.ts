import { expect } from "vitest";
import { isSecretName } from "../../src/support/index.ts";
import { captureEvents, type EventCapture, linksIn } from "../../src/testing/index.ts";
import { type AccountShop, EMAIL, NEW_PASSWORD, PASSWORD } from "./account-shop.ts";

const NEW_ADDRESS = "ada@example.org";
const OTHER = "cleo@example.com";
const WRONG = "not the password at all";
const LAST_PASSWORD = "a third password of hers";

/**
 * The limits for {@link everythingAboutAccounts}: a token can be renewed once, so that the second renewal is a lockout.
 */
export const ONE_RENEWAL: object = {
  "api.reauth": { buckets: [{ by: ["account"], attempts: 1, windowSeconds: 60 }] },
};

/**
 * Does everything that emits an event, in a shop with {@link ONE_RENEWAL}. It returns the events, and the secrets that
 * were sent, mailed and stored.
 */
export async function everythingAboutAccounts(shop: AccountShop): Promise<{
  readonly events: EventCapture["all"];
  readonly secrets: readonly string[];
}> {
  const { application, mail } = shop;
  using events = captureEvents(application);
  const secrets = new Set([PASSWORD, NEW_PASSWORD, WRONG, LAST_PASSWORD]);
  const stored = async () => {
    const { kysely } = application.container.make("database");
    for (const table of ["users", "logins", "password_resets", "email_changes", "security_events"]) {
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
  await shop.loggedIn(EMAIL, NEW_PASSWORD);
  await shop.send(again, "/logins", {}, '[action="/logins"]');
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
