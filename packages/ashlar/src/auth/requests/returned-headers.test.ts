import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { describe, expect, test } from "vitest";
import type { Browser } from "../../../test/support/browser.ts";
import { ADA, PASSWORD, type TestWeb, testWeb } from "../../../test/support/web-application.ts";
import { SessionMiddleware, SessionProvider } from "../../session/index.ts";
import type { Authentication } from "./authentication.ts";

const CACHEABLE = "public, max-age=300";

const shop = (): Promise<TestWeb> => testWeb({ stack: [SessionMiddleware], providers: [SessionProvider] });

/** A request to another framework, with a browser's cookies. */
function sent(browser: Browser): Request {
  const cookie = [...browser.cookies].map((pair) => pair.join("=")).join("; ");
  return new Request("http://localhost/prices", { headers: { cookie } });
}

/** The parts of a response that matter to caches. */
interface Seen {
  readonly cache: string | null;
  readonly vary: string | null;
  /** The names of its cookies. */
  readonly cookies: readonly string[];
}

const KINDS: readonly [string, (visitor: Authentication, own: Readonly<Record<string, string>>) => Seen][] = [
  [
    "the Fetch API",
    (visitor, own) => {
      const { headers } = visitor.apply(new Response("Prices", { headers: own }));
      const cookies = headers.getSetCookie().map(nameOf);
      return { cache: headers.get("cache-control"), vary: headers.get("vary"), cookies };
    },
  ],
  [
    "node:http",
    (visitor, own) => {
      const response = new ServerResponse(new IncomingMessage(new Socket()));
      for (const [name, value] of Object.entries(own)) response.setHeader(name, value);
      visitor.apply(response);
      const headerOf = (name: string) => (response.getHeader(name) ?? null) as string | null;
      const cookies = [response.getHeader("set-cookie") ?? []].flat().map(nameOf);
      return { cache: headerOf("cache-control"), vary: headerOf("vary"), cookies };
    },
  ],
];

function nameOf(cookie: unknown): string {
  return String(cookie).split("=")[0]!;
}

describe.each(KINDS)("a response of %s", (_name, apply) => {
  test("S16 with a login or session cookie is not cached, whatever its own headers say", async () => {
    const web = await shop();
    const ada = web.browser();
    await ada.post("/login", { email: ADA.email, password: PASSWORD });
    const former = ada.copy();
    await ada.post("/confirm", { password: PASSWORD });
    // Its token was just replaced, so it gets the current one.
    const renewed = await web.application.authenticate(sent(former));
    const kept = { cache: "private, no-store", vary: "cookie", cookies: ["token"] };
    expect(apply(renewed, { "cache-control": CACHEABLE })).toEqual(kept);
    expect(apply(renewed, {})).toEqual(kept);
    const guest = await web.application.authenticate(sent(web.browser()));
    await guest.csrfToken();
    expect(apply(guest, { "cache-control": CACHEABLE, vary: "Accept" })).toEqual({
      ...kept,
      vary: "accept, cookie",
      cookies: ["session"],
    });
  });

  test("S63 varies by cookie if the user was requested, even for a guest, and even if nothing is stored", async () => {
    const web = await shop();
    const ada = await web.loggedIn();
    for (const readOnly of [false, true]) {
      const user = await web.application.authenticate(sent(ada), { readOnly });
      expect(user.user).toMatchObject(ADA);
      const guest = await web.application.authenticate(sent(web.browser()), { readOnly });
      const common = { vary: "cookie", cookies: [] };
      expect(apply(user, { "cache-control": CACHEABLE })).toEqual({ ...common, cache: CACHEABLE });
      expect(apply(guest, { "cache-control": CACHEABLE })).toEqual({ ...common, cache: CACHEABLE });
      expect(apply(user, {})).toEqual({ ...common, cache: "private, no-store" });
      expect(apply(guest, {})).toEqual({ ...common, cache: null });
    }
  });
});
