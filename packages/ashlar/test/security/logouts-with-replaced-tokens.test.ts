import { afterEach, expect, test } from "vitest";
import { Route } from "../../src/routing/index.ts";
import { digest } from "../../src/security/index.ts";
import { now, setClock } from "../../src/support/index.ts";
import { type TestApi, type TestApiOptions, testApi } from "../support/api-application.ts";
import { onEachDatabase } from "../support/services.ts";

const LOGOUT = Route.post("/logout", async ({ auth }) => {
  await auth.guard("jwt").logout();
  return { done: true };
});

/** The two ways to log out with a token. */
const WAYS: readonly [string, (api: TestApi, token: string) => Promise<unknown>][] = [
  ["the route", (api, token) => api.post("/api/logout", {}, { token })],
  ["the guard", (api, token) => api.post("/api/own/logout", {}, { token })],
];

function travel(seconds: number): void {
  const then = now() + seconds * 1000;
  setClock(() => then);
}

afterEach(() => setClock(null));

await onEachDatabase("S124 a logout with a token of single()", (engine) => {
  const open = (authenticates: boolean, options: TestApiOptions = {}): Promise<TestApi> => {
    const own = Route.group({ prefix: "/own" }, [LOGOUT]);
    return testApi({ engine, ...options, stack: [], routes: [...own], driver: { ...options.driver, authenticates } });
  };

  async function renewed(api: TestApi, token: string): Promise<string> {
    const { status, body } = await api.post("/api/reauth", { token });
    expect(status).toBe(200);
    return (body as { readonly data: string }).data;
  }

  /** Renews a token twice, and then logs out with the first one, which ends nothing. */
  async function loggedOutTooLate(authenticates: boolean, logout: (typeof WAYS)[number][1]) {
    const api = await open(authenticates);
    const token = await api.token();
    travel(0);
    const newest = await renewed(api, await renewed(api, token));
    await logout(api, token);
    expect(await api.storedDigest(1)).toBe(digest(newest));
    return { api, token, newest };
  }

  for (const [way, logout] of WAYS) {
    for (const authenticates of [true, false]) {
      const title = `by ${way}, with authenticates: ${authenticates}`;

      test(`that was renewed in the last minute ends its successor, ${title}`, async () => {
        const api = await open(authenticates);
        const token = await api.token();
        travel(0);
        const successor = await renewed(api, token);
        expect(await api.storedDigest(1)).toBe(digest(successor));
        travel(59);
        await logout(api, token);
        expect(await api.storedDigest(1)).toBeNull();
        expect(await api.post("/api/reauth", { token: successor })).toMatchObject({ status: 401 });
      });

      test(`that was renewed earlier, or replaced by a login, ends no newer one, ${title}`, async () => {
        const api = await open(authenticates);
        const token = await api.token();
        const successor = await renewed(api, token);
        travel(66);
        await logout(api, token);
        expect(await api.storedDigest(1)).toBe(digest(successor));
        const other = await api.token();
        for (const former of [token, successor]) await logout(api, former);
        expect(await api.storedDigest(1)).toBe(digest(other));
        await logout(api, other);
        expect(await api.storedDigest(1)).toBeNull();
      });

      test(`that was renewed twice ends nothing; a login ends the newest one, ${title}`, async () => {
        const { api, token, newest } = await loggedOutTooLate(authenticates, logout);
        expect(await api.post("/api/reauth", { token })).toMatchObject({ status: 401 });
        const other = await api.token();
        expect(await api.storedDigest(1)).toBe(digest(other));
        expect(await api.post("/api/reauth", { token: newest })).toMatchObject({ status: 401 });
      });

      test(`that was renewed twice ends nothing; a new password ends the newest one, ${title}`, async () => {
        const { api, newest } = await loggedOutTooLate(authenticates, logout);
        const user = (await api.User.find(1))!;
        await user.setPassword("another password altogether");
        await user.save();
        expect(await api.storedDigest(1)).toBeNull();
        expect(await api.post("/api/reauth", { token: newest })).toMatchObject({ status: 401 });
      });
    }

    test(`ends it even if its user has lost an ability since, by ${way}`, async () => {
      let given = ["orders.read", "orders.write"];
      const api = await open(false, { abilities: given, driver: { abilitiesOf: () => given } });
      for (const lost of [[], ["orders.read"]]) {
        given = ["orders.read", "orders.write"];
        const token = await api.token();
        const successor = await renewed(api, token);
        given = lost;
        expect(await api.storedDigest(1)).toBe(digest(successor));
        await logout(api, token);
        expect(await api.storedDigest(1)).toBeNull();
      }
    });

    test(`ends it even if the ability was lost earlier, and the token renewed since, by ${way}`, async () => {
      let given = ["orders.read", "orders.write"];
      const api = await open(false, { abilities: given, driver: { abilitiesOf: () => given } });
      const token = await api.token();
      given = ["orders.read"];
      await renewed(api, token);
      await logout(api, token);
      expect(await api.storedDigest(1)).toBeNull();
    });

    test(`ends it even if it is renewed at the same time, by ${way}`, async () => {
      const api = await open(false);
      for (let round = 0; round < 10; round++) {
        const token = await api.token();
        await Promise.all([logout(api, token), api.post("/api/reauth", { token })]);
        expect(await api.storedDigest(1)).toBeNull();
      }
    });
  }
});
