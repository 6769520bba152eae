import { expect, onTestFinished, test } from "vitest";
import { ADA, PASSWORD, testApi } from "../../test/support/api-application.ts";
import { manyTokensApi } from "../../test/support/many-tokens.ts";
import { onEachDatabase } from "../../test/support/services.ts";
import { setClock } from "../support/index.ts";

test("a request of another framework is a user's with an API token, and needs no CSRF token", async () => {
  const api = await testApi();
  const { application } = api;
  const body = new URLSearchParams({ username: ADA.email, password: PASSWORD });
  const issued = await application.fetch(new Request("http://localhost/api/auth", { method: "POST", body }));
  const { data: token } = (await issued.json()) as { data: string };
  const sent = (authorization: string, init: RequestInit = {}) =>
    new Request("http://localhost/orders", { ...init, headers: { authorization } });
  const ada = await application.authenticate(sent(`Bearer ${token}`), { guard: "jwt" });
  expect(ada).toMatchObject({ user: { id: 1 }, guard: "jwt", login: null, claims: { sub: "1" } });
  const post = sent(`Bearer ${token}`, { method: "POST", body: "item=tea&token=other" });
  expect(await application.authenticate(post, { guard: "jwt" })).toMatchObject({ user: { id: 1 } });
  expect(post.bodyUsed).toBe(false);
  for (const forged of [`Bearer ${token}x`, `Basic ${token}`, "Bearer "]) {
    const guest = await application.authenticate(sent(forged), { guard: "jwt" });
    expect(guest).toMatchObject({ user: null, claims: null });
    const response = await guest.refuse();
    expect([response.status, response.headers.get("www-authenticate")?.startsWith("Bearer")]).toEqual([401, true]);
  }
});

test.each([null, "*/*", "text/html,*/*;q=0.8"])(
  "a guest without a token gets JSON, as from the API: accept %s",
  async (accept) => {
    const { application } = await testApi();
    const request = (path: string) =>
      new Request(`http://localhost${path}`, accept === null ? {} : { headers: { accept } });
    const guest = await application.authenticate(request("/orders"), { guard: "jwt" });
    const thrown = await application.errorResponse(request("/orders"), await refusalOf(() => guest.requireUser()));
    const own = await application.fetch(request("/api/me"));
    const expected = [401, "application/problem+json", own.headers.get("www-authenticate"), await own.text()];
    for (const response of [await guest.refuse(), thrown]) {
      const { headers, status } = response;
      const type = headers.get("content-type");
      expect([status, type, headers.get("www-authenticate"), await response.text()]).toEqual(expected);
    }
  },
);

async function refusalOf(work: () => unknown): Promise<unknown> {
  try {
    return await work();
  } catch (error) {
    return error;
  }
}

await onEachDatabase("a request of another framework with a token of many()", (engine) => {
  test.each([true, false])("records its use unless readOnly: %s", async (readOnly) => {
    const tokens = await manyTokensApi({ engine, driver: { authenticates: true } });
    // Sees what is stored once the application has shut down, which writes what has been noted.
    const other = await manyTokensApi({ engine, sharing: tokens.api });
    const { data } = await tokens.login();
    const usedAt = async () => (await other.rows())[0]?.last_used_at;
    const before = await usedAt();
    setClock(() => Date.now() + 6 * 60_000);
    onTestFinished(() => setClock(null));
    const request = new Request("http://localhost/orders", { headers: { authorization: `Bearer ${data}` } });
    const { user } = await tokens.api.application.authenticate(request, { guard: "jwt", readOnly });
    expect(user).toMatchObject({ id: ADA.id });
    await tokens.api.application.shutdown();
    if (readOnly) expect(await usedAt()).toEqual(before);
    else expect(await usedAt()).not.toEqual(before);
  });
});
