import { expect, test } from "vitest";
import { sessionApplication } from "../../../test/support/session-application.ts";
import type { Application } from "../../boot/index.ts";
import { Route } from "../../routing/index.ts";

const TENANT = "https://acme.shop.example";

function application(): Promise<Application> {
  return sessionApplication({
    environment: { APP_URL: "https://shop.example", APP_HOSTS: "*.shop.example" },
    routes: [
      Route.get("/form", ({ csrfField }) => String(csrfField)),
      Route.post("/form", ({ response }) => response.back()),
    ],
  });
}

/** The response to a form that is sent to a host, from a page on an origin. */
async function sent(
  application: Application,
  host: string,
  headers: Record<string, string>,
): Promise<{ status: number; location: string | null; cookie: string }> {
  const page = await application.fetch(new Request(`${host}/form`));
  const [cookie = ""] = page.headers.getSetCookie();
  const [, token = ""] = /value="([^"]+)"/.exec(await page.text()) ?? [];
  const response = await application.fetch(
    new Request(`${host}/form`, {
      method: "POST",
      body: new URLSearchParams({ __token: token }),
      headers: { ...headers, cookie: cookie.split(";")[0]! },
    }),
  );
  return { status: response.status, location: response.headers.get("location"), cookie };
}

test("S187 a form from a host in APP.hosts is accepted by that host, and leads back to it", async () => {
  const one = await application();
  const { status, location, cookie } = await sent(one, TENANT, { origin: TENANT, referer: `${TENANT}/form?page=2` });
  expect([status, location]).toEqual([302, "/form?page=2"]);
  expect(cookie).toMatch(/^__Host-session=[^;]+; (?!.*Domain)/);
});

test.each([
  [TENANT, "https://other.shop.example"],
  [TENANT, "https://shop.example"],
  [TENANT, "http://acme.shop.example"],
  [TENANT, "https://acme.shop.example:8443"],
  ["https://shop.example", TENANT],
  ["https://evil.example", "https://evil.example"],
  ["https://evil.example", TENANT],
])("S187 %s refuses a form from a page of %s", async (host, origin) => {
  const one = await application();
  expect((await sent(one, host, { origin })).status).toBe(419);
  expect((await sent(one, host, { referer: `${origin}/form` })).status).toBe(419);
});
