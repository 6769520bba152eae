import { describe, expect, test } from "vitest";
import { Browser, type Page, sessionApplication } from "../../test/support/session-application.ts";
import type { Application } from "../boot/index.ts";
import type { MiddlewareEntry } from "../kernel/index.ts";
import { Route, type RouteEntry } from "../routing/index.ts";
import { escapeHtml } from "../support/index.ts";
import { Csrf, SessionMiddleware, VerifyCsrfToken } from "./index.ts";

const EXPIRED =
  "The page has expired. Nothing was changed. Go back, reload the page, and submit the form again. If that doesn't help, allow cookies for this site.";
const NO_TOKEN =
  "The CSRF token is missing or doesn't belong to this session. Nothing was changed. Get a new token, and send the request again with the session's cookie and the token in the header X-CSRF-TOKEN.";
const ELSEWHERE =
  "The request came from another site. Nothing was changed. Open the page on this site, and submit the form from there.";

/** How often a handler for an unsafe method ran. */
let handled: string[] = [];

const ROUTES: readonly RouteEntry[] = [
  Route.get("/login", ({ csrfField }) => `<form method="post">${csrfField}</form>`),
  Route.match(["POST", "PUT", "PATCH", "DELETE"], "/login", ({ request }) => {
    handled.push(request.getRequestMethod());
    return "in";
  }).name("login"),
  Route.options("/options", () => "options"),
  Route.post("/renew", ({ session }) => {
    session.regenerate();
    return "renewed";
  }),
  Route.post("/end", ({ session }) => {
    session.invalidate();
    return "ended";
  }),
  Route.get("/renewed-page", ({ session, csrfField }) => {
    session.regenerate();
    return `${csrfField}`;
  }),
  Route.post("/hooks/@provider", () => "hooked").name("payments.webhook"),
  Route.post("/open/@id:int", () => "open"),
  Route.post("/bare", () => "bare").withoutMiddleware("web"),
];

function create(
  web: readonly MiddlewareEntry[] = [SessionMiddleware, VerifyCsrfToken],
  more = {},
): Promise<Application> {
  handled = [];
  return sessionApplication({ routes: ROUTES, web, ...more });
}

/** A browser with the form open. */
async function withForm(application?: Application): Promise<Browser> {
  const browser = new Browser(application ?? (await create()));
  await browser.open("/login");
  return browser;
}

/** The response to a refused request, as a visitor sees it. */
function refused(answer: Page, text = EXPIRED): void {
  expect([answer.status, answer.headers.get("content-type")]).toEqual([419, "text/html; charset=utf-8"]);
  expect(answer.text).toContain(`<p>${escapeHtml(text)}</p>`);
}

describe("the token", () => {
  test("an API client that sends none, or a wrong one, gets a message about the token, not about reloading a page", async () => {
    const application = await create();
    const post = async (headers: Record<string, string>) => {
      const sent = { accept: "application/json", ...headers };
      const response = await application.fetch(
        new Request("http://localhost/login", { method: "POST", headers: sent }),
      );
      return [response.status, ((await response.json()) as { readonly detail: string }).detail];
    };
    const page = await application.fetch(new Request("http://localhost/login"));
    const cookie = page.headers
      .getSetCookie()
      .map((one) => one.replace(/;.*/, ""))
      .join("; ");
    const told = [419, NO_TOKEN];
    expect([await post({}), await post({ cookie }), await post({ cookie, "x-csrf-token": "wrong" })]).toEqual([
      ...[told, told, told],
    ]);
    expect(handled).toEqual([]);
  });

  test("S26 the first page of a new visitor has a form that works", async () => {
    const browser = new Browser(await create());
    await browser.open("/login");
    expect(browser.page!.text).toMatch(
      /^<form method="post"><input type="hidden" name="__token" value="[\w-]{86}"><\/form>$/,
    );
    expect((await browser.submit("/login")).text).toBe("in");
  });

  test.each(["POST", "PUT", "PATCH", "DELETE"])(
    "S26 %s without the token is refused before the handler",
    async (method) => {
      const browser = await withForm();
      refused(await browser.send("/login", { method }));
      expect(handled).toEqual([]);
      expect((await browser.send("/login", { method, headers: { "x-csrf-token": browser.token } })).text).toBe("in");
      expect(handled).toEqual([method]);
    },
  );

  test("S26 a form that overrides its method needs the token like any other", async () => {
    const browser = await withForm();
    refused(await browser.post("/login", { __method: "DELETE" }));
    expect((await browser.post("/login", { __method: "DELETE", __token: browser.token })).text).toBe("in");
    expect(handled).toEqual(["DELETE"]);
  });

  test.each(["GET", "HEAD", "OPTIONS"])("S28 %s needs no token", async (method) => {
    const browser = new Browser(await create());
    const path = method === "OPTIONS" ? "/options" : "/login";
    expect((await browser.send(path, { method, headers: { "sec-fetch-site": "cross-site" } })).status).toBe(200);
  });

  test("S26 one page's token can be sent any number of times, and so can those of other tabs", async () => {
    const browser = await withForm();
    const first = browser.token;
    await browser.open("/login");
    const second = browser.token;
    expect(second).not.toBe(first);
    for (const token of [first, second, first])
      expect((await browser.post("/login", { __token: token })).text).toBe("in");
  });

  test("S26 another visitor's token is refused", async () => {
    const application = await create();
    const [victim, attacker] = [await withForm(application), await withForm(application)];
    refused(await victim.post("/login", { __token: attacker.token }));
    refused(await victim.send("/login", { method: "POST", headers: { "x-csrf-token": attacker.token } }));
    expect(handled).toEqual([]);
  });

  test("S26 a token without its session is refused", async () => {
    const browser = await withForm();
    const { token } = browser;
    browser.cookies.clear();
    refused(await browser.post("/login", { __token: token }));
    expect(browser.cookies.size).toBe(0);
  });

  test.each(["/renew", "/end"])("S26 after %s the earlier tokens are refused", async (path) => {
    const browser = await withForm();
    const { token } = browser;
    expect((await browser.post(path, { __token: token })).status).toBe(200);
    refused(await browser.post("/login", { __token: token }));
    await browser.open("/login");
    expect((await browser.submit("/login")).text).toBe("in");
  });

  test("S26 a page rendered after the session's id was renewed has the new token", async () => {
    const browser = await withForm();
    await browser.open("/renewed-page");
    expect((await browser.submit("/login")).text).toBe("in");
  });

  test.each<[string, string]>([
    ["a list", "__token[]=TOKEN"],
    ["an object", "__token[a]=TOKEN"],
    ["empty", "__token="],
    ["garbage", "__token=garbage"],
    ["altered", "__token=TOKENx"],
    ["with white space", "__token=TOKEN%20"],
    ["under another name", "_token=TOKEN"],
  ])("S36 a token that is %s is refused", async (_title, body) => {
    const browser = await withForm();
    const answer = await browser.send("/login", {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: body.replace("TOKEN", browser.token),
    });
    refused(answer);
  });

  test("the token is also accepted in JSON and multipart bodies", async () => {
    const browser = await withForm();
    const json = {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ __token: browser.token }),
    };
    expect((await browser.send("/login", json)).text).toBe("in");
    const form = new FormData();
    form.set("__token", browser.token);
    expect((await browser.send("/login", { method: "POST", body: form })).text).toBe("in");
  });

  test("S61 without a session a form is refused before its body is read", async () => {
    const application = await create();
    let pulls = 0;
    const body = new ReadableStream(
      {
        pull(controller) {
          pulls += 1;
          controller.enqueue(new TextEncoder().encode("__token=x"));
          controller.close();
        },
      },
      { highWaterMark: 0 },
    );
    const headers = { "content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin" };
    const sent: RequestInit & { duplex: "half" } = { method: "POST", headers, body, duplex: "half" };
    const { status } = await application.fetch(new Request("http://localhost/renew", sent));
    expect([status, pulls]).toEqual([419, 0]);
  });

  test("S42 a body that cannot be parsed is a 4xx", async () => {
    const browser = await withForm();
    const sent = { method: "POST", headers: { "content-type": "application/json" }, body: "{" };
    expect((await browser.send("/login", sent)).status).toBe(400);
    refused(await browser.send("/login", { method: "POST", headers: { "content-type": "text/plain" }, body: "x" }));
  });

  test("D22 a caller that wants JSON gets a problem document", async () => {
    const browser = await withForm();
    const answer = await browser.send("/login", { method: "POST", headers: { accept: "application/json" } });
    expect([answer.status, answer.headers.get("content-type")]).toEqual([419, "application/problem+json"]);
    expect(JSON.parse(answer.text)).toEqual({
      type: "about:blank",
      title: "Page Expired",
      status: 419,
      detail: NO_TOKEN,
      code: "E_CSRF",
    });
  });

  test("a handler can print the token itself, for scripts", async () => {
    const routes = [...ROUTES, Route.get("/token", (context) => Csrf.token(context))];
    const browser = new Browser(await sessionApplication({ routes }));
    const token = (await browser.send("/token")).text;
    expect((await browser.send("/login", { method: "POST", headers: { "x-csrf-token": token } })).text).toBe("in");
  });

  test("S26 tokens work the same with sessions in the database", async () => {
    const application = await create(undefined, { session: { store: "database" } });
    const [browser, other] = [await withForm(application), await withForm(application)];
    refused(await browser.post("/login"));
    refused(await browser.post("/login", { __token: other.token }));
    expect((await browser.submit("/login")).text).toBe("in");
  });
});

describe("the origin of the request", () => {
  test.each([
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
    { "sec-fetch-site": "cross-site", origin: "http://localhost" },
    { "sec-fetch-site": null, origin: "https://evil.example" },
    { "sec-fetch-site": "cross-site", origin: "null" },
    { "sec-fetch-site": null, origin: "null", referer: "https://evil.example/page" },
    { "sec-fetch-site": null, referer: "https://evil.example/page" },
  ])("S27 with %j even a valid token is refused", async (headers) => {
    const browser = await withForm();
    refused(await browser.post("/login", { __token: browser.token }, { headers }), ELSEWHERE);
    expect(handled).toEqual([]);
  });

  test.each([
    { "sec-fetch-site": "same-origin" },
    { "sec-fetch-site": "none" },
    { "sec-fetch-site": null, origin: "http://localhost" },
    { "sec-fetch-site": null },
    { "sec-fetch-site": null, referer: null },
  ])("S27 with %j only the token decides", async (headers) => {
    const browser = await withForm();
    refused(await browser.post("/login", {}, { headers }));
    expect((await browser.post("/login", { __token: browser.token }, { headers })).text).toBe("in");
  });

  test.each([
    { "sec-fetch-site": null, origin: "null", referer: null },
    { "sec-fetch-site": "same-origin", origin: "null", referer: null },
  ])("S130 with %j, as from a page without a referrer, only the token decides", async (headers) => {
    const browser = await withForm();
    refused(await browser.post("/login", {}, { headers }));
    refused(await browser.post("/login", { __token: "a".repeat(86) }, { headers }));
    expect((await browser.post("/login", { __token: browser.token }, { headers })).text).toBe("in");
  });

  test("S27 the application's own origin comes from APP_URL, not from the requested host", async () => {
    const application = await create(undefined, { environment: { APP_URL: "http://shop.example" } });
    const browser = new Browser(application);
    await browser.open("/login");
    const send = (origin: string) => {
      return browser.post("/login", { __token: browser.token }, { headers: { "sec-fetch-site": null, origin } });
    };
    expect((await send("http://shop.example")).text).toBe("in");
    refused(await send("http://localhost"), ELSEWHERE);
  });
});

describe("exemptions", () => {
  class Exempting extends VerifyCsrfToken {
    protected override readonly except: readonly string[] = ["payments.webhook", "/open/@id:int"];
  }
  const stack = [SessionMiddleware, Exempting];

  test("S30 a route is exempt by its name or by its pattern", async () => {
    const browser = new Browser(await create(stack));
    const headers = { "sec-fetch-site": "cross-site" };
    expect((await browser.post("/hooks/stripe", {}, { headers })).text).toBe("hooked");
    expect((await browser.post("/open/7", {}, { headers })).text).toBe("open");
    refused(await browser.post("/login"));
  });

  test("S30 no spelling of a path gets the exemption of another route", async () => {
    const browser = await withForm(await create(stack));
    const paths = [
      "//login",
      "/login/",
      "/LOGIN",
      "/%6cogin",
      "/login%2f",
      "/hooks/../login",
      "/hooks/%2e%2e/login",
      "/hooks/x/../../login",
      "/hooks//login",
      "/open/7/../../login",
      "/login?x=/hooks/stripe",
      "/login#/hooks/stripe",
      "/login;/hooks/stripe",
    ];
    for (const path of paths) {
      const { status } = await browser.send(path, { method: "POST", headers: { referer: null } });
      expect([path, [400, 404, 405, 419].includes(status)]).toEqual([path, true]);
    }
    expect(handled).toEqual([]);
  });

  test("S30 an exempt route is exempt in every spelling of its path that matches", async () => {
    const browser = new Browser(await create(stack));
    expect((await browser.post("/hooks/%73tripe")).text).toBe("hooked");
    expect((await browser.post("/open/x7")).status).toBe(404);
  });

  test("S30 a route outside the stack needs no token and has no session", async () => {
    const browser = new Browser(await create());
    expect((await browser.post("/bare", {}, { headers: { "sec-fetch-site": "cross-site" } })).text).toBe("bare");
  });

  test("S30 a route can be taken out of a group's check by name", async () => {
    const application = await sessionApplication({
      web: [SessionMiddleware],
      named: { csrf: [VerifyCsrfToken] },
      routes: [
        Route.group({ middleware: ["csrf"] }, [
          Route.post("/checked", () => "checked"),
          Route.post("/free", () => "free").withoutMiddleware("csrf"),
        ]),
      ],
    });
    const browser = new Browser(application);
    expect([(await browser.post("/checked")).status, (await browser.post("/free")).text]).toEqual([419, "free"]);
  });

  test("exempting an unknown route makes startup fail", async () => {
    class Mistaken extends VerifyCsrfToken {
      protected override readonly except: readonly string[] = ["payments.webhok"];
    }
    await expect(create([SessionMiddleware, Mistaken])).rejects.toMatchObject({
      code: "E_INVALID_CONFIGURATION",
      message: expect.stringContaining(
        'Mistaken.except: "payments.webhok" is neither the name nor the pattern of a route. Did you mean "payments.webhook"?',
      ),
    });
  });

  test("S30 a raw path is not an exemption: it is refused at boot", async () => {
    class Raw extends VerifyCsrfToken {
      protected override readonly except: readonly string[] = ["/hooks/stripe"];
    }
    await expect(create([SessionMiddleware, Raw])).rejects.toMatchObject({ code: "E_INVALID_CONFIGURATION" });
  });

  test("a misspelled pattern gets a suggestion", async () => {
    class Mistaken extends VerifyCsrfToken {
      protected override readonly except: readonly string[] = ["/hooks/@provder"];
    }
    const message = expect.stringContaining('Did you mean "/hooks/@provider"?');
    await expect(create([SessionMiddleware, Mistaken])).rejects.toMatchObject({ message });
  });
});

test("without SessionMiddleware before it, every unsafe request is refused with an error that says why", async () => {
  for (const stack of [[VerifyCsrfToken], [VerifyCsrfToken, SessionMiddleware]]) {
    const application = await create(stack);
    const codes: unknown[] = [];
    application.onError((error) => void codes.push((error as { code: unknown }).code));
    expect((await new Browser(application).post("/login")).status).toBe(500);
    expect([codes, handled]).toEqual([["E_SESSION"], []]);
  }
});
